// A run whose releases are charged: plan, ledger and the file of what it has released. Whatever becomes public passes
// here first.
//
//     room for all that the plan may charge is looked for; nothing is written
//     first pass over all rows, on all ranks
//     reservation of all that the plan may charge, before the first noise
//     noise, sum  ->  ledger line, flushed  ->  record, flushed  ->  the value; among silos the line comes first
//     end: finished (its result is on disk; the file is removed) or stopped (what was not charged is given back)
//
// The end of a run is public, since its lines show it. So nothing is written before every row has been read. A refused
// row leaves no line, and later failures depend on no row (docs/explanation/ledger.md). Another run may use the budget
// in the meantime: then the reservation is refused, at the cost of a pass over the rows, but of no budget.
//
// No noise is ever repeated, and no charge pays for two releases. A run that resumes from the file of a dead run is a
// new run: it reuses the saved releases, takes over the reservation, and charges what it makes. A release that was
// charged, but not saved before its run died, was never shown; it still counts (lost).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/ledger/ledger.hpp"
#include "common/ledger/noise_plan.hpp"
#include "common/ledger/run_file.hpp"
#include "common/ranks/silo_job.hpp"

namespace dpreduce {

/// Ledger and limit that releases are charged under, and the source of their noise.
struct Charging {
  std::string ledger_path;
  std::optional<DataSetBudget> limit = std::nullopt;  ///< of the data set, over all runs on this ledger
  std::optional<double> most_mu = std::nullopt;       ///< of all runs on it
  std::optional<std::uint64_t> seed = std::nullopt;   ///< of all noise, which then hides nothing; else it is secret
};

/// Every rank has one. The coordinator uses file and ledger. In a run among silos each silo uses its own ledger,
/// with the terms and the plan that it guarantees itself.
class ChargedRun {
 public:
  /// `terms` need neither adjacency nor is_private: plan and seed have them.
  ChargedRun(NoisePlan plan, RunFile file, Charging charging, RunTerms terms);
  /// Stops a run that has written on the ledger and not finished: releases the rest of its reservation, and removes its
  /// file if nothing is charged. A run that has written nothing removes the file that it created. An error on the way
  /// leaves the reservation as it is.
  ~ChargedRun();
  ChargedRun(const ChargedRun&) = delete;
  ChargedRun& operator=(const ChargedRun&) = delete;

  const NoisePlan& plan() const { return plan_; }
  const std::optional<std::uint64_t>& seed() const { return charging_.seed; }
  const std::optional<DataSetBudget>& limit() const { return charging_.limit; }
  /// Name of this run in the ledger.
  const std::string& run_id() const { return file_.run_id(); }
  /// Runs that it goes on from, oldest first.
  std::vector<std::string> runs_before() const;

  /// Checks that every saved release has its line on the ledger, and that what the plan may still charge can be
  /// reserved: nothing is written on the ledger before the first release. On the coordinator, before any release.
  /// Throws ResumeMismatch if a line is missing; as Ledger::check; then the run has stopped.
  void open();

  /// Head of the ledger when the run was opened.
  const LedgerHead& ledger_before() const { return ledger_before_; }

  /// Ends the run, whose result is on disk, and removes its file. On the coordinator. Precondition (asserted): all of
  /// the plan is charged or was, so that what is spent depends on nothing that was released.
  void finish();

  /// State of the ledger now. On a rank that writes it.
  const LedgerState& ledger() const { return ledger_.current(); }

  /// Returns whether the run can be resumed: whether it has saved releases. On the coordinator.
  bool can_be_resumed() const { return file_.saves() && charged_before() + charged_ > 0; }
  /// Text for a run that ends by an error: its charges, what happens to the rest of its reservation, and how to resume
  /// or give it up. One line, without a full stop.
  std::string way_to_resume() const;

  /// Begins one more round of a release, or the one round of a selection. On every rank.
  /// Throws std::logic_error where the plan has no more.
  void begin(const PlannedRelease& planned) { begin(planned.name, next_label(planned), planned.rounds); }
  void begin(const PlannedSelection& planned) { begin(planned.name, planned.name, 1); }
  /// Name of the round that was begun last: "gradient/3". The same on every rank.
  const std::string& label_of_begun() const { return label_; }
  /// Name that the next round of that release will have.
  std::string next_label(const PlannedRelease& planned) const;

