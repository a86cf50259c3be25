// The one tree of errors, the exit code that each ends with, and how ranks and parties agree on one.
//
// A caller's mistake and the world's fault both throw from here; main catches once, agrees over all ranks, prints one
// message and exits. A message says what is wrong, where (file, row, option), with which value, and what to do.
#pragma once

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/core.h>

namespace dpreduce {

/// Documented process exit codes; part of the command-line contract.
enum class ExitCode : int {
  kDone = 0,
  kInternal = 1,            ///< our own bug, or no entropy: nothing that the caller can mend
  kUsage = 2,               ///< options that do not parse, contradict or are out of range
  kBadInput = 3,            ///< a file that cannot be read, parsed or written, or rows that do not fit
  kBudgetRefused = 4,       ///< the release would pass the budget
  kAggregationAborted = 5,  ///< a rank or silo was lost, or a message failed its check
  kLedgerCorrupt = 6,       ///< the ledger does not verify
  kResumeMismatch = 7,      ///< a saved run without its lines on the ledger
  kClaimRefuted = 8,        ///< an audit has proven more loss than is claimed
  kInterrupted = 130        ///< Ctrl-C (128 + SIGINT)
};

class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

/// Error that ends with `kCode`, with a message or the parts of one: ErrorOf(format, arguments...), as fmt::format.
template <ExitCode kCode>
struct ErrorOf : Error {
  explicit ErrorOf(const std::string& message) : Error(kCode, message) {}
  template <typename First, typename... Rest>
  ErrorOf(fmt::format_string<First, Rest...> format, First&& first, Rest&&... rest)
      : Error(kCode, fmt::format(format, std::forward<First>(first), std::forward<Rest>(rest)...)) {}
};
using UsageError = ErrorOf<ExitCode::kUsage>;
using BadInput = ErrorOf<ExitCode::kBadInput>;
using BudgetRefused = ErrorOf<ExitCode::kBudgetRefused>;
using AggregationAborted = ErrorOf<ExitCode::kAggregationAborted>;
using LedgerCorrupt = ErrorOf<ExitCode::kLedgerCorrupt>;
using ResumeMismatch = ErrorOf<ExitCode::kResumeMismatch>;
using ClaimRefuted = ErrorOf<ExitCode::kClaimRefuted>;
/// The operating system's entropy or OpenSSL failed. Never retried: a run without secure bytes must end.
using EntropyFailure = ErrorOf<ExitCode::kInternal>;
using Interrupted = ErrorOf<ExitCode::kInterrupted>;

/// Throws std::logic_error naming the condition. Our own invariants; stays on in Release, unlike assert().
#define DPREDUCE_ASSERT(condition)                                                     \
  do {                                                                                 \
    if (!(condition)) throw std::logic_error("dpreduce: internal error: " #condition); \
  } while (false)

/// Another rank failed and prints the reason; this one ends with the same code and prints nothing.
struct PeerFailed : Error {
  PeerFailed(ExitCode code, int failed_rank)
      : Error(code, "rank " + std::to_string(failed_rank) + " failed"), rank(failed_rank) {}
  int rank;
};

// Outcome of a phase of work, as one number that ranks and parties agree on.
//
//     verdict = party * 256 + exit code of the party that failed; the smallest one counts; kNobodyFailed is larger
//
// A verdict from another party can stop a party. Such a verdict never makes it go on, and never ends it well.

inline constexpr std::int64_t kNobodyFailed = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kCodesOfParty = 256;

inline std::int64_t failure_of(std::int64_t party, ExitCode code) {
  return party * kCodesOfParty + static_cast<std::int64_t>(code);
}
inline ExitCode code_of(std::int64_t failure) {
  return static_cast<ExitCode>(failure % kCodesOfParty);
}
inline int failed_party(std::int64_t failure) {
  return static_cast<int>(failure / kCodesOfParty);
}

/// Returns the failure that a received number encodes: its exit code if that is one of a failure, else 5; its party if
/// that is from 0 to `most`, else 0. kNobodyFailed stays itself.
inline std::int64_t received_failure(std::int64_t told, std::int64_t most) {
  if (told == kNobodyFailed) return told;
  const std::int64_t party = told / kCodesOfParty;
  const std::int64_t code = told % kCodesOfParty;
  const bool is_failure = (code >= static_cast<std::int64_t>(ExitCode::kInternal) &&
                           code <= static_cast<std::int64_t>(ExitCode::kClaimRefuted)) ||
                          code == static_cast<std::int64_t>(ExitCode::kInterrupted);
  return failure_of(party >= 0 && party <= most ? party : 0,
                    is_failure ? static_cast<ExitCode>(code) : ExitCode::kAggregationAborted);
}

}  // namespace dpreduce
