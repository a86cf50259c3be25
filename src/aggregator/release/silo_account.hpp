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
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "aggregator/release/charged_run.hpp"
#include "common/ranks/silo_job.hpp"

namespace dpreduce {

/// The account of a run whose releases have noise, at a silo.
class SiloAccount {
 public:
  /// Checks that there is room for the whole plan. From here on every sum that leaves this silo belongs to a release
  /// that is charged. `job` and `run` outlive it. Throws as ChargedRun::open.
  SiloAccount(SiloJob& job, ChargedRun& run, std::optional<DataSetBudget> limit);
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
  std::optional<DataSetBudget> limit_;
  std::uint64_t closed_ = 0;  // the number of rounds that had begun when the last release was made
  bool has_finished_ = false;
};

}  // namespace dpreduce
