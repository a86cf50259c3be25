#include "common/base/toml_items.hpp"

#include <algorithm>
#include <fstream>
#include <utility>

#include <fmt/format.h>

#define TOML_ENABLE_FORMATTERS 0
#define TOML_ENABLE_WINDOWS_COMPAT 0
#include <toml++/toml.h>

namespace dpreduce {
namespace {

std::string scalar_text(const toml::node& node, const std::string& key) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  throw TomlError(node.source().begin.line,
                  fmt::format("'{}': must be text, a number, true, false, or a list of these", key));
}

std::vector<std::string> values_of(const toml::node& node, const std::string& key) {
  const toml::array* const list = node.as_array();
  if (list == nullptr) return {scalar_text(node, key)};
  std::vector<std::string> values;
  for (const toml::node& value : *list) values.push_back(scalar_text(value, key));
  return values;
}

void collect(const toml::table& table, const std::vector<std::string>& section, std::vector<TomlItem>& items) {
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    if (const toml::table* const inner = node.as_table()) {
      std::vector<std::string> names = section;
      names.push_back(name);
      collect(*inner, names, items);
      continue;
    }
    const toml::source_position place = key.source().begin;
    items.push_back({section, name, values_of(node, name), place.line, place.column});
  }
}

}  // namespace

std::vector<TomlItem> toml_items(const std::string& text) {
  std::vector<TomlItem> items;
  try {
    collect(toml::parse(text), {}, items);
  } catch (const toml::parse_error& error) {
    throw TomlError(error.source().begin.line, std::string(error.description()));
  }
  std::ranges::sort(items, {}, [](const TomlItem& item) { return std::pair(item.line, item.column); });
  return items;
}

std::string text_of_file(const std::string& path, const std::function<void(const std::string& fault)>& refuse) {
  constexpr std::size_t kLargest = std::size_t{1} << 20;
  std::ifstream file(path, std::ios::binary);
  std::string text(kLargest + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad()) refuse("cannot be read");
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  if (text.size() > kLargest) refuse("larger than 1 MiB");
  return text;
}

}  // namespace dpreduce
