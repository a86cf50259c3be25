// A run whose releases are charged: plan, journal and ledger together. Whatever becomes public passes here first.
//
//     room for all that the plan may charge is looked for; nothing is written
//     first pass over all rows, on all ranks
//     reservation of all that the plan may charge, before the first line that charges
//     fingerprint of the exact statistic  ->  journal  ->  ledger line, both fsynced  ->  the id of its randomness
//     end: finished (its result is on disk; the journal is destroyed) or stopped (what was not charged is given back)
//
// How a run ends is public: its lines show it. So nothing is written before every row has been looked at. A row that
// the run refuses leaves no line, and what can end the run later depends on no row (docs/explanation/ledger.md).
// Another run may take the room in the meantime: the reservation is then refused, and has cost a pass over the rows,
// but no budget.
//
// A release is charged before it is made, and never refunded. A run that was killed goes on with its journal: a release
// whose fingerprint is the one in the journal, and whose line is on the ledger, is repeated bit for bit at no charge.
// Where a statistic is another one, the run goes on under another id, and all that is left is reserved anew: two
// different statistics never share noise or an id. From its first new release on, the run repeats nothing any more.
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

#include "aggregator/release/statistic_fingerprint.hpp"
#include "common/ledger/ledger.hpp"
#include "common/ledger/run_journal.hpp"
#include "common/plan/noise_plan.hpp"
#include "common/plan/statistic.hpp"
#include "common/ranks/communicator.hpp"

namespace dpreduce {

/// Where and under which limit releases are charged.
struct Charging {
  std::string ledger_path;
  std::optional<DataSetBudget> limit = std::nullopt;  ///< of the data set, over all runs on this ledger
  std::optional<double> most_mu = std::nullopt;       ///< of all runs on it
};

/// Every rank has one. The journal and the ledger are used on the coordinator, and at each silo of a run among silos: a
/// silo charges on a ledger of its own (silo_account.hpp), by the terms and the plan that it can answer for itself.
class ChargedRun {
 public:
  /// `terms` need neither adjacency nor is_private: plan and journal have them.
  ChargedRun(NoisePlan plan, RunJournal journal, Charging charging, RunTerms terms);
  /// Stops a run that has written on the ledger and not finished: what it did not charge is given back, and where it
  /// has charged nothing its journal is destroyed. One that has written nothing leaves all as it found it: a journal
  /// that it has made is destroyed. An error on the way leaves the reservation as it is.
  ~ChargedRun();
  ChargedRun(const ChargedRun&) = delete;
  ChargedRun& operator=(const ChargedRun&) = delete;

  const NoisePlan& plan() const { return plan_; }
  /// Whether its noise hides anything: under a seed it does not.
  bool has_secret_noise() const { return has_secret_noise_; }
  /// What names this run in the ledger.
  const std::string& run_id() const { return journal_.run_id(); }

  /// Takes from the ledger what the run has charged before, and looks whether what the plan may still charge can be
  /// reserved: nothing is written on the ledger before the first charge. On the coordinator, before any release. Throws
  /// as Ledger::check; then the run has stopped.
  void open();

  /// The result is on disk: the run has ended, and its journal is destroyed. On the coordinator. Precondition
  /// (asserted): all of the plan is charged, so that what is spent depends on nothing that was released.
  void finish();

  /// What the ledger says now. On a rank that writes it.
  const LedgerState& ledger() { return ledger_.current(); }

  /// Whether there is something to repeat: charges, in a journal on disk. On the coordinator.
  bool can_be_resumed() const { return journal_.is_on_disk() && !on_file_.empty(); }
  /// Words on a run that an error ends: what it has charged, what becomes of what it has reserved beside that, and how
  /// to go on or give it up: one line, without a full stop.
  std::string way_to_resume() const;
  bool has_ended() const { return journal_.has_ended(); }

  /// Begins one more round of a release, or the one round of a selection. On every rank; before `charge`.
  /// Throws std::logic_error where the plan has no more.
  void begin(const PlannedRelease& planned);
  void begin(const PlannedSelection& planned);

  /// Returns where each of these rounds (label_of_round) is on file as charged by this run; on the coordinator.
  /// Throws ResumeMismatch naming the first that is not, and as Ledger::read.
  void require_charged(std::span<const std::string> labels);

  /// Returns where these are the rows that the run began with, by a digest of them; the first time it is noted. On the
  /// coordinator. Throws ResumeMismatch.
  void require_same_rows(std::span<const std::uint64_t> digest);

  /// 32 bytes derived from the coordinator's secret for that purpose and context, known to every rank; they tell
  /// nothing about the secret or about others. Context matters on the coordinator alone. Collective.
  SecretVector<std::byte> shared_secret(Communicator& ranks, std::string_view purpose,
                                        const std::string& context) const;