  /// Reserves all that the plan may still charge, once. On a rank that charges. Throws as Ledger::reserve.
  void reserve();
  /// Makes room for a record of so many integers (RunFile::make_room).
  void make_room(std::uint64_t integers) const { file_.make_room(integers); }
  /// Charges the round that was begun last; returns the SHA-256 of its line. Throws as reserve and Ledger::append.
  /// Precondition (asserted): it was neither charged nor taken yet.
  std::string charge();
  /// Charges the round that was begun last, unless it is charged already; returns what it then charged. For a silo.
  /// Throws as charge. Precondition (asserted): a round has begun.
  std::optional<LedgerEntry> charge_begun();
  /// Saves the values that the round begun last has released, under its line.
  void save(const std::string& line_sha256, const NamedViews& blocks) { file_.save(label_, line_sha256, blocks); }
  /// Saves a decision that follows from the release before it.
  void save_decision(const std::string& name, const NamedViews& blocks) { file_.save(name, {}, blocks); }

  /// Number of releases and decisions that were saved as this run began. On the coordinator.
  std::size_t saved() const { return saved_; }
  /// Returns the next saved one: of the round that was begun last, which is then no longer to be charged, or of that
  /// decision. Throws BadInput if it is of another one.
  NamedIntegers take_saved(const std::string& label);

  /// Labels of releases that earlier runs have charged and nobody was shown: their processes died in between.
  const std::vector<std::string>& lost() const { return lost_; }

  /// Number of rounds of releases, and of selections, that have begun.
  std::uint64_t rounds_begun() const { return begun_; }
  /// Sets the number of silos left that charges report from here on.
  void set_silos_left(std::uint64_t left) { terms_.silos->left = left; }

 private:
  static constexpr std::string_view kRestStays = "; the others stay reserved";
  std::uint64_t planned_charges() const;
  std::uint64_t charged_before() const;
  std::string way_to_go_on(std::string_view has_charged, std::uint64_t charged, std::string_view rest) const;
  void begin(const std::string& name, std::string label, std::uint64_t planned_rounds);
  LedgerEntry entry_of_begun() const;
  bool is_saved(const std::string& label) const;
  Reservation rest();
  void check_saved(const LedgerState& state);
  void require_most_mu();

  NoisePlan plan_;
  RunFile file_;
  Charging charging_;
  mutable Ledger ledger_;  // to read it takes in new lines
  LedgerHead ledger_before_;
  RunTerms terms_;
  std::size_t saved_ = 0;  // records as this run began
  std::size_t taken_ = 0;  // of these
  std::vector<std::string> lost_;
  bool was_reserved_ = false;  // by the run that it goes on from
  bool has_reserved_ = false;
  bool has_finished_ = false;
  std::uint64_t charged_ = 0;  // by this run
  std::map<std::string, std::uint64_t, std::less<>> rounds_begun_;
  std::uint64_t begun_ = 0;
  std::string current_;  // the name of what was begun last
  std::string label_;    // of its round
  bool is_to_be_charged_ = false;
};

// A silo's own account of a run: it charges what it can answer for on a ledger of its own, before anything of its rows
// leaves it.
//
//     there is room for the whole plan in the silo's own budget   before the first pass over its rows
//     the whole plan is reserved, and the release charged, fsynced   before the first masked word of its first sum
//     each later release that was begun is charged, fsynced          before the first masked word of its first sum
//
// Nothing of it comes from the coordinator: the plan follows from the options that the silo was given itself, the run's
// name is made here and new each time, and how many silos are left does not enter. So a run that a coordinator loses,
// repeats or ends early has cost what this ledger says, and no more.
//
// Under distributed noise a charge holds against the coordinator and c silos: it is what this silo's share and those of
// t - c - 1 other honest ones guarantee (NoiseShares::guaranteed). Under central noise it is the planned one, and holds
// for readers of what is published, if the coordinator adds the noise; not against the coordinator.
//
// Attempts at one sum are charged once: they mask the same values, and of all attempts one at most is ever opened
// (SiloSession::sum).

/// The account of a run whose releases have noise, at a silo.
class SiloAccount {
 public:
  /// Checks that there is room for the whole plan. From here on every sum that leaves this silo belongs to a release
  /// that is charged. `job` and `run` outlive it. Throws as ChargedRun::open.
  SiloAccount(SiloJob& job, ChargedRun& run);
  ~SiloAccount();
  SiloAccount(const SiloAccount&) = delete;
  SiloAccount& operator=(const SiloAccount&) = delete;

  /// Marks the release that was begun last as made: until the next one is begun, only zeros leave.
  void close_release() { closed_ = run_.rounds_begun(); }

  /// Charges the release that was begun last, of which nothing leaves (Releaser::charge_unmade).
  void charge_unmade();

  /// Ends the account: this silo has taken part in all that the run releases. Throws as Ledger::end.
  void finish();

 private:
  void charge(std::span<const std::uint64_t> values);
  void charge_begun();
  void log_balance(const std::string& what) const;

  SiloJob& job_;
  ChargedRun& run_;
  std::uint64_t closed_ = 0;  // the number of rounds that had begun when the last release was made
  bool has_finished_ = false;
};

}  // namespace dpreduce
