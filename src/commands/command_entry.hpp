// Command as the command line sees it: name, help, options, their result, and hints where a name is none.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/option_table.hpp"
#include "methods/fit_options.hpp"

namespace dpreduce {

class Communicator;

/// Command whose options are read and validated, ready to be run by all ranks at once. Rank 0 prints.
using RunnableCommand = std::function<void(Communicator&)>;

/// Returns the command that all ranks run.
template <typename Options>
RunnableCommand by_all_ranks(void (*run)(const std::type_identity_t<Options>&, Communicator&), Options options) {
  return [run, options = std::move(options)](Communicator& ranks) { run(options, ranks); };
}

/// Returns the command that rank 0 does for all: the others wait for it, and end with it.
RunnableCommand by_coordinator(std::function<void()> work);
template <typename Options>
RunnableCommand by_coordinator(void (*run)(const std::type_identity_t<Options>&), Options options) {
  return by_coordinator([run, options = std::move(options)] { run(options); });
}

/// Text that --help, --help-all or --version request.
struct PrintText {
  std::string text;
  void operator()(Communicator& ranks) const;
  void print() const;  ///< as wide as the terminal
};

/// Command line, as it was read.
struct ParsedCommand {
  const OptionTable& options;  ///< of the command
  bool rows_are_own = false;   ///< training rows are those that a party's own file names, or none at a coordinator
  bool ledger_is_own = false;  ///< the ledger is the one that a party's own file names
  std::optional<SiloConsent> consent = {};  ///< of a silo's own file
};

/// Takes from the command line the options that a party among silos sets for itself, and those that must be the same at
/// all.
void take_party(SiloOptions& silos, const ParsedCommand& parsed, const std::vector<std::string>& class_names);

/// Role of a command that starts one party of a run among silos, over a network.
enum class PartyRole { kNone, kCoordinator, kSilo };

struct CommandEntry {
  std::string name;
  std::string help;
  std::string footer = {};        ///< examples
  std::string first_footer = {};  ///< examples of the help that shows the first options alone
  OptionTable options = {};
  std::vector<CommandEntry> commands = {};  ///< of its own
  bool needs_command = false;               ///< one of those; else it may do without
  PartyRole role = PartyRole::kNone;
  /// Returns the requested command, validated, once the words are read into the options. Throws UsageError.
  std::function<RunnableCommand(const ParsedCommand&)> chosen = {};
  /// Returns to a call from a program, in place of print, the result as JSON. Empty where programs do not call it.
  /// Throws UsageError.
  std::function<std::string(const ParsedCommand&)> result = {};

  /// Returns the command of its own with this name; null if there is none.
  const CommandEntry* command(const std::string& word) const;
};

/// Command that the first words name, each a command of the one before it, and these words; `root` and none where the
/// first is no command.
struct NamedCommand {
  const CommandEntry* command;
  std::vector<std::string> names;
};
NamedCommand named_command(const CommandEntry& root, const std::vector<std::string>& words);

/// Exit codes of the program, in words.
inline constexpr std::string_view kExitCodes =
    "0 done, 2 usage, 3 bad input, 4 budget refused,\n"
    "5 aggregation aborted, 6 ledger corrupt, 7 resume mismatch, 8 claim refuted";

/// --config, which is read before the other options are (with_config_files).
void declare_config(OptionTable& table);

/// --sensitivity.
void declare_sensitivity(OptionTable& table, double& sensitivity);

// Names of options in other libraries, and the options of a fit for them.

/// Hint where `typed` is no option: "; here it is --rounds" for a name of another library, else "; did you mean NAME?"
/// with the nearest of `names`, or nothing. Both have dashes in front, or neither has.
std::string hint_for(std::string_view typed, std::span<const std::string> names);

}  // namespace dpreduce
