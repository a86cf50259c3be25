#include "commands/command_line.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <iterator>

#include <fmt/format.h>

#include "commands/config_file.hpp"
#include "common/base/error.hpp"
#include "common/base/text.hpp"
#include "common/data/worker_rows.hpp"
#include "common/ledger/ledger_line.hpp"
#include "common/ranks/rank_archive.hpp"

namespace dpreduce {
namespace {

// Makes the options that name rows optional: in a run among silos a party's own file names its rows, and the
// coordinator has none.
void let_rows_be_own(CommandEntry& root) {
  for (CommandEntry& command : root.commands) {
    for (Option& option : command.options.options()) {
      if (option.names_own_rows) option.is_required = false;
    }
  }
}

bool has_option(const std::vector<std::string>& arguments, std::string_view name) {
  return std::ranges::any_of(
      arguments, [&](const std::string& argument) { return argument.substr(0, argument.find('=')) == name; });
}

// Returns whether an option is given that only a party among silos has, which does not take its options from rank 0.
bool has_party_option(const CommandEntry& root, const std::vector<std::string>& arguments) {
  return std::ranges::any_of(root.commands, [&](const CommandEntry& command) {
    return std::ranges::any_of(command.options.options(),
                               [&](const Option& option) { return option.marks_party && is_given(arguments, option); });
  });
}

// Lets options be left out that given ones replace.
void let_options_replace_others(CommandEntry& root, const std::vector<std::string>& arguments) {
  for (CommandEntry& command : root.commands) {
    for (const Option& option : command.options.options()) {
      if (option.replaces.empty() || !is_given(arguments, option)) continue;
      for (const std::string& other : option.replaces) {
        if (Option* const required = command.options.find(other)) required->is_required = false;
      }
    }
  }
}

// A word, with the option that it may be a value of.
std::string shown_word(const std::vector<std::string>& words, std::ptrdiff_t place) {
  if (place == std::ssize(words)) return words.empty() ? "no command" : "nothing more";
  const auto word = words.begin() + place;
  const bool is_value = !word->starts_with("--") && place > 0;
  const auto option = std::find_if(std::make_reverse_iterator(word), words.rend(),
                                   [](const std::string& earlier) { return earlier.starts_with("--"); });
  return is_value && option != words.rend() ? fmt::format("'{} {}'", *option, *word) : fmt::format("'{}'", *word);
}

// Place of the option that a message begins with; empty where no file has set it.
std::string place_of_mistake(std::string_view message, const std::map<std::string, std::string>& places) {
  const std::string_view name = message.substr(0, message.find_first_of(" :,="));
  const auto place = places.find(std::string(name));
  return place == places.end() ? std::string() : place->second;
}

// The files that the command writes, by the options that name them.
std::vector<NamedPath> outputs_of(const OptionTable& options) {
  std::vector<NamedPath> outputs;
  for (const Option& option : options.options()) {
    const std::string path = option.is_given() ? option.given.back() : option.usual;
    if (path.empty()) continue;
    for (const std::string& ending : option.writes) {
      outputs.push_back({fmt::format("--{}", option.long_name()), path + ending});
    }
  }
  return outputs;
}

// Throws UsageError where a file that the command writes is another one that it writes, one that it reads its options
// or a document from, or the key of a ledger. Rows, which may be named by globs, are compared when they are opened.
void require_outputs_apart(const OptionTable& options, const ConfiguredArguments& configured) {
  std::vector<std::string> inputs{configured.common_file, configured.own_file};
  for (const Option& option : options.options()) {
    if (!option.writes.empty() || !option.type.starts_with("FILE")) continue;
    inputs.insert(inputs.end(), option.given.begin(), option.given.end());
    if (!option.is_given()) inputs.push_back(option.usual);
  }
  const std::vector<NamedPath> outputs = outputs_of(options);
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    if (output->path.ends_with(kSigningKeyEnding)) {
      throw UsageError("{} {}: this ending is reserved for keys of ledgers; give another name", output->option,
                       output->path);
    }
    for (const std::string& input : inputs) {
      if (!input.empty()) require_not_read({&*output, 1}, input);
    }
    const auto same = std::find_if(outputs.begin(), output,
                                   [&](const NamedPath& other) { return is_same_file(other.path, output->path); });
    if (same == output) continue;
    throw UsageError("{} and {} are both {}: they must be different files", same->option, output->option, output->path);
  }
}

// Returns whether a word without dashes may be the value of an option that need not be named.
bool takes_word(const CommandEntry& command) {
  return std::ranges::any_of(command.options.options(),
                             [](const Option& option) { return !option.names.starts_with("-"); });
}

// "'x' is not a command of ledger; did you mean ...? (see dpreduce ledger --help)". `name` is that of the command.
[[noreturn]] void refuse_word(const std::string& shown, const char* kind, const std::string& name,
                              const std::string& nearest) {
  throw UsageError("{} is not {}{}{}{} (see dpreduce{}{} --help)", shown, kind, name.empty() ? "" : " of ", name,
                   nearest, name.empty() ? "" : " ", name);
}

void require_option(const std::string& word, const CommandEntry& command, const std::string& name) {
  const std::string option = word.substr(0, word.find('='));
  const bool is_name = option.starts_with("--") || std::isalpha(static_cast<unsigned char>(option.back())) != 0;
  if (option == "--config") return;  // of every command, and read before it (config_file.hpp)
  const bool is_help = option == "-h" || option == "--help" || option == "--help-all";
  if (option.size() < 2 || !is_name || option == "--" || is_help) return;
  if (command.options.find(option) != nullptr || (name.empty() && option == "--version")) return;
  std::vector<std::string> names;
  for (const std::string& own : command.options.long_names()) names.push_back("--" + own);
  if (name.empty()) names.insert(names.end(), {"--help", "--version"});
  if (command.options.has_first()) names.push_back("--help-all");
  refuse_word(option, "an option", name, hint_for(option, names));
}

// Throws UsageError where a word is in place of a command or an option that does not exist, with the nearest name that
// does. Checked before what is missing: a name with a typing error is why an option seems to be.
void check_names(const CommandEntry& root, const std::vector<std::string>& arguments) {
  const auto& [command, names] = named_command(root, arguments);
  const std::string name = fmt::format("{}", fmt::join(names, " "));
  auto word = arguments.begin() + std::ssize(names);
  const bool is_stray = word != arguments.end() && !word->starts_with('-');
  if (is_stray && !command->commands.empty() && !takes_word(*command)) {
    std::vector<std::string> commands;
    for (const CommandEntry& own : command->commands) commands.push_back(own.name);
    refuse_word(fmt::format("'{}'", *word), "a command", name, did_you_mean(*word, commands));
  }
  for (; word != arguments.end(); ++word) {
    if (word->starts_with('-')) require_option(*word, *command, name);
  }
}

// Command for the program's name alone: prints help on standard output, then gives the exit code of a wrong command
// line, as for a script whose variable is empty.
RunnableCommand help_and_refusal(CommandEntry& root, NamedLists& lists) {
  const PrintText help = std::get<PrintText>(read_arguments(root, {"--help"}, lists));
  return by_coordinator([help] {
    help.print();
    std::fflush(stdout);
    throw UsageError("name a command, one of those above");
  });
}

// Reads the words into the options of the command that they name. `configured` has the places that they come from.
// `is_known`: the rank whose words these are has looked at the files that they name.
RunnableCommand read_command(CommandEntry& root, const ConfiguredArguments& configured, NamedLists& lists,
                             bool is_known) {
  if (configured.arguments.empty()) return help_and_refusal(root, lists);
  let_options_replace_others(root, configured.arguments);
  const auto read = read_arguments(root, configured.arguments, lists);
  if (const PrintText* text = std::get_if<PrintText>(&read)) return *text;
  const CommandEntry& command = *std::get<const CommandEntry*>(read);
  command.options.settle();
  if (!is_known) require_outputs_apart(command.options, configured);
  return command.chosen({command.options, configured.rows_are_own, configured.ledger_is_own, configured.consent});
}

}  // namespace

