// A Communicator's collectives run on a job: MPI's, threads of one process, or a run of silos.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/base/error.hpp"

namespace dpreduce {

/// Sum over ranks that has begun; this one was complete as soon as it began. The values must outlive it, and must not
/// be touched before wait() has returned. Its destructor waits for the sum to end, so a rank that fails in between
/// still takes part in what the others have begun.
class PendingSum {
 public:
  PendingSum() = default;
  PendingSum(const PendingSum&) = delete;
  PendingSum& operator=(const PendingSum&) = delete;
  virtual ~PendingSum() = default;

  /// Makes progress without waiting: MPI moves messages only while one of its functions runs. Not collective.
  virtual void advance() {}
  /// Returns when the owner has the sum and other ranks' values are zeroed. Throws AggregationAborted where a message
  /// fails.
  virtual void wait() {}
};

/// Job of ranks. All functions are collective, and mean what Communicator's functions of that name do.
class Job {
 public:
  virtual ~Job() = default;

  /// Announces to the other ranks that this one has failed, so that they stop working. Where jobs do not announce it,
  /// the others work on, and learn of it when they agree.
  virtual void announce_failure() {}
  /// Throws PeerFailed where another rank has announced its failure.
  virtual void check_peers() {}
  /// The smallest verdict of all ranks, on every rank.
  virtual std::int64_t agree(std::int64_t verdict) = 0;

  virtual void sum_to(int owner, std::span<std::uint64_t> values, std::size_t elements_per_message) = 0;
  virtual std::unique_ptr<PendingSum> start_sum_to(int owner, std::span<std::uint64_t> values,
                                                   std::size_t elements_per_message) {
    sum_to(owner, values, elements_per_message);
    return std::make_unique<PendingSum>();
  }
  virtual void sum_everywhere(std::span<std::uint64_t> values, std::size_t elements_per_message) = 0;
  virtual void sum_everywhere(std::span<double> values) = 0;
  virtual void broadcast(std::span<std::byte> bytes) = 0;
  virtual double max_everywhere(double value) = 0;
  virtual void gather_to_coordinator(std::span<const std::byte> local, std::span<std::byte> all) = 0;
  virtual std::vector<std::vector<std::uint64_t>> exchange(std::vector<std::vector<std::uint64_t>> messages) = 0;
  virtual int ranks_on_machine() = 0;
  /// Ends the other processes, as far as this job can: where it cannot, they notice that this one has ended. The caller
  /// ends its own process.
  virtual void abort(ExitCode) {}
};

/// The jobs of `size` ranks, each for a thread of its own. They share memory, and mean what MPI's do. A rank that has
/// gone away (its job is destroyed) leaves none waiting: collectives of the others throw PeerFailed from then on.
/// Precondition (asserted): size >= 1.
std::vector<std::unique_ptr<Job>> make_thread_jobs(int size);

}  // namespace dpreduce
