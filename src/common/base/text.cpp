#include "common/base/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr char32_t kLargestCodePoint = 0x10ffff;
constexpr std::size_t kMostShown = 60;

bool is_scalar(char32_t code_point) {
  const bool is_surrogate = code_point >= 0xd800 && code_point <= 0xdfff;
  return code_point <= kLargestCodePoint && !is_surrogate;
}

// The code point at the beginning of `text` and its length in bytes; length 0 where there is none.
struct Decoded {
  char32_t code_point = kReplacementCharacter;
  std::size_t length = 0;
};

Decoded decoded(std::string_view text) {
  const auto byte = [&](std::size_t place) { return static_cast<unsigned char>(text[place]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return {};
  char32_t code_point = first & (0x7fU >> length);
  for (std::size_t place = 1; place < length; ++place) {
    if ((byte(place) & 0xc0U) != 0x80U) return {};
    code_point = code_point << 6 | (byte(place) & 0x3fU);
  }
  constexpr std::array<char32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
  if (code_point < kLeast.at(length) || !is_scalar(code_point)) return {};
  return {code_point, length};
}

constexpr std::size_t kMostEdits = 2;
constexpr std::size_t kCharactersAnEdit = 3;

bool is_same_letter(char first, char second) {
  return std::tolower(static_cast<unsigned char>(first)) == std::tolower(static_cast<unsigned char>(second));
}

constexpr std::string_view kRank = "{rank}";

}  // namespace

char32_t take_code_point(std::string_view& text) {
  DPREDUCE_ASSERT(!text.empty());
  const Decoded first = decoded(text);
  text.remove_prefix(first.length == 0 ? 1 : first.length);
  return first.code_point;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = decoded(text).length;
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

void append_code_point(char32_t code_point, std::string& text) {
  if (!is_scalar(code_point)) code_point = kReplacementCharacter;
  const std::size_t further = code_point < 0x80 ? 0 : code_point < 0x800 ? 1 : code_point < 0x10000 ? 2 : 3;  // bytes
  constexpr std::array<char32_t, 4> kFirst{0, 0xc0, 0xe0, 0xf0};
  text += static_cast<char>(kFirst.at(further) | code_point >> (6 * further));
  for (std::size_t k = further; k-- > 0;) text += static_cast<char>(0x80 | (code_point >> (6 * k) & 0x3f));
}

bool is_control(char32_t code_point) {
  return code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0) ||
         (code_point >= 0x2028 && code_point <= 0x202e) || (code_point >= 0x2066 && code_point <= 0x2069);
}

std::string without_controls(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const char32_t code_point = take_code_point(text);
    append_code_point(is_control(code_point) ? kReplacementCharacter : code_point, shown);
  }
  return shown;
}

std::string in_quotes(std::string_view text) {
  std::string_view rest = text;
  for (std::size_t count = 0; count < kMostShown && !rest.empty(); ++count) take_code_point(rest);
  const std::string_view first = text.substr(0, text.size() - rest.size());
  return '"' + without_controls(first) + (rest.empty() ? "\"" : "...\"");
}

std::string shown_text(std::string_view text, std::size_t most) {
  std::string shown(text.substr(0, most));
  std::ranges::replace_if(
      shown, [](char character) { return character < ' ' || character > '~'; }, '?');
  return shown;
}

std::vector<std::string> parts_of(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::size_t edits_between(std::string_view first, std::string_view second) {
  // rows[a][b]: edits between the first a characters of one and the first b of the other; the last three rows.
  std::vector<std::size_t> before(second.size() + 1), last(second.size() + 1), now(second.size() + 1);
  for (std::size_t b = 0; b <= second.size(); ++b) last[b] = b;
  for (std::size_t a = 1; a <= first.size(); ++a) {
    now[0] = a;
    for (std::size_t b = 1; b <= second.size(); ++b) {
      const bool is_same = is_same_letter(first[a - 1], second[b - 1]);
      now[b] = std::min({last[b] + 1, now[b - 1] + 1, last[b - 1] + (is_same ? 0 : 1)});
      const bool is_swap =
          a > 1 && b > 1 && is_same_letter(first[a - 1], second[b - 2]) && is_same_letter(first[a - 2], second[b - 1]);
      if (is_swap) now[b] = std::min(now[b], before[b - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[second.size()];
}

std::string nearest_name(std::string_view typed, std::span<const std::string> names) {
  const std::size_t most = std::min(kMostEdits, typed.size() / kCharactersAnEdit);
  std::string nearest;
  std::size_t fewest = most + 1;
  for (const std::string& name : names) {
    const std::size_t edits = edits_between(typed, name);
    if (edits >= fewest) continue;
    fewest = edits;
    nearest = name;
  }
  if (!nearest.empty()) return nearest;
  const auto is_continued = [&](const std::string& name) {
    return name.size() >= typed.size() && std::equal(typed.begin(), typed.end(), name.begin(), is_same_letter);
  };
  if (typed.empty() || std::count_if(names.begin(), names.end(), is_continued) != 1) return "";
  return *std::find_if(names.begin(), names.end(), is_continued);
}

std::string did_you_mean(std::string_view typed, std::span<const std::string> names) {
  const std::string nearest = nearest_name(typed, names);
  return nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest);
}

bool has_rank(const std::string& pattern) {
  return pattern.find(kRank) != std::string::npos;
}

bool has_rank(const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [](const std::string& pattern) { return has_rank(pattern); });
}

std::string with_rank(std::string pattern, std::size_t rank) {
  const std::string number = std::to_string(rank);
  for (std::size_t at = 0; (at = pattern.find(kRank, at)) != std::string::npos; at += number.size()) {
    pattern.replace(at, kRank.size(), number);
  }
  return pattern;
}

std::optional<double> number_of(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  return plain_number<double>(text);
}

std::optional<std::int64_t> usual_integer(std::string_view text) {
  const auto integer = plain_number<std::int64_t>(text);
  return integer && std::to_string(*integer) == text ? integer : std::nullopt;
}

std::string upper_figure(double value, int digits) {
  DPREDUCE_ASSERT(digits >= 1 && digits <= 15);
  std::string nearest = fmt::format("{:.{}g}", value, digits);
  // The shortest text that is read as `value` again: 0.1 is "0.1".
  const double read = number_of(nearest).value_or(value);
  if (!std::isfinite(value) || !(read < value)) return nearest;
  const double unit = std::pow(10.0, std::floor(std::log10(std::abs(value))) - digits + 1);
  return fmt::format("{:.{}g}", read + unit, digits);
}

std::string lower_figure(double value, int digits) {
  const std::string negated = upper_figure(-value, digits);
  return negated.front() == '-' ? negated.substr(1) : (value == 0.0 ? "0" : "-" + negated);
}

std::string noise_text(double sigma, double sensitivity) {
  return fmt::format("standard deviation {} times the sensitivity", lower_figure(sigma / sensitivity));
}

}  // namespace dpreduce
