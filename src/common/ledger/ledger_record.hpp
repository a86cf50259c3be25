// The records that the lines of a ledger state, without their form (ledger_line.hpp).
//
//     ledger        the first line: whose signatures follow
//     reservation   what a run may charge from here on
//     charge        one release, before it is made
//     end           a run charges nothing more; what it reserved and did not charge is given back
//
// A line holds public constants only: nothing in it may depend on the records, and no digest of anything private, keyed
// or not, may stand in it. Equal digests would reveal equal statistics.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/accounting/selection_charge.hpp"
#include "common/base/described_types.hpp"
#include "common/ledger/reservation.hpp"

namespace dpreduce {

struct LedgerBlock {
  std::string name;
  std::uint64_t elements = 0;
  double sensitivity = 0;  ///< L2, lattice units
  double sigma = 0;        ///< noise standard deviation of one round, lattice units

  bool operator==(const LedgerBlock&) const = default;
};

/// Charge of one release, as its caller declares it. Names are 1 to 128 of A-Z a-z 0-9 . _ : + / @ - and space.
struct LedgerEntry {
  std::string release_id;  ///< "<run id>/<label>", with the label of label_of_round
  RunTerms terms;
  std::vector<LedgerBlock> blocks;
  std::optional<SelectionTerms> selection{};  ///< with one: no blocks, mu 0
  double mu = 0;                              ///< the line's rho is mu^2 / 2
  double sampling_rate = 1;                   ///< below 1 only for Gaussian releases

  bool operator==(const LedgerEntry&) const = default;
};

/// The part of a release id before its first slash; all of it where there is none.
std::string run_of(const std::string& release_id);

/// The line that begins a ledger.
struct LedgerStart {
  std::string public_key;  ///< Ed25519, 64 lower-case hex digits: every later line is signed with its private half
  std::string version;     ///< of this library

  bool operator==(const LedgerStart&) const = default;
};

/// Outcome of a run that has ended.
enum class RunOutcome {
  kFinished,  ///< its result is on disk
  kStopped,   ///< by an error, or gone on with by another run
  kReleased   ///< given up by `ledger release`; final
};

struct RunEnd {
  std::string run_id;
  RunOutcome outcome = RunOutcome::kFinished;

  bool operator==(const RunEnd&) const = default;
};

template <>
inline constexpr std::array spellings<RunOutcome>{std::pair{std::string_view{"finished"}, RunOutcome::kFinished},
                                                  std::pair{std::string_view{"stopped"}, RunOutcome::kStopped},
                                                  std::pair{std::string_view{"released"}, RunOutcome::kReleased}};

/// Content of a line, with its place in the chain.
struct LedgerRecord {
  std::variant<LedgerEntry, Reservation, RunEnd, LedgerStart> content;
  std::string utc_time;         ///< 2026-01-31T23:59:59Z
  std::string previous_sha256;  ///< of the line before, 64 hex digits

  bool operator==(const LedgerRecord&) const = default;
};

/// Reason why it cannot be written, naming the field, and its value where it is a number; empty if it can.
std::string fault_of(const LedgerEntry& entry);
std::string fault_of(const RunEnd& end);
std::string fault_of(const LedgerStart& start);  // of a reservation: reservation.hpp

}  // namespace dpreduce
