#include "tests/audit/readers/public_fields.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/base/text.hpp"
#include "common/data/safetensors.hpp"

namespace dpreduce {
namespace {

constexpr std::string_view kSeparators = " \t,:;=()[]{}<>\"'";
constexpr std::string_view kHexadecimal = "0123456789abcdef";
constexpr std::size_t kShortestDrawn = 16;  // digits of a word that looks drawn
constexpr std::size_t kLongestLine = 4096;  // a longer one, a script's, is one word

constexpr std::size_t kLongestNumber = 24;  // digests are none, even where all of their digits are decimal

std::optional<double> figure_of(std::string_view word) {
  const std::optional<double> value = plain_number<double>(word);
  return value && std::isfinite(*value) && word.size() <= kLongestNumber ? value : std::nullopt;
}

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  for (std::size_t first = text.find_first_not_of(separators); first != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(separators, first), text.size());
    parts.push_back(text.substr(first, end - first));
    first = text.find_first_not_of(separators, end);
  }
  return parts;
}

nlohmann::json json_of(std::string_view text, const std::filesystem::path& path) {
  nlohmann::json value = parse_json(text);
  if (value.is_discarded()) throw BadInput(path.string() + ": is not JSON");
  return value;
}

constexpr std::string_view kTime = "0000-00-00T00:00:00Z";  // a digit for each 0

// True of a time as ledgers have it: 2026-01-31T23:59:59Z.
bool is_time(std::string_view text) {
  return std::ranges::equal(text, kTime, [](char own, char usual) {
    return usual == '0' ? std::isdigit(static_cast<unsigned char>(own)) != 0 : own == usual;
  });
}

// "seconds    open 0.01, gram 0.20" without its numbers, where they can be what they seem; else the line as it is.
std::string without_seconds(std::string_view line, double seconds) {
  constexpr double kRounded = 0.005;
  if (!line.starts_with("seconds ")) return std::string(line);
  std::string phases;
  double sum = 0.0;
  for (const std::string_view word : split(line, kSeparators)) {
    const std::optional<double> number = figure_of(word);
    if (!number) phases += std::string(word) + " ";
    if (number && *number < 0.0) return std::string(line);
    sum += std::max(0.0, number.value_or(0.0) - kRounded);
  }
  return sum <= seconds ? phases : std::string(line);
}

}  // namespace

std::string content_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw BadInput(path.string() + ": cannot be read");
  std::string content(std::filesystem::file_size(path), '\0');
  in.read(content.data(), static_cast<std::streamsize>(content.size()));
  return content;
}

// In times minutes and seconds are numbers: as words all would be others in the next minute, which hides what differs.
void PublicFields::add_word(const std::string& path, std::string_view word) {
  std::string rest(word);
  for (std::size_t day = rest.find('T'); day != std::string::npos; day = rest.find('T', day + 1)) {
    constexpr std::size_t kOfDay = kTime.find('T');
    if (day < kOfDay || !is_time(std::string_view(rest).substr(day - kOfDay, kTime.size()))) continue;
    const std::string clock = rest.substr(day + 1, 2) + rest.substr(day + 4, 2);
    numbers_.emplace_back(fmt::format("{}, time at {}", path, day), std::stod(clock));
    rest.replace(day + 1, 5, "00:00");
  }
  words_.emplace_back(path, rest);
  if (word.size() < kShortestDrawn || word.find_first_not_of(kHexadecimal) != std::string_view::npos) return;
  for (std::size_t digit = 0; digit < word.size(); ++digit) {
    numbers_.emplace_back(fmt::format("{}, digit {}", path, digit + 1),
                          static_cast<double>(kHexadecimal.find(word[digit])));
  }
}

void PublicFields::add_line(const std::string& path, std::string_view line) {
  if (line.size() > kLongestLine) return add_word(path, line);
  std::size_t place = 0;
  for (const std::string_view word : split(line, kSeparators)) {
    const std::string path_of_word = fmt::format("{}, word {}", path, ++place);
    if (const auto number = figure_of(word)) {
      numbers_.emplace_back(path_of_word, *number);
    } else {
      add_word(path_of_word, word);
    }
  }
}

void PublicFields::add_text(const std::string& name, std::string_view text, const KnownLines& known) {
  std::size_t line_number = 0;
  for (const std::string_view line : split(text, "\n")) {
    ++line_number;
    if (!known.contains(line)) add_line(fmt::format("{}, line {}", name, line_number), line);
  }
  numbers_.emplace_back(name + ", lines", static_cast<double>(line_number));
}

void PublicFields::add_output(const std::string& name, std::string_view text, double seconds) {
  std::string read;
  for (const std::string_view line : split(text, "\n")) read += without_seconds(line, seconds) + "\n";
  add_text(name, read);
}

void PublicFields::add_json(const std::string& name, const nlohmann::json& value) {
  if (value.is_number()) {
    numbers_.emplace_back(name, value.get<double>());
  } else if (value.is_structured()) {
    for (const auto& [key, member] : value.items()) add_json(name + "/" + key, member);
    numbers_.emplace_back(name + ", members", static_cast<double>(value.size()));
  } else if (value.is_string()) {
    // A sentence may hold a number.
    const std::string& text = value.get_ref<const std::string&>();
    add_word(name, text);
    if (text.find(' ') != std::string::npos) add_text(name, text);
  } else {
    add_word(name, json_text(value));  // true, false, null
  }
}

void PublicFields::add_file(const std::string& name, const std::filesystem::path& path, const KnownLines& known) {
  const std::string extension = path.extension();
  const std::string content = content_of(path);
  if (extension == ".json") {
    add_json(name, json_of(content, path));
  } else if (extension == ".jsonl") {
    std::size_t line_number = 0;
    for (const std::string_view line : split(content, "\n")) {
      add_json(fmt::format("{}, line {}", name, ++line_number), json_of(line, path));
    }
    numbers_.emplace_back(name + ", lines", static_cast<double>(line_number));
  } else if (extension == ".safetensors") {
    const SafetensorsFile file = parse_safetensors(std::as_bytes(std::span(content)), path.string());
    for (const auto& [key, text] : file.metadata) {
      const nlohmann::json inside = parse_json(text);
      add_word(name + "/" + key, text);
      if (!inside.is_discarded()) add_json(name + "/" + key, inside);
    }
    for (const auto& [key, tensor] : file.tensors) {
      std::vector<double> entries(tensor.data.size() / size_of(tensor.type));
      convert_numbers(tensor.data, tensor.type, kNativeByteOrder, entries);
      add_word(name + "/" + key,
               std::string_view(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size()));
      for (std::size_t e = 0; e < entries.size(); ++e) {
        if (std::isfinite(entries[e])) numbers_.emplace_back(fmt::format("{}/{}[{}]", name, key, e), entries[e]);
      }
    }
  } else {
    add_text(name, content, known);
  }
}

}  // namespace dpreduce