  /// The fingerprint of the statistic over all ranks (statistic_fingerprint.hpp), on the coordinator; elsewhere it
  /// means nothing. Collective.
  std::string fingerprint(Communicator& ranks, std::string_view name, const Statistic& local) const;
  /// The same from each rank's part, as `part_of` makes it with the coefficients.
  std::string fingerprint(Communicator& ranks, std::string_view name,
                          const std::function<FingerprintPart(RandomStream& coefficients)>& part_of) const;

  /// The seal of one rank's own statistic: four pseudorandom words of its number and its fingerprint, so that sums of
  /// them over ranks tell apart which rank has which statistic. Known to that rank alone. Collective.
  std::array<std::uint64_t, 4> fingerprint_of_rank(Communicator& ranks, std::string_view name,
                                                   const Statistic& local) const;

  /// Charges the round that was begun; returns the id that its randomness is drawn under, which ends in the
  /// fingerprint. On the coordinator. The first that is new reserves all that the plan may still charge: so must
  /// another statistic than the one that was charged. Throws as Ledger::reserve and Ledger::append; ResumeMismatch
  /// where the run has ended.
  std::string charge(const PlannedRelease& planned, const std::string& fingerprint);
  std::string charge(const PlannedSelection& planned, const std::string& fingerprint);

  /// How many rounds of releases, and selections, have begun.
  std::uint64_t rounds_begun() const { return begun_; }

  /// Charges the round that was begun last, where nobody has charged it yet; returns what it then charged. For a silo,
  /// which repeats no round and so needs no fingerprint. Throws as charge. Precondition: rounds_begun() > 0.
  std::optional<LedgerEntry> charge_begun();

  /// The runs of the journal under which the round that was begun was charged, the newest first: its sample may be one
  /// of theirs. None as soon as one release was new. On the coordinator.
  std::vector<std::string> runs_with_sample(const PlannedRelease& planned) const;
  /// What the coins of that run's sample for the round are derived from.
  std::string sample_id(const PlannedRelease& planned, const std::string& run_id) const;
  /// Charges as charge does, where that run charged that very statistic; else nothing, and nothing is charged.
  std::optional<std::string> charge_again(const PlannedRelease& planned, const std::string& run_id,
                                          const std::string& fingerprint);
  /// The run whose sample for the round has not been drawn yet: this one, under another id where it has drawn one
  /// before. On the coordinator. Throws ResumeMismatch where the run has ended.
  std::string run_of_new_sample(const PlannedRelease& planned);
  /// Charges as charge does, for that sample: never a repetition. Two samples may have the same statistic; whether they
  /// do must not become public.
  std::string charge_new_sample(const PlannedRelease& planned, const std::string& fingerprint);

  /// The name of the round that was begun last in this run: "gradient/3". The same on every rank.
  std::string label_of_begun(const PlannedRelease& planned) const;

  /// From here on charges say how many silos are left.
  void set_silos_left(std::uint64_t left) { terms_.silos->left = left; }

  /// The secret's stream of that purpose and context.
  RandomStream stream(std::string_view purpose, const std::string& context) const;

 private:
  enum class Reserved { kNothing, kKept, kGivenBack };
  std::uint64_t planned_charges() const;
  bool has_charged_all() const;
  std::string way_to_go_on(std::string_view has_charged, std::uint64_t charged, Reserved rest) const;
  void begin(const std::string& name, std::uint64_t planned_rounds);
  std::uint64_t first_round_left(const std::string& name) const;
  LedgerEntry entry_of(const std::string& label) const;
  LedgerEntry entry_of(const PlannedRelease& planned) const;
  LedgerEntry entry_of(const PlannedSelection& planned) const;
  std::string randomness_id(const std::string& run_id, const std::string& label) const;
  bool is_on_file(LedgerEntry entry, const std::string& run_id, const std::string& label) const;
  void require_not_ended(const std::string& label) const;
  std::string append(LedgerEntry entry, const std::string& label, const std::string& fingerprint);
  std::string charge(const LedgerEntry& entry, const std::string& label, const std::string& fingerprint);
  Reservation rest();
  bool is_reserved(const Reservation& reservation);
  void require_most_mu();
  void reserve();
  void begin_anew();
  void stop();

  NoisePlan plan_;
  RunJournal journal_;
  Charging charging_;
  Ledger ledger_;
  RunTerms terms_;
  bool has_secret_noise_;
  bool has_written_ = false;   // on the ledger, in this process
  bool was_reserved_ = false;  // by an earlier process
  bool has_reserved_ = false;  // what it may charge from here on under run_id()
  bool has_finished_ = false;
  std::map<std::string, LedgerEntry> on_file_;  // charges of the journal's runs, by release id
  std::map<std::string, std::uint64_t, std::less<>> rounds_begun_;
  std::uint64_t begun_ = 0;
  std::string current_;           // the name of what was begun last; its round is not charged yet
  bool has_new_release_ = false;  // from then on nothing is a repetition
};

}  // namespace dpreduce
