// The arguments on the command line to a command that can be run.
#pragma once

#include <cstddef>
#include <map>
#include <variant>

#include "commands/command_entry.hpp"
#include "common/ranks/communicator.hpp"

namespace dpreduce {

/// The lists in files that options name, by the paths of the files.
using NamedLists = std::map<std::string, std::vector<std::string>>;

/// Words that a rank was given, with those of its `--config` before the others, and the content of list files that
/// options name. A reader of this needs none of those files.
struct GivenWords {
  std::vector<std::string> words;
  NamedLists lists;
};

/// Returns the words with the commands `help` and `version` replaced by options: "help ledger show" becomes "ledger
/// show --help".
std::vector<std::string> with_help_as_option(std::vector<std::string> arguments);

/// Returns the command that `arguments` (without the program's name) request, one of `root`'s. They are read into its
/// options: each call needs a table that was made for it. Without any argument the command prints help, and then throws
/// UsageError. Options of `--config FILE` (TOML: `train-x = [...]`, `epsilon = 1.0`, flat or under the command's name)
/// come before those on the command line, which win. For the party of that rank in a run among silos the options of
/// `--silo-config FILE`, which are its own, come between the two (with_config_files). `said`, where it is not null,
/// gets the words and lists. Throws UsageError with one line where they do not parse, contradict each other or are out
/// of range; BadInput where a party's own file, or the file of a list, is wrong.
RunnableCommand parse_command_line(CommandEntry root, std::vector<std::string> arguments,
                                   std::optional<std::size_t> party = std::nullopt, GivenWords* said = nullptr);

/// Returns the command of words that another rank has parsed: no file is opened. Throws as parse_command_line.
RunnableCommand command_of(CommandEntry root, GivenWords said);

/// Kind of job that the words of one rank request, as far as known before a party's own options are read.
struct RequestedJob {
  /// A fit with an option that only parties of a run among silos have (--secure-aggregation, --silo-config, --roster,
  /// --identity), among the words or in a `--config` that can be read here.
  bool is_of_silos = false;
  bool is_preview = false;  ///< such a fit with --dry-run
  /// Reason why this rank must do nothing: its words are not of this program, or its `--config` is wrong here. Empty if
  /// there is no doubt, or if the words are just the name of a command.
  std::string doubt{};
};

/// Returns the kind of job. The ranks of a job compare their answers (Communicator::join). The words are read into the
/// options of `root`.
RequestedJob requested_job(const CommandEntry& root, const std::vector<std::string>& arguments);

/// Reason why a rank with the words `own` must not run the command of rank 0, whose words are `of_rank_0`, those of its
/// `--config` among them: its own words differ, and would be ignored. Empty if the words are the same, or just the name
/// of that command. Throws UsageError as with_config_files.
std::string unheard_words(const CommandEntry& root, const std::vector<std::string>& own,
                          const std::vector<std::string>& of_rank_0);

/// Returns the command that the arguments of rank 0 ask for, on every rank of a job whose ranks trust each other. The
/// other ranks were started with the same words, and read the same in their --config; or with the command's name alone.
/// Rank 0 sends them the words that it was given, with what its files say. Each reads these into a `root` of its own,
/// one that was made for this call. Collective. Not among silos, where each party reads arguments of its own. Throws as
/// parse_command_line does (at rank 0; PeerFailed elsewhere), and UsageError where a rank was given other words than
/// rank 0 (unheard_words), or runs another version of the program.
RunnableCommand command_of_job(const CommandEntry& root, const std::vector<std::string>& arguments,
                               Communicator& ranks);

// The parser on CLI11 (cli11_parser.cpp): arguments into options, and help. No other file knows of CLI11.

/// Reads `arguments` (without the program's name) into the options of the command that they name, one of `root`'s, and
/// records the arguments of each option. Lists add up; of any other option the last argument wins. Returns that
/// command, or the text that --help, --help-all or --version request. Files of lists that options name are read where
/// `lists` does not have them, and added to it. Throws UsageError in one line that names the command's --help, BadInput
/// where such a file is wrong.
std::variant<const CommandEntry*, PrintText> read_arguments(CommandEntry& root, std::vector<std::string> arguments,
                                                            NamedLists& lists);

}  // namespace dpreduce
