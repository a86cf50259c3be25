// Help for a first look: the options of a command that most users need, on one screen.
#pragma once

#include <string>

#include "commands/command_line/command_entry.hpp"

namespace dpreduce {

/// The first options of `command` under the headings of their groups, one line each, its first_footer, and how to see
/// all others. `name` is how the command is called: "dpreduce fit". Precondition: command.options.has_first().
std::string first_help(const CommandEntry& command, const std::string& name);

}  // namespace dpreduce
