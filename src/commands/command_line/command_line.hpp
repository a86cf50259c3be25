// The arguments on the command line to one validated struct.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "commands/command_line/command.hpp"

namespace dpreduce {

/// The command that `arguments` (without the program's name) ask for. Options of `--config FILE` (TOML: `train-x =
/// [...]`, `epsilon = 1.0`, flat or under the command's name) stand in front of those on the command line, which win.
/// For the party of that rank in a run among silos the options of `--silo-config FILE`, which are its own, stand
/// between the two (with_config_files). Throws UsageError with one line where they do not parse, contradict each other
/// or are out of range; BadInput where a party's own file is wrong.
Command parse_command_line(std::vector<std::string> arguments, std::optional<std::size_t> party = std::nullopt);

/// What kind of job arguments ask for, as far as that can be told before a party's own options are read.
struct AskedJob {
  /// A fit with an option that only parties of a run among silos have (--secure-aggregation, --silo-config, --roster,
  /// --identity), among the words or in a `--config` that can be read here.
  bool is_of_silos = false;
  /// Why it may be one all the same: a `--config` of a fit that is wrong here. Empty where there is no doubt.
  std::string doubt{};
};

/// The ranks of a job compare their answers (Communicator::join).
AskedJob asked_job(const std::vector<std::string>& arguments);

}  // namespace dpreduce
