// What ranks that trust each other tell each other in structured form: one archive of Boost.Serialization.
//
//     "dpreduce archive 1 0.1.0 LENGTH CRC\n"   format, version of the program; of the rest: bytes, CRC-32 (hex)
//     Boost's binary archive of the value       in the machine's own byte order
//
// For the time of one job and among equal programs only: no archive is written to a file, and none goes to or comes
// from a silo.
#pragma once

#include <string>

#include "commands/command_line/command.hpp"
#include "commands/files_once.hpp"

namespace dpreduce {

/// The archive of a Command or of SeenFiles. Equal values have equal archives.
template <typename Value>
std::string archived(const Value& value);

/// The value of archived(value). Throws UsageError naming both versions where another version of the program made the
/// archive, AggregationAborted where it is damaged.
template <typename Value>
Value unarchived(const std::string& archive);

}  // namespace dpreduce
