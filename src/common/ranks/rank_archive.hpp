// How ranks that trust each other exchange structured values: as messages (common/silos/payload_archive.hpp) whose kind
// names the type of the value. Ranks run one and the same program, so that types have the same names for all of them.
#pragma once

#include <string>
#include <string_view>
#include <typeinfo>

#include "common/base/error.hpp"
#include "common/silos/payload_archive.hpp"

namespace dpreduce {

/// Which kind of message an archive of that type is.
template <typename Value>
std::string kind_of_archive() {
  return std::string("message between ranks, of type ") + typeid(Value).name();
}

/// The archive of `value`. Equal values have equal archives.
template <typename Value>
std::string archived(const Value& value) {
  return message_of(kind_of_archive<Value>(), value);
}

/// The value of archived(value). Throws UsageError naming both versions where another version of the program made the
/// archive, AggregationAborted where it is damaged or of another type.
template <typename Value>
Value unarchived(std::string_view archive) {
  try {
    return value_of_message<Value>(kind_of_archive<Value>(), archive, NumbersOfMessage::kAny);
  } catch (const BadInput&) {
    throw AggregationAborted("a message of another rank of this job is damaged; start the job again");
  }
}

}  // namespace dpreduce
