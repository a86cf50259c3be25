// A run that pays: plan, secret key and ledger together. What becomes public passes here first.
//
//     fingerprint of the exact statistic  ->  ledger line, fsynced  ->  the id that its randomness is drawn under
//
// Charged on intent, never refunded. With Replay::kChargedBefore a charge that is on file already for the same release
// (configuration, statistic, terms) is found again, so that what follows from its id is repeated bit for bit. A run
// that goes on from a checkpoint keeps its id instead: its own charges are found again, and none of another run.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dpreduce/aggregator/statistic_fingerprint.hpp"
#include "dpreduce/privacy/ledger.hpp"
#include "dpreduce/privacy/noise_plan.hpp"
#include "dpreduce/privacy/statistic.hpp"
#include "dpreduce/randomness/noise_key.hpp"
#include "dpreduce/transport/communicator.hpp"

namespace dpreduce {

/// What a run's ledger lines have in common.
struct LedgerContext {
  std::string method;
  Accountant accountant = Accountant::kGdp;
  std::optional<double> epsilon;  ///< the budget as stated; both or neither
  std::optional<double> delta;
  std::string config_digest;
  std::string version;
};

/// What to do where the ledger has a charge of this very release (configuration, statistic, noise) already.
enum class Replay {
  kNever,         ///< a new release, with new noise and a new charge
  kChargedBefore  ///< repeat it bit for bit, at no charge: the run was killed, and goes on
};

/// Where and under which terms releases are charged.
struct Charging {
  std::string ledger_path;
  std::optional<DataSetBudget> limit = std::nullopt;  ///< of the data set, over all runs on this ledger
  Replay replay = Replay::kNever;
  std::string run_id = {};  ///< of a run that goes on; empty: a new one
};

/// Exists on every rank; key and ledger serve on the coordinator.
class ChargedRun {
 public:
  ChargedRun(NoisePlan plan, NoiseKey key, Charging charging, LedgerContext context);

  const NoisePlan& plan() const { return plan_; }
  /// What names this run in the ledger.
  const std::string& run_id() const { return run_id_; }

  /// Begins one more round of a release, or the one round of a selection. On every rank; before `charge`.
  /// Throws std::logic_error where the plan has no more.
  void begin(const PlannedRelease& planned);
  void begin(const PlannedSelection& planned);

  /// Returns where each of these rounds (label_of_round) is on file as charged by this run; on the coordinator.
  /// Throws ResumeMismatch naming the first that is not, and as Ledger::read.
  void require_charged(std::span<const std::string> labels) const;

  /// 32 bytes derived from the coordinator's key for that purpose and context, known to every rank; they tell nothing
  /// about the key or about other secrets. Context matters on the coordinator alone. Collective.
  SecretVector<std::byte> shared_secret(Communicator& ranks, std::string_view purpose,
                                        const std::string& context) const;

  /// Of the statistic over all ranks (statistic_fingerprint.hpp); on the coordinator, elsewhere of nothing. Collective.
  std::string fingerprint(Communicator& ranks, std::string_view name, const Statistic& local) const;
  /// The same from each rank's part, as `part_of` makes it with the coefficients.
  std::string fingerprint(Communicator& ranks, std::string_view name,
                          const std::function<FingerprintPart(RandomStream& coefficients)>& part_of) const;

  /// Of one rank's own statistic: four pseudorandom words of its number and its fingerprint, so that sums of them over
  /// ranks tell apart which rank has which statistic. Known to that rank alone. Collective.
  std::array<std::uint64_t, 4> fingerprint_of_rank(Communicator& ranks, std::string_view name,
                                                   const Statistic& local) const;

  /// Charges the round that was begun; returns the id that its randomness is drawn under, which ends in the
  /// fingerprint. On the coordinator. Throws as Ledger::append.
  std::string charge(const PlannedRelease& planned, const std::string& fingerprint);
  std::string charge(const PlannedSelection& planned, const std::string& fingerprint);

  /// The ids under which the sample of the round that was begun may have been drawn: with Replay::kChargedBefore those
  /// of charges on file that differ in run and statistic alone, the newest first, until one round was new; last, that
  /// of a sample nobody has drawn. On the coordinator. Throws as Ledger::read.
  std::vector<std::string> sample_ids(const PlannedRelease& planned) const;

  /// Whether that round was charged under this id, of that very statistic: then it is repeated. On the coordinator.
  bool is_on_file(const PlannedRelease& planned, const std::string& id, const std::string& fingerprint) const;

  /// As charge, for the last of sample_ids: never a repetition. Two samples may have the same statistic, and whether
  /// they do is nobody's business.
  std::string charge_new_sample(const PlannedRelease& planned, const std::string& fingerprint);

  /// What names the round that was begun last in this run: "gradient/3". The same on every rank.
  std::string label_of_begun(const PlannedRelease& planned) const;

  /// From here on charges say who makes the noise.
  void set_silos(const LedgerSilos& silos) { silos_ = silos; }

  /// The key's stream of that purpose and context.
  RandomStream stream(std::string_view purpose, const std::string& context) const;

 private:
  void begin(const std::string& name, std::uint64_t planned_rounds);
  std::uint64_t rounds_left(const std::string& name, std::uint64_t planned_rounds) const;
  LedgerEntry entry_of(const std::string& label, const std::string& fingerprint) const;
  LedgerEntry entry_of(const PlannedRelease& planned, const std::string& fingerprint) const;
  std::string append(const LedgerEntry& entry, const std::string& label, const std::string& fingerprint);
  std::string charge(const LedgerEntry& entry, const std::string& label, const std::string& fingerprint);
  Spending remaining() const;

  NoisePlan plan_;
  NoiseKey key_;
  std::string run_id_;  // new in every run
  Charging charging_;
  Ledger ledger_;
  LedgerContext context_;
  std::map<std::string, std::uint64_t, std::less<>> rounds_begun_;
  std::string current_;  // what was begun last: its round is not yet charged
  std::optional<LedgerSilos> silos_;
  bool has_new_sample_ = false;  // some round took a sample that no run had drawn before
};

}  // namespace dpreduce
