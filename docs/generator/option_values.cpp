#include "docs/generator/option_values.hpp"

#include <algorithm>
#include <cctype>

namespace dpreduce {
namespace {

std::vector<std::string> parts_of(const std::string& text, char delimiter) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(delimiter, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

ValueKind value_kind(const Option& option) {
  if (option.values == OptionValues::kNone) return ValueKind::kNone;
  if (option.type == "FILE") return ValueKind::kFile;
  if (option.type == "DIR") return ValueKind::kFolder;
  return choices_of(option).empty() ? ValueKind::kOther : ValueKind::kChoice;
}

std::vector<std::string> choices_of(const Option& option) {
  std::vector<std::string> choices;
  if (option.type.find('|') == std::string::npos) return choices;
  for (const std::string& word : parts_of(option.type, '|')) {
    const bool is_value =
        std::all_of(word.begin(), word.end(), [](unsigned char letter) { return std::isupper(letter) != 0; });
    if (!is_value) choices.push_back(word);
  }
  return choices;
}

std::vector<std::string> names_of(const Option& option, bool has_dashes) {
  std::vector<std::string> names;
  for (const std::string& name : parts_of(option.names, ',')) {
    if (name.starts_with('-') == has_dashes) names.push_back(name);
  }
  return names;
}

}  // namespace dpreduce
