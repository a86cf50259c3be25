#include "report/yaml_text.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/json_text.hpp"

namespace dpreduce {
namespace {

// A block says no first space, and no control character.
bool is_block(const std::string& text) {
  const auto is_plain = [](unsigned char c) { return c == '\n' || (c >= ' ' && c != 0x7f); };
  return text.find('\n') != std::string::npos && text.front() != ' ' && text.front() != '\n' &&
         std::ranges::all_of(text, is_plain);
}

std::string scalar_text(const std::string& text, const std::string& indent) {
  const std::string kept = text.substr(0, text.find_last_not_of('\n') + 1);
  if (!is_block(kept)) return readable_json_text(nlohmann::json(kept));
  std::string block = "|-";
  for (std::size_t begin = 0; begin <= kept.size();) {
    const std::size_t end = std::min(kept.find('\n', begin), kept.size());
    block += '\n';
    if (end > begin) block += indent + kept.substr(begin, end - begin);
    begin = end + 1;
  }
  return block;
}

// 1e-06 is a text in YAML 1.1, which wants a point.
std::string number_text(const nlohmann::ordered_json& number) {
  std::string text = json_text(number);
  const std::size_t exponent = text.find('e');
  if (exponent != std::string::npos && text.find('.') == std::string::npos) text.insert(exponent, ".0");
  return text;
}

void write(const nlohmann::ordered_json& object, const std::string& indent, std::string& text) {
  for (const auto& [name, value] : object.items()) {
    text += fmt::format("{}{}:", indent, name);
    if (value.is_object()) {
      text += '\n';
      write(value, indent + "  ", text);
    } else if (value.is_array()) {
      text += '\n';
      for (const auto& one : value) {
        text += fmt::format("{}  - {}\n", indent, scalar_text(one.get<std::string>(), indent + "    "));
      }
    } else if (value.is_string()) {
      text += fmt::format(" {}\n", scalar_text(value.get<std::string>(), indent + "  "));
    } else {
      DPREDUCE_ASSERT(value.is_number());
      text += fmt::format(" {}\n", number_text(value));
    }
  }
}

}  // namespace

std::string yaml_text(const nlohmann::ordered_json& object) {
  std::string text;
  write(object, "", text);
  return text;
}

}  // namespace dpreduce
