#include "commands/command_line/class_options.hpp"

#include <algorithm>

#include "commands/command_line/command_entry.hpp"
#include "common/data/class_names_file.hpp"

namespace dpreduce {
namespace {

constexpr const char* kClasses = "--classes";
constexpr const char* kClassNames = "--class-names";

}  // namespace

Option& declare_classes(OptionTable& table, std::size_t& classes, std::vector<std::string>& names,
                        const std::string& help) {
  Option& counted = table.count(kClasses, classes, help).defaults_to("");
  table.add({.names = kClassNames,
             .help = "the public list of classes, one name a line: gives --classes, and labels may be these names",
             .type = "FILE",
             .read = [&names](const std::vector<std::string>& words) { names = read_class_names(words.back()); }});
  return counted;
}

std::size_t classes_of(std::size_t classes, const std::vector<std::string>& names) {
  return classes == 0 ? names.size() : classes;
}

void let_names_count_classes(CommandEntry& root, const std::vector<std::string>& arguments) {
  const bool are_named = std::any_of(arguments.begin(), arguments.end(), [](const std::string& argument) {
    return argument.substr(0, argument.find('=')) == kClassNames;
  });
  if (!are_named) return;
  for (CommandEntry& command : root.commands) {
    if (command.options.find(kClassNames) == nullptr) continue;
    command.options.find(kClasses)->is_required = false;
  }
}

}  // namespace dpreduce
