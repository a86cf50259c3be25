// How a phase of work ended, as one number that ranks and parties agree on.
//
//     verdict = party * 256 + exit code of the party that failed; the smallest one counts; kNobodyFailed is larger
//
// A verdict that comes from somebody else can stop a party. It never makes it go on, and never ends it well.
#pragma once

#include <cstdint>
#include <limits>

#include "common/base/error.hpp"

namespace dpreduce {

inline constexpr std::int64_t kNobodyFailed = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kExitCodes = 256;

inline std::int64_t failure_of(std::int64_t party, ExitCode code) {
  return party * kExitCodes + static_cast<std::int64_t>(code);
}
inline ExitCode code_of(std::int64_t failure) {
  return static_cast<ExitCode>(failure % kExitCodes);
}
inline int failed_party(std::int64_t failure) {
  return static_cast<int>(failure / kExitCodes);
}

/// The failure that a number from elsewhere tells of: its exit code where that is one of a failure, else 5; its party
/// where that is one of 0 to `most`, else 0. Of kNobodyFailed itself.
inline std::int64_t told_failure(std::int64_t told, std::int64_t most) {
  if (told == kNobodyFailed) return told;
  const std::int64_t party = told / kExitCodes;
  const std::int64_t code = told % kExitCodes;
  const bool is_failure = (code >= static_cast<std::int64_t>(ExitCode::kInternal) &&
                           code <= static_cast<std::int64_t>(ExitCode::kClaimRefuted)) ||
                          code == static_cast<std::int64_t>(ExitCode::kInterrupted);
  return failure_of(party >= 0 && party <= most ? party : 0,
                    is_failure ? static_cast<ExitCode>(code) : ExitCode::kAggregationAborted);
}

}  // namespace dpreduce
