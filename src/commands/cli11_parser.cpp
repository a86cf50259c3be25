#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "commands/command_line.hpp"
#include "common/base/error.hpp"
#include "common/base/version.hpp"

namespace dpreduce {
namespace {

std::string first_name(const Option& option) {
  return option.names.substr(0, option.names.find(','));
}

// The list in the file at `path`, which is opened where the list is not known.
const std::vector<std::string>& list_of(const Option& option, const std::string& path, NamedLists& lists) {
  const auto known = lists.find(path);
  return known != lists.end() ? known->second : lists.emplace(path, option.list_in_file(path)).first->second;
}

CLI::Option* declared(CLI::App& app, const Option& option, NamedLists& lists) {
  const auto read = [&option, &lists](const std::vector<std::string>& arguments) {
    try {
      option.read(option.list_in_file ? list_of(option, arguments.back(), lists) : arguments);
    } catch (const UsageError& error) {
      throw CLI::ValidationError(error.what());
    }
  };
  if (option.values == OptionValues::kMany) {
    return app.add_option_function<std::vector<std::string>>(option.names, read, option.help);
  }
  if (option.values == OptionValues::kNone) {
    return app.add_flag_callback(
        option.names, [read] { read({}); }, option.help);
  }
  CLI::Option* const one = app.add_option_function<std::string>(
      option.names, [read](const std::string& word) { read({word}); }, option.help);
  return option.values == OptionValues::kOptional ? one->expected(0, 1) : one;
}

void declare_options(CLI::App& app, const OptionTable& table, NamedLists& lists) {
  for (const Option& option : table.options()) {
    CLI::Option& added = *declared(app, option, lists);
    const bool may_be_left_out = option.values == OptionValues::kOptional;
    if (option.values != OptionValues::kNone) {
      added.type_name(may_be_left_out ? fmt::format("[{}]", option.type) : option.type);
    }
    if (!option.usual.empty()) added.default_str(option.usual);
    if (!option.group.empty()) added.group(option.group);
    if (option.delimiter != '\0') added.delimiter(option.delimiter);
    if (option.is_required) added.required();
    // The last of `--epsilon 1 ... --epsilon 2` counts: scripts append what they change.
    if (option.values == OptionValues::kOne || may_be_left_out)
      added.multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
}

// Declares both helps, which every command takes. Only where --help leaves options out does help name --help-all.
void declare_help(CLI::App& app, const OptionTable& table) {
  if (table.has_first()) {
    app.set_help_flag("-h,--help", "print the most used options");
    app.set_help_all_flag("--help-all", "print this help: all options");
  } else {
    app.set_help_flag("-h,--help", "print this help");
    app.set_help_all_flag("--help-all", "the same")->group("");
  }
}

// A command whose name is not among `arguments` is declared without its options, which are many and would not be read.
void declare(CLI::App& app, const CommandEntry& command, const std::vector<std::string>& arguments, NamedLists& lists) {
  declare_help(app, command.options);
  declare_options(app, command.options, lists);
  app.footer(command.footer);
  if (!command.commands.empty()) app.require_subcommand(command.needs_command ? 1 : 0, 1);
  for (const CommandEntry& own : command.commands) {
    CLI::App& added = *app.add_subcommand(own.name, own.help);
    if (std::find(arguments.begin(), arguments.end(), own.name) != arguments.end()) {
      declare(added, own, arguments, lists);
    }
  }
}

// Writes what was given into the options of the command that was named, and of the commands around it. Returns that
// command.
CommandEntry& record_given(const CLI::App& app, CommandEntry& command) {
  for (Option& option : command.options.options()) {
    const CLI::Option* read = app.get_option(first_name(option));
    if (read->count() == 0) continue;
    option.given = read->results();
    if (option.values != OptionValues::kMany) option.given.erase(option.given.begin(), option.given.end() - 1);
  }
  for (CommandEntry& own : command.commands) {
    if (app.got_subcommand(own.name)) return record_given(*app.get_subcommand(own.name), own);
  }
  return command;
}

// CLI11's messages may have several lines; ours have one.
std::string one_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// The innermost command that was named, as it was read and as it was declared, and its "dpreduce ledger show".
struct InnermostCommand {
  const CLI::App* read;
  const CommandEntry* declared;
  std::string name;
};

InnermostCommand innermost(const CLI::App& app, const CommandEntry& root) {
  InnermostCommand command{&app, &root, root.name};
  while (!command.read->get_subcommands().empty()) {
    command.read = command.read->get_subcommands().front();
    command.declared = command.declared->command(command.read->get_name());
    command.name += " " + command.read->get_name();
  }
  return command;
}

// "FILE ...: reports and ledgers" of an option that need not be named, "--train-x" of another.
std::string missing_name_of(const Option& option) {
  const std::size_t word = option.names.find(',');
  const bool needs_no_name = word != std::string::npos && !option.names.substr(word + 1).starts_with('-');
  if (!needs_no_name) return first_name(option);
  return fmt::format("{}{}: {}", option.type, option.values == OptionValues::kMany ? " ..." : "", option.help);
}

// "--train-x, --train-y and --classes": the required options that were not given, or the commands of which one is.
std::string missing_from(const InnermostCommand& command) {
  std::vector<std::string> missing;
  for (const Option& option : command.declared->options.options()) {
    if (!option.is_required || command.read->get_option(first_name(option))->count() > 0) continue;
    missing.push_back(missing_name_of(option));
  }
  if (!missing.empty()) {
    const std::string last = missing.back();
    missing.pop_back();
    return missing.empty() ? last : fmt::format("{} and {}", fmt::join(missing, ", "), last);
  }
  for (const CommandEntry& own : command.declared->commands) missing.push_back(own.name);
  return fmt::format("a command: {}", fmt::join(missing, ", "));
}

constexpr std::size_t kLongestType = 12;

// Usage of an option, "--train-x FILE ...": if choices are many, they are in the line beside it.
std::string usage_of(const Option& option) {
  const std::string name = first_name(option);
  if (option.values == OptionValues::kNone) return name;
  const std::string type = option.type.size() > kLongestType ? "WORD" : option.type;
  if (option.values == OptionValues::kOptional) return fmt::format("{} [{}]", name, type);
  return fmt::format("{} {}{}", name, type, option.values == OptionValues::kMany ? " ..." : "");
}

std::string line_of(const Option& option) {
  if (option.is_required) return option.first_help + " (required)";
  return option.usual.empty() ? option.first_help : fmt::format("{} [{}]", option.first_help, option.usual);
}

// The first options of `command` under the headings of their groups, one line each, its first_footer, and how to see
// all others. `name` is how the command is called: "dpreduce fit".
std::string first_help(const CommandEntry& command, const std::string& name) {
  std::vector<std::string> groups;
  std::string required;
  std::size_t width = 0;
  for (const Option& option : command.options.options()) {
    if (option.is_required) required += " " + usage_of(option);
    if (!option.is_first()) continue;
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end()) groups.push_back(option.group);
    width = std::max(width, usage_of(option).size());
  }
  std::string text = fmt::format("{}\nUsage: {}{} [OPTIONS]\n", command.help, name, required);
  for (const std::string& group : groups) {
    text += fmt::format("\n{}:\n", group.empty() ? "Options" : group);
    for (const Option& option : command.options.options()) {
      if (!option.is_first() || option.group != group) continue;
      text += fmt::format("  {:<{}}  {}\n", usage_of(option), width, line_of(option));
    }
  }
  return text + fmt::format("\n{}\n\n{} --help-all shows all {} options.\n", command.first_footer, name,
                            command.options.options().size());
}

// All options of the command that was named.
std::string whole_help(const InnermostCommand& command) {
  const std::size_t parents = command.name.rfind(' ');
  return command.read->help(parents == std::string::npos ? "" : command.name.substr(0, parents));
}

std::string usual_help(const InnermostCommand& command) {
  return command.declared->options.has_first() ? first_help(*command.declared, command.name) : whole_help(command);
}

}  // namespace

std::variant<const CommandEntry*, PrintText> read_arguments(CommandEntry& root, std::vector<std::string> arguments,
                                                            NamedLists& lists) {
  CLI::App app{root.help, root.name};
  app.set_version_flag("--version", version());
  declare(app, root, arguments, lists);
  try {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes arguments from the back
    app.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    return PrintText{usual_help(innermost(app, root))};
  } catch (const CLI::CallForAllHelp&) {
    return PrintText{whole_help(innermost(app, root))};
  } catch (const CLI::CallForVersion&) {
    return PrintText{"dpreduce " + version() + "\n"};
  } catch (const CLI::ExtrasError&) {
    throw UsageError("'{}' belongs to no option (see {} --help)", app.remaining(true).front(),
                     innermost(app, root).name);
  } catch (const CLI::RequiredError&) {
    const InnermostCommand command = innermost(app, root);
    const bool is_program = command.declared == &root;
    throw UsageError("{} needs {} (see {} --help)",
                     is_program ? "the command line" : command.name.substr(root.name.size() + 1), missing_from(command),
                     command.name);
  } catch (const CLI::ArgumentMismatch& error) {  // its message begins with the option: "--classes: 1 required ..."
    const std::string option = std::string(error.what()).substr(0, std::string(error.what()).find(':'));
    throw UsageError("{} needs a value (see {} --help)", option, innermost(app, root).name);
  } catch (const CLI::ParseError& error) {
    throw UsageError("{} (see {} --help)", one_line(error.what()), innermost(app, root).name);
  }
  return &record_given(app, root);
}

}  // namespace dpreduce
