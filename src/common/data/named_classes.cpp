#include "common/data/named_classes.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/public_names.hpp"
#include "common/base/text.hpp"

namespace dpreduce {

NamedClasses::NamedClasses(std::vector<std::string> names) : names_(std::move(names)) {
  require_class_names(names_, names_.size());
  for (std::size_t k = 0; k < names_.size(); ++k) {
    classes_.emplace(names_[k], static_cast<std::int32_t>(k));
    const auto integer = usual_integer(names_[k]);
    has_misplaced_integers_ |= integer && *integer != static_cast<std::int64_t>(k);
  }
}

std::optional<std::int32_t> NamedClasses::find(std::string_view name) const {
  const auto found = classes_.find(name);
  return found == classes_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::int32_t> NamedClasses::find_cell(std::string_view cell) const {
  if (const auto named = find(cell)) return named;
  const auto integer = usual_integer(cell);
  const bool is_class = integer && *integer >= 0 && static_cast<std::uint64_t>(*integer) < names_.size();
  return is_class && !has_misplaced_integers_ ? std::optional(static_cast<std::int32_t>(*integer)) : std::nullopt;
}

// Returns whether a label lists several names of classes.
bool NamedClasses::is_set(std::string_view label) const {
  constexpr std::string_view kSeparators = ",;| ";
  std::size_t parts = 0;
  while (!label.empty()) {
    const std::size_t end = std::min(label.find_first_of(kSeparators), label.size());
    if (end > 0 && !find(label.substr(0, end))) return false;
    parts += end > 0 ? 1 : 0;
    label.remove_prefix(std::min(end + 1, label.size()));
  }
  return parts > 1;
}

std::string NamedClasses::refusal(std::string_view label) const {
  if (is_set(label)) {
    return fmt::format(
        "label {}, which names several classes; a label is one name: for rows of several classes give zeros and ones, "
        "n x {}",
        in_quotes(label), size());
  }
  const std::string nearest = nearest_name(label, names_);
  return fmt::format("label {}, which is not in the list of classes{}; correct it, or add it to --class-names",
                     in_quotes(label), nearest.empty() ? "" : fmt::format("; did you mean {}?", in_quotes(nearest)));
}

std::shared_ptr<const NamedClasses> named_classes(const std::vector<std::string>& names) {
  return names.empty() ? nullptr : std::make_shared<const NamedClasses>(names);
}

std::vector<std::string> parse_class_names(std::string_view text, const std::string& path, std::string_view option) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<std::string> names;
  std::unordered_map<std::string, std::size_t> lines;
  std::vector<std::string> listed = parts_of(text, '\n');
  if (listed.back().empty()) listed.pop_back();
  for (std::string_view name : listed) {
    if (name.ends_with('\r')) name.remove_suffix(1);
    const std::size_t line = names.size() + 1;
    if (const std::string flaw = class_name_fault(name); !flaw.empty()) {
      throw BadInput("{} {}, line {}: the name {}{}; write the name of one class a line", option, path, line,
                     name.empty() ? "" : in_quotes(name) + " ", flaw);
    }
    const auto [earlier, is_new] = lines.emplace(name, line);
    if (!is_new) {
      throw BadInput("{} {}, line {}: {} is already in line {}; give each class its own name", option, path, line,
                     in_quotes(name), earlier->second);
    }
    names.emplace_back(name);
  }
  if (names.size() < 2) {
    throw BadInput("{} {}: lists {} classes; a classifier needs at least 2, one name a line", option, path,
                   names.size());
  }
  return names;
}

std::vector<std::string> read_class_names(const std::string& path, std::string_view option) {
  const auto refuse = [&](const std::string& reason) -> BadInput {
    return BadInput("{} {}: {}", option, path, reason);
  };
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) throw refuse("is a folder; name a file of names, one a line");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw refuse(fmt::format("cannot be read: {}; check the path", std::strerror(errno)));
  std::string text(kLargestClassNamesFile + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) throw refuse("cannot be read; check the path");
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kLargestClassNamesFile) {
    throw refuse(fmt::format("larger than {} MiB; is it a list of names?", kLargestClassNamesFile >> 20));
  }
  return parse_class_names(text, path, option);
}

}  // namespace dpreduce
