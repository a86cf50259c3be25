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

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/accounting/budget.hpp"
#include "common/accounting/mechanism.hpp"
#include "common/base/described_types.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/ledger/noise_plan.hpp"

namespace dpreduce {

// A run may still charge its reservation. Reserved when the run begins, it is given back where the run ends without it.

/// Source of the noise of a release among silos, and the parties for whom the charge holds. On the coordinator's ledger
/// it says how many silos were left. On a silo's ledger it says which silo, and nothing that a coordinator could claim.
struct LedgerSilos {
  NoiseSource noise = NoiseSource::kCentral;
  std::uint64_t left = 0;       ///< when the line was written; 0 on a silo's ledger
  std::uint64_t threshold = 0;  ///< with fewer nothing is released
  std::uint64_t colluding = 0;  ///< of them, as the noise allows for
  std::uint64_t silo = 0;       ///< whose ledger it is; 0: the coordinator's
  /// No roster: identities were made for this run, so that nobody knows who the other silos are, or whether they are
  /// one. What is charged is true of them in a simulation alone.
  bool is_ephemeral = false;

  bool is_of_silo() const { return silo != 0; }

  bool operator==(const LedgerSilos&) const = default;
};

/// Returns whether a text is so many lower-case hex digits, as digests, keys and run ids are.
bool is_lower_hex(std::string_view text, std::size_t shortest, std::size_t longest);

/// Terms that a run's lines have in common.
struct RunTerms {
  std::string method;
  Adjacency adjacency = Adjacency::kAddRemove;
  Accountant accountant = Accountant::kGdp;
  bool is_private = false;  ///< false for a run that a seed makes repeatable, or with forfeits
  PrivacyUnit unit = PrivacyUnit::kRecord;
  std::optional<double> epsilon;  ///< the budget as declared; both or neither
  std::optional<double> delta;
  std::string config_digest;  ///< of the public configuration; lower-case hex, 16 to 128 digits
  std::string version;        ///< of this library
  std::optional<LedgerSilos> silos{};
  Forfeits forfeits{};  ///< beside a seed
  std::vector<PublicByWord> public_by_word{};
  std::string asked{};     ///< the method that was requested, if `method` was chosen for it: for readers alone
  std::string data_set{};  ///< a name that earlier versions wrote, read to print the line again; nothing goes by it

  bool operator==(const RunTerms&) const = default;
};

/// So many rounds of a Gaussian release.
struct ReservedRelease {
  std::string name;
  std::uint64_t rounds = 1;
  double mu = 0;             ///< of one round, were every row drawn
  double sampling_rate = 1;  ///< of a round's Poisson sample; 1: all rows

  bool operator==(const ReservedRelease&) const = default;
};

struct Reservation {
  std::string run_id;  ///< 1 to 64 of A-Z a-z 0-9 . _ -
  RunTerms terms;
  std::vector<ReservedRelease> releases;
  std::vector<PlannedSelection> selections;
  std::string instead_of{};  ///< a run whose own reservation this line ends; empty: none

  bool is_empty() const { return releases.empty() && selections.empty(); }
  bool operator==(const Reservation&) const = default;
};

/// Why it cannot be written, naming the field, and its value where it is a number; empty if it can.
std::string fault_of(const RunTerms& terms);
/// The same. It reserves something; names are all different.
std::string fault_of(const Reservation& reservation);

/// All that the plan may charge.
Reservation reservation_of(const NoisePlan& plan, std::string run_id, RunTerms terms);

struct LedgerEntry;

/// Why the reservation does not cover the charge, naming the field; empty where it does: it has the same terms (but for
/// silos.left), a name that has rounds left, its sampling rate, at most its mu; of a selection, exactly its terms.
std::string uncovered(const Reservation& reservation, const LedgerEntry& entry);

/// Takes a charge off the reservation. Precondition: uncovered(reservation, entry) is empty.
void take_off(Reservation& reservation, const LedgerEntry& entry);

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
inline constexpr auto spellings<RunOutcome> = spelled<RunOutcome>("finished", "stopped", "released");

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
std::string fault_of(const LedgerStart& start);

}  // namespace dpreduce
