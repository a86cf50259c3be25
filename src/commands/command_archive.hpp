// A command as it travels from rank 0 to the other ranks (common/ranks/rank_archive.hpp).
#pragma once

#include <string>

#include "commands/command_line/command.hpp"

namespace dpreduce {

/// The archive of `command`. Equal commands have equal archives.
std::string archived_command(const Command& command);

/// The command of archived_command(command). Throws UsageError naming both versions where another version of the
/// program made the archive, AggregationAborted where it is damaged.
Command unarchived_command(const std::string& archive);

}  // namespace dpreduce
