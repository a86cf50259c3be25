#include "commands/command_line/command_line.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "commands/command_line/class_options.hpp"
#include "commands/command_line/cli11_parser.hpp"
#include "commands/command_line/command_entry.hpp"
#include "commands/command_line/config_file.hpp"
#include "commands/command_line/name_check.hpp"
#include "common/base/error.hpp"
#include "common/data/output_check.hpp"
#include "common/ledger/ledger_key.hpp"

namespace dpreduce {
namespace {

// Makes --train-x and --train-y optional: in a run among silos a party's own file names its rows, and the coordinator
// has none.
void let_rows_be_own(CommandEntry& root) {
  for (CommandEntry& command : root.commands) {
    if (command.name != "fit") continue;
    for (const char* rows : {"--train-x", "--train-y"}) command.options.find(rows)->is_required = false;
  }
}

bool is_option(const std::string& argument, std::string_view option) {
  return argument.substr(0, argument.find('=')) == option;
}

bool names_own_file(const std::string& argument) {
  return is_option(argument, "--silo-config");
}

// Whoever gives one of these is a party, and does not take its options from rank 0.
bool is_of_a_party(const std::string& argument) {
  constexpr std::array<std::string_view, 4> kOptions{"--secure-aggregation", "--silo-config", "--roster", "--identity"};
  return std::any_of(kOptions.begin(), kOptions.end(),
                     [&](std::string_view option) { return is_option(argument, option); });
}

bool has_party_option(const std::vector<std::string>& arguments) {
  return std::any_of(arguments.begin(), arguments.end(), is_of_a_party);
}

// Whether there are words, and each names a command of the one before it.
bool name_command_alone(const std::vector<std::string>& words) {
  CommandEntry root = dpreduce_command();
  const CommandEntry* command = &root;
  for (const std::string& word : words) {
    if ((command = command->command(word)) == nullptr) return false;
  }
  return !words.empty();
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

// Where the option stands that a message begins with; empty where no file has set it.
std::string place_of_mistake(std::string_view message, const std::map<std::string, std::string>& places) {
  const std::string_view name = message.substr(0, message.find_first_of(" :,="));
  const auto place = places.find(std::string(name));
  return place == places.end() ? std::string() : place->second;
}

// Throws UsageError where a file that the command writes is one that it reads its options or a document from, or the
// key of a ledger. Rows, which may be named by globs, are compared when they are opened.
void require_outputs_apart(const OptionTable& options, const ConfiguredArguments& configured) {
  std::vector<std::string> inputs{configured.common_file, configured.own_file};
  for (const Option& option : options.options()) {
    if (option.writes.empty() && option.type.starts_with("FILE")) {
      inputs.insert(inputs.end(), option.given.begin(), option.given.end());
    }
  }
  for (const Option& option : options.options()) {
    const std::string path = option.is_given() ? option.given.back() : option.usual;
    if (path.empty()) continue;
    for (const std::string& ending : option.writes) {
      const NamedPath output{fmt::format("--{}", option.long_name()), path + ending};
      if (output.path.ends_with(kSigningKeyEnding)) {
        throw UsageError(fmt::format("{} {}: names that end so are those of ledgers' keys; name another file",
                                     output.option, output.path));
      }
      for (const std::string& input : inputs) {
        if (!input.empty()) require_not_read({&output, 1}, input);
      }
    }
  }
}

}  // namespace

AskedJob asked_job(const std::vector<std::string>& arguments) {
  if (name_command_alone(arguments)) return {};
  // --config may stand in front of the command.
  const bool is_fit = std::find(arguments.begin(), arguments.end(), "fit") != arguments.end();
  std::string reason;  // of a mistake in --config
  try {
    reason = " (every rank reads the --config that it is started with: it may ask for --secure-aggregation)";
    const std::vector<std::string> all = said_words(arguments);
    reason.clear();
    if (!all.empty() && all.front() == "fit" && has_party_option(all)) return {.is_of_silos = true};
    parse_command_line(arguments);
  } catch (const UsageError& error) {
    // The command line says that it is a party, however wrong the rest is.
    if (is_fit && has_party_option(arguments)) return {.is_of_silos = true};
    const bool has_config = std::any_of(arguments.begin(), arguments.end(),
                                        [](const std::string& argument) { return is_option(argument, "--config"); });
    return {.doubt = error.what() + (has_config ? reason : "")};
  } catch (const Error&) {
    // Of a file that the words name: it is not in doubt what they ask for.
  }
  return {};
}

std::vector<std::string> said_words(const std::vector<std::string>& arguments) {
  return with_config_files(dpreduce_command(), arguments).arguments;
}

std::string unheard_words(const std::vector<std::string>& own, const std::vector<std::string>& of_rank_0) {
  const std::size_t names = own.size();
  const bool is_beginning = names <= of_rank_0.size() && std::equal(own.begin(), own.end(), of_rank_0.begin());
  if (is_beginning && name_command_alone(own)) {
    const auto rest = of_rank_0.begin() + static_cast<std::ptrdiff_t>(names);
    if (rest == of_rank_0.end() || !name_command_alone({of_rank_0.begin(), rest + 1})) return {};
  }
  const std::vector<std::string> all = said_words(own);
  if (all == of_rank_0) return {};
  const auto [here, there] = std::mismatch(all.begin(), all.end(), of_rank_0.begin(), of_rank_0.end());
  return fmt::format(
      "was started with {} where rank 0 was started with {}; start all ranks with the same words and the same "
      "--config, or with the command's name alone: what only one of them is told nobody would hear",
      shown_word(all, here - all.begin()), shown_word(of_rank_0, there - of_rank_0.begin()));
}

Command parse_command_line(std::vector<std::string> arguments, std::optional<std::size_t> party) {
  CommandEntry root = dpreduce_command();
  check_names(root, arguments);
  const ConfiguredArguments configured = with_config_files(root, std::move(arguments), party);
  if (!party && std::any_of(configured.arguments.begin(), configured.arguments.end(), names_own_file)) {
    throw UsageError(
        "--silo-config: is of one party among silos; start them with mpirun -n, and give --secure-aggregation");
  }
  if (configured.rows_are_own) let_rows_be_own(root);
  let_names_count_classes(root, configured.arguments);
  try {
    const auto read = read_arguments(root, configured.arguments);
    if (const PrintText* text = std::get_if<PrintText>(&read)) return *text;
    const CommandEntry& command = *std::get<const CommandEntry*>(read);
    require_outputs_apart(command.options, configured);
    return command.chosen({command.options, configured.rows_are_own, configured.ledger_is_own});
  } catch (const UsageError& error) {
    if (const std::string place = place_of_mistake(error.what(), configured.places); !place.empty()) {
      throw UsageError(fmt::format("{}: {}", place, error.what()));
    }
    if (configured.own_file.empty()) throw;
    throw UsageError(fmt::format("{} (with --silo-config {})", error.what(), configured.own_file));
  }
}

}  // namespace dpreduce