DPREDUCE_ARCHIVE(GivenWords, words, lists)

std::vector<std::string> with_help_as_option(std::vector<std::string> arguments) {
  if (arguments.empty()) return arguments;
  if (arguments.front() == "version" && arguments.size() == 1) return {"--version"};
  if (arguments.front() != "help") return arguments;
  arguments.erase(arguments.begin());
  arguments.emplace_back("--help");
  return arguments;
}

RequestedJob requested_job(const CommandEntry& root, const std::vector<std::string>& arguments) {
  if (arguments.empty()) return {.doubt = "no command is named"};
  if (named_command(root, arguments).names == arguments) return {};
  // --config may precede the command, except for a party over a network, where it is refused.
  const auto is_for_parties = [&](const std::string& word) {
    const CommandEntry* const named = root.command(word);
    return named != nullptr && named->options.find("--secure-aggregation") != nullptr;
  };
  const bool may_have_parties = std::ranges::any_of(arguments, is_for_parties);
  const auto of_party = [](const std::vector<std::string>& words) {
    return RequestedJob{.is_of_silos = true, .is_preview = has_option(words, "--dry-run")};
  };
  std::string reason;  // of a mistake in --config
  try {
    reason = " (every rank reads the --config with which it was started: it may set --secure-aggregation)";
    const std::vector<std::string> all = with_config_files(root, arguments).arguments;
    reason.clear();
    if (!all.empty() && is_for_parties(all.front()) && has_party_option(root, all)) return of_party(all);
    parse_command_line(root, arguments);
  } catch (const UsageError& error) {
    // The command line says that it is a party, however wrong the rest is.
    if (may_have_parties && has_party_option(root, arguments)) return of_party(arguments);
    return {.doubt = error.what() + (has_option(arguments, "--config") ? reason : "")};
  } catch (const Error&) {
    // The error is of a file that the words name: what they ask for is not in doubt.
  }
  return {};
}

