#include "dpreduce/config/command_line.hpp"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "dpreduce/config/command_options.hpp"
#include "dpreduce/config/config_file.hpp"
#include "dpreduce/config/error.hpp"

namespace dpreduce {
namespace {

// CLI11's messages may have several lines; ours have one.
std::string one_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// The innermost command that was named, for its help.
const CLI::App* innermost(const CLI::App* app) {
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return app;
}

// "dpreduce ledger show".
std::string full_name(const CLI::App& app) {
  std::string name = app.get_name();
  for (const CLI::App* command = &app; !command->get_subcommands().empty();) {
    command = command->get_subcommands().front();
    name += " " + command->get_name();
  }
  return name;
}

bool names_own_file(const std::string& word) {
  return word == "--silo-config" || word.starts_with("--silo-config=");
}

}  // namespace

std::string version() {
  return DPREDUCE_VERSION;
}

bool asks_for_silos(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front() != "fit") return false;
  CLI::App app;
  CommandOptions options;
  options.declare(app);
  std::vector<std::string> words = arguments;
  try {
    words = with_config_files(app, std::move(words)).words;
  } catch (const Error&) {
    words = arguments;  // what is wrong is told in its place
  }
  return std::any_of(words.begin(), words.end(),
                     [](const std::string& word) { return word == "--secure-aggregation" || names_own_file(word); });
}

Command parse_command_line(std::vector<std::string> arguments, std::optional<std::size_t> party) {
  CLI::App app{
      "dpreduce: differentially private classifiers from features that lie in many places, by one exact, noised sum",
      "dpreduce"};
  CommandOptions options;
  options.declare(app);
  std::string with_own_file;  // for messages
  if (!arguments.empty() && !arguments.front().starts_with("-") &&
      app.get_subcommands([&](const CLI::App* sub) { return sub->check_name(arguments.front()); }).empty()) {
    throw UsageError(fmt::format("'{}' is not a command (see dpreduce --help)", arguments.front()));
  }
  try {
    ConfiguredWords configured = with_config_files(app, std::move(arguments), party);
    if (!party && std::any_of(configured.words.begin(), configured.words.end(), names_own_file)) {
      throw UsageError(
          "--silo-config: is of one party among silos; start them with mpirun -n, and give --secure-aggregation");
    }
    if (configured.rows_are_own) options.let_rows_be_own();
    if (configured.ledger_is_own) options.let_ledger_be_own();
    if (!configured.own_file.empty()) with_own_file = fmt::format(" (with --silo-config {})", configured.own_file);
    arguments = std::move(configured.words);
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes words from the back
    app.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    const CLI::App* command = innermost(&app);
    std::string parents = full_name(app);
    parents.resize(command == &app ? 0 : parents.size() - command->get_name().size() - 1);
    return PrintText{command->help(parents)};
  } catch (const CLI::CallForAllHelp&) {
    return PrintText{app.help("", CLI::AppFormatMode::All)};
  } catch (const CLI::CallForVersion&) {
    return PrintText{"dpreduce " + version() + "\n"};
  } catch (const CLI::ParseError& error) {
    throw UsageError(fmt::format("{} (see {} --help){}", one_line(error.what()), full_name(app), with_own_file));
  }
  try {
    return options.chosen(app);
  } catch (const UsageError& error) {
    throw UsageError(error.what() + with_own_file);
  }
}

}  // namespace dpreduce
