// A fit whose rows are neither in files that ranks read nor in their memory, but in the tasks of an engine that is not
// MPI: Dask, Spark, Ray. Such tasks may be retried, duplicated and merged in any order.
//
//     driver    TravelingPlan::made     ->  plan, to every worker
//               where the unit is a person, workers count first (traveling_persons.hpp):
//     worker    person_counts(plan, persons, partition)  ->  PersonCounts; they add up in any tree
//     driver    plan.counted(counts)    ->  the plan that goes to every worker
//     worker    partial_sum(plan, task, rows, partition)  ->  PartialSum; they add up in any tree
//     driver    FitSession: task() -> ... -> give(sum) -> task() -> ... -> finish()
//
// A session makes the same releases, charges and model, bit for bit, as fit() on one rank with all rows. Persons who
// are clipped must each lie in one partition for that: each partition clips them to its part of their rows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fit/fit.hpp"
#include "fit/partial_sum.hpp"
#include "fit/traveling_persons.hpp"
#include "methods/statistic_task.hpp"

namespace dpreduce {

/// The plan that all workers must know. It has the secret that opens the session's partial sums.
struct TravelingPlan {
  FitOptions options;                    ///< validated; no files, no outputs
  std::size_t dim = 0;                   ///< features of a row
  SumTicket ticket;                      ///< of its first step
  std::optional<PersonTable> persons{};  ///< once they are counted; none where the unit is a row

  /// For rows of `dim` features. With --rows-per-person the unit is a person. With --silos-per-person beside it each
  /// partition is a silo of an engine (masked_silo.hpp), which weighs its own rows, and nothing is counted. Throws
  /// UsageError where options contradict each other, where features and options do not fit, or where a fit cannot
  /// travel: with --secure-aggregation, with samples (--batch), with choices among settings (--choose) or public rows
  /// by training rows, with a long tail, resumed, or of a method whose ranks are silos.
  static TravelingPlan made(FitOptions options, std::size_t dim, std::size_t targets = 0);

  /// The same plan for rows that have been counted, in exactly the partitions of `counts`: its sums add up with those
  /// of no other plan. Throws UsageError where the unit is a row, persons are counted already, or partitions are silos;
  /// as PersonCounts::opened.
  TravelingPlan counted(const PersonCounts& counts) const;

  /// How many tasks a session has, each with a sum of its own: public, as the plan is.
  std::uint64_t tasks() const;

  /// Throws UsageError where the plan is not for so many silos of an engine, each of which weighs its own rows.
  void require_for_silos(std::uint64_t engine_silos) const;

  /// The bytes for workers that run the same version of the program. They are secret, as the ticket is.
  std::string to_bytes() const;
  /// Throws as PartialSum::from_bytes.
  static TravelingPlan from_bytes(const std::string& bytes);
};

/// A step's task, for workers. It is secret, as the plan is: it may hold the secret of digests of rows.
struct TravelingTask {
  std::array<std::uint8_t, 16> session{};  ///< of its plan
  std::uint64_t step = 0;
  StatisticTask task;

  /// The ticket of the task's sums.
  SumTicket ticket(const TravelingPlan& plan) const;

  std::string to_bytes() const;
  /// Throws as PartialSum::from_bytes.
  static TravelingTask from_bytes(const std::string& bytes);
};

/// The first task of every session of the plan, where that is taken at nothing. Throws UsageError where it has weights,
/// or the secret of a session, with it.
TravelingTask first_task(const TravelingPlan& plan);

/// The persons of one partition, of a plan whose unit is a person. Throws BadInput where the array holds no
/// identifiers; UsageError where the unit is a row or partitions are silos, and as PersonCounts::sealed.
PersonCounts person_counts(const TravelingPlan& plan, const ArrayView& persons, const std::string& partition);

/// The partial sum of one partition, whose rows are x (n x d) and y. A row must be in one partition. Throws BadInput as
/// open_fit and for_each_lattice_chunk; UsageError where the task is of another plan, where rows have persons and the
/// unit is a row or the other way round, where persons have not been counted or partitions are silos, and as
/// PartialSum::sealed and weights_of.
PartialSum partial_sum(const TravelingPlan& plan, const TravelingTask& task, const RowsInMemory& rows,
                       const std::string& partition, unsigned threads, const OnChunk& on_chunk);

/// The exact statistic of one partition, or of a silo, before it is sealed. Throws as partial_sum, but for its name.
Statistic partition_statistic(const TravelingPlan& plan, const TravelingTask& task, const RowsInMemory& rows,
                              const std::string& partition, unsigned threads, const OnChunk& on_chunk);

/// The driver's end: a fit that waits for the sums of its tasks. It belongs to the process that has started it: in a
/// forked one every call throws UsageError, and the destructor leaves ledger and run file alone. Threads may share it.
class FitSession {
 public:
  /// Charges as `fit` does, to `ledger`; without one accounts are kept elsewhere. With `partitions` each sum must hold
  /// exactly these; where the unit is a person it must hold exactly those that were counted. Returns when the first
  /// task is known. Throws as fit().
  FitSession(const TravelingPlan& plan, const std::optional<std::string>& ledger,
             std::optional<std::vector<std::string>> partitions);
  /// A session that has not ended stops; what was not charged is given back.
  ~FitSession();
  FitSession(const FitSession&) = delete;
  FitSession& operator=(const FitSession&) = delete;

  /// Task that is to be summed up next; nullopt when the fit has ended. Throws what has ended it before its end.
  std::optional<TravelingTask> task() const;

  /// The sum over all partitions for task(). Returns when the next task is known, or the fit has ended. Throws as
  /// PartialSum::opened and require_partitions, and UsageError where the fit has ended or another thread has given a
  /// sum for the task, after which the session is as it was. What fit() throws ends it, and is thrown by each later
  /// call.
  void give(const PartialSum& sum);

  /// The result. Throws UsageError before the fit has ended; what has ended it before its end.
  FittedRun& fitted();

 private:
  class Exchange;
  std::unique_ptr<Exchange> exchange_;
};

}  // namespace dpreduce
