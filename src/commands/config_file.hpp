// `--config run.toml`: options from a file; `--silo-config silo{rank}.toml`: those of one party of a run among silos.
#pragma once

#include <cstddef>
#include <map>

#include "commands/command_entry.hpp"
#include "common/base/toml_items.hpp"

namespace dpreduce {

// The table [consent] of a silo's own file, as text.
//
//     [consent]
//     methods = ["mean", "ls"]
//     least-threshold = 3
//     noise = "distributed"        # central noise is refused
//     most-mu = 0.5                # of one run
//     most-mu-in-all = 1.0         # of all runs on this silo's ledger

inline constexpr const char* kConsentTable = "consent";

/// Declares the keys of the table, which are read into `consent`; it outlives the table.
void declare_consent(OptionTable& table, SiloConsent& consent);

/// Returns the consent in these items of a file. Throws UsageError naming file, line and key where a key is unknown or
/// there twice, or a value is of another type or out of range.
SiloConsent consent_of(std::span<const TomlItem> items, const std::string& file);

/// Returns whether the arguments give this option.
bool is_given(const std::vector<std::string>& arguments, const Option& option);

struct ConfiguredArguments {
  std::vector<std::string> arguments;
  bool rows_are_own = false;   ///< training rows are those that the party's own file names, or none at the coordinator
  bool ledger_is_own = false;  ///< its ledger is the one that the party's own file names
  std::map<std::string, std::string> places{};  ///< of the options that files have set: "--mu" to "--config F, line 3"
  std::string common_file;                      ///< --config; empty: none
  std::string own_file;                         ///< of the party; empty: none
  std::optional<SiloConsent> consent{};         ///< its table [consent]
};

/// Returns `arguments` with `--config FILE` replaced by the options in FILE: `key = value` becomes `--key value`,
/// unless `--key` is given on the command line, which wins. Keys are at the top of the file or in a section with the
/// command's name; sections of other commands are skipped. Throws UsageError naming the file and the key where a key is
/// not an option of the command or is there twice, where the file cannot be read or parsed, and where its name holds
/// {rank}.
///
/// For the party of that rank in a run among silos, the options in the file of `--silo-config OWN` are added; they win
/// over FILE, not over the command line. {rank} in OWN is replaced; `--silo-config` stays among the arguments. OWN
/// holds what stays with a party: paths of its rows, identity, log, its ledger and its budget, its machine; at the
/// coordinator also test rows and outputs; at a silo the table [consent]; and `silo = 3`, the
/// number of its party, which it must have where its name has no {rank}. Throws BadInput naming OWN and the key where
/// it holds anything else, is another party's, or cannot be read or parsed: every party reports that of its own file.
ConfiguredArguments with_config_files(const CommandEntry& root, std::vector<std::string> arguments,
                                      std::optional<std::size_t> party = std::nullopt);

/// Number of the party that the own file, which the arguments name, says it is. Throws UsageError where they name none,
/// or it does not say; and as with_config_files.
std::size_t party_of_own_file(const CommandEntry& root, std::vector<std::string> arguments);

/// Reads the items of a configuration text; `path` and `flag` are for messages. Throws UsageError where it is not TOML.
std::vector<TomlItem> parse_config(const std::string& text, const std::string& path, const char* flag = "--config");

}  // namespace dpreduce