std::string unheard_words(const CommandEntry& root, const std::vector<std::string>& own,
                          const std::vector<std::string>& of_rank_0) {
  if (!own.empty() && own == named_command(root, of_rank_0).names) return {};
  const std::vector<std::string> all = with_config_files(root, own).arguments;
  if (all == of_rank_0) return {};
  const auto [here, there] = std::mismatch(all.begin(), all.end(), of_rank_0.begin(), of_rank_0.end());
  return fmt::format(
      "was started with {}, but rank 0 with {}; start all ranks with the same options and the same --config, or with "
      "the command's name alone",
      shown_word(all, here - all.begin()), shown_word(of_rank_0, there - of_rank_0.begin()));
}

RunnableCommand parse_command_line(CommandEntry root, std::vector<std::string> arguments,
                                   std::optional<std::size_t> party, GivenWords* said) {
  check_names(root, arguments);
  const ConfiguredArguments configured = with_config_files(root, std::move(arguments), party);
  const bool is_party = party || named_command(root, configured.arguments).command->role != PartyRole::kNone;
  if (!is_party && has_option(configured.arguments, "--silo-config")) {
    throw UsageError(
        "--silo-config: is for runs among silos; start the parties with mpirun -n, and give --secure-aggregation");
  }
  if (configured.rows_are_own) let_rows_be_own(root);
  try {
    NamedLists lists;
    RunnableCommand command = read_command(root, configured, lists, false);
    if (said != nullptr) *said = {configured.arguments, std::move(lists)};
    return command;
  } catch (const UsageError& error) {
    if (const std::string place = place_of_mistake(error.what(), configured.places); !place.empty()) {
      throw UsageError("{}: {}", place, error.what());
    }
    if (configured.own_file.empty()) throw;
    throw UsageError("{} (with --silo-config {})", error.what(), configured.own_file);
  }
}

RunnableCommand command_of(CommandEntry root, GivenWords said) {
  const ConfiguredArguments configured{.arguments = std::move(said.words), .common_file = {}, .own_file = {}};
  return read_command(root, configured, said.lists, true);
}

RunnableCommand command_of_job(const CommandEntry& root, const std::vector<std::string>& arguments,
                               Communicator& ranks) {
  RunnableCommand command;
  std::string message;
  ranks.at_coordinator([&] {
    GivenWords said;
    command = parse_command_line(root, arguments, std::nullopt, &said);
    if (ranks.size() > 1) message = archived(said);
  });
  if (ranks.size() == 1) return command;
  message = ranks.trusted().broadcast(std::move(message));
  ranks.together([&] {
    if (ranks.is_coordinator()) return;
    auto said = unarchived<GivenWords>(message);
    const std::string unheard = unheard_words(root, arguments, said.words);
    if (!unheard.empty()) throw UsageError("rank {} {}", ranks.rank(), unheard);
    command = command_of(root, std::move(said));
  });
  return command;
}

}  // namespace dpreduce
