// A run may still charge its reservation. Reserved when the run begins, it is given back where the run ends without it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/accounting/budget.hpp"
#include "common/accounting/selection_charge.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/ledger/noise_plan.hpp"

namespace dpreduce {

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

}  // namespace dpreduce
