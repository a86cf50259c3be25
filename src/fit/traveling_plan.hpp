// Fit whose rows are neither in files that ranks read nor in their memory, but in the tasks of an engine that is not
// MPI: Dask, Spark, Ray. Such tasks may be retried, duplicated and merged in any order.
//
//     driver    TravelingPlan::made     ->  plan, to every worker
//               if the unit is a person, workers count first:
//     worker    person_counts(plan, persons, partition)  ->  PersonCounts; they add up in any tree
//     driver    plan.counted(counts)    ->  the plan that goes to every worker
//     worker    partial_sum(plan, task, rows, partition)  ->  PartialSum; they add up in any tree
//     driver    FitSession: task() -> ... -> give(sum) -> task() -> ... -> finish()
//
// A session makes the same releases, charges and model, bit for bit, as fit() on one rank with all rows. For that, all
// rows of a person who is clipped must be in one partition: each partition clips persons to its part of their rows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/ledger/statistic.hpp"
#include "fit/fit.hpp"
#include "fit/partial_sum.hpp"
#include "methods/statistic_task.hpp"

namespace dpreduce {

/// Plan that all workers must know. It has the secret that opens the session's partial sums.
struct TravelingPlan {
  FitOptions options;                    ///< validated; no files, no outputs
  std::size_t dim = 0;                   ///< features of a row
  SumTicket ticket;                      ///< of its first step
  std::optional<PersonTable> persons{};  ///< once they are counted; nullopt if the unit is a row

  /// Makes the plan for rows of `dim` features. With --rows-per-person the unit is a person. With --silos-per-person as
  /// well, each partition is a silo of an engine (masked_silo.hpp), which weighs its own rows, and nothing is counted.
  /// Throws UsageError if options contradict each other, if features and options do not fit, or if a fit cannot be
  /// split into partial sums: with --secure-aggregation, with samples (--batch), with choices among settings (--choose)
  /// or public rows by training rows, with public or validation rows, with weights of rows, with a long tail, resumed,
  /// or of a method whose ranks are silos.
  static TravelingPlan made(FitOptions options, std::size_t dim, std::size_t targets = 0);

  /// Returns the same plan for rows that have been counted, in exactly the partitions of `counts`. Its sums do not add
  /// up with those of any other plan. Throws UsageError if the unit is a row, if persons are already counted, or if
  /// partitions are silos; throws as PersonCounts::opened.
  TravelingPlan counted(const PersonCounts& counts) const;

  /// Number of tasks of a session, each with a sum of its own. The number is public, as the plan of the fit is.
  std::uint64_t tasks() const;

  /// Throws UsageError if the plan does not suit `engine_silos` silos of an engine, each of which weighs its own rows.
  void require_for_silos(std::uint64_t engine_silos) const;

  /// Returns the bytes for workers that run the same version of the program. They are secret, as the ticket is.
  std::string to_bytes() const;
  /// Throws as PartialSum::from_bytes.
  static TravelingPlan from_bytes(const std::string& bytes);
};

/// Task of a step, for workers. It is secret, as the plan is: it may hold the secret of digests of rows.
struct TravelingTask {
  std::array<std::uint8_t, 16> session{};  ///< of its plan
  std::uint64_t step = 0;
  StatisticTask task;

  /// Returns the ticket of the task's sums.
  SumTicket ticket(const TravelingPlan& plan) const;

  std::string to_bytes() const;
  /// Throws as PartialSum::from_bytes.
  static TravelingTask from_bytes(const std::string& bytes);
};

/// Returns the first task of every session of the plan, if that task needs no public point. Throws UsageError if the
/// task needs weights, or the secret of a session.
TravelingTask first_task(const TravelingPlan& plan);

/// Counts the persons of one partition, for a plan whose unit is a person. Throws BadInput if the array holds no
/// identifiers; UsageError if the unit is a row, persons are already counted or partitions are silos; and as
/// PersonCounts::sealed.
PersonCounts person_counts(const TravelingPlan& plan, const ArrayView& persons, const std::string& partition);

/// Returns the partial sum of one partition, whose rows are x (n x d) and y. Precondition: each row is in one
/// partition. Throws BadInput as open_fit and for_each_lattice_chunk. Throws UsageError if the task belongs to another
/// plan, if rows have persons and the unit is a row or the other way round, if persons have not been counted, or if
/// partitions are silos. Throws as PartialSum::sealed and weights_of.
PartialSum partial_sum(const TravelingPlan& plan, const TravelingTask& task, const RowsInMemory& rows,
                       const std::string& partition, unsigned threads, const OnChunk& on_chunk);

/// Returns the exact statistic of one partition, or of a silo, before it is sealed. Throws as partial_sum, except for
/// the partition's name.
Statistic partition_statistic(const TravelingPlan& plan, const TravelingTask& task, const RowsInMemory& rows,
                              const std::string& partition, unsigned threads, const OnChunk& on_chunk);

/// Driver's end of the protocol: a fit that waits for the sums of its tasks. A session belongs to the process that
/// started it: in a forked process every call throws UsageError, and the destructor leaves ledger and run file alone.
/// Threads may share it.
class FitSession {
 public:
  /// Charges as `fit` does, to `ledger`; without a ledger accounts are kept elsewhere. With `partitions` each sum must
  /// hold exactly these partitions. If the unit is a person, each sum must hold exactly the partitions that were
  /// counted. Returns once the first task is known. Throws as fit().
  FitSession(const TravelingPlan& plan, const std::optional<std::string>& ledger,
             std::optional<std::vector<std::string>> partitions);
  /// Stops a session that has not ended; the budget that was not charged is released.
  ~FitSession();
  FitSession(const FitSession&) = delete;
  FitSession& operator=(const FitSession&) = delete;

  /// Returns the task to sum up next; nullopt once the fit has ended. Throws the error that ended the fit early.
  std::optional<TravelingTask> task() const;

  /// Takes the sum over all partitions for task(). Returns once the next task is known, or the fit has ended. Throws as
  /// PartialSum::opened and require_partitions, and UsageError if the fit has ended or another thread has given a sum
  /// for the task; after these errors the session is unchanged. An error of fit() ends the session, and each later call
  /// throws it.
  void give(const PartialSum& sum);

  /// Returns the result. Throws UsageError before the fit has ended, or the error that ended the fit early.
  FittedRun& fitted();

 private:
  class Exchange;
  std::unique_ptr<Exchange> exchange_;
};

}  // namespace dpreduce
