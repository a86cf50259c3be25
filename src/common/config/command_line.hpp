// Words on the command line to one validated struct.
#pragma once

#include <string>
#include <vector>

#include "dpreduce/config/options.hpp"

namespace dpreduce {

/// The command that `arguments` (without the program's name) ask for. Options of `--config FILE` (TOML: `train-x =
/// [...]`, `epsilon = 1.0`, flat or under the command's name) stand in front of those on the command line, which win.
/// Throws UsageError with one line where they do not parse, contradict each other or are out of range.
Command parse_command_line(std::vector<std::string> arguments);

/// The program's version, as in --version and in every file that it writes.
std::string version();

}  // namespace dpreduce
