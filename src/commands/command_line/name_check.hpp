// Names on a command line that nothing has.
#pragma once

#include <string>
#include <vector>

#include "commands/command_line/command_entry.hpp"

namespace dpreduce {

/// Throws UsageError where a word of `arguments` (without the program's name) stands for a command or an option that
/// `root` and its commands do not have, with the nearest name that they do. Looked at before what is missing: a name
/// with a typing error is why an option seems to be.
void check_names(const CommandEntry& root, const std::vector<std::string>& arguments);

}  // namespace dpreduce
