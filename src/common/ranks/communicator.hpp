// The ranks of one job, and how they fail together.
//
// Legend: P ranks, numbered from 0; rank 0 is the coordinator. Without a launcher the job is this process alone, P = 1,
// and MPI is not started at all.
//
// Failing together: fallible work runs inside `together`. A rank that fails inside it informs the others at once; they
// notice at their next `check_peers`, between two chunks, or when they reach the end of the phase. All ranks then agree
// on the failing rank with the lowest number and its exit code: that rank's error goes on to be printed, the others end
// silently with the same code.
//
// Kinds of jobs (class Job): MPI's collectives among ranks that trust each other; the same among threads of one process
// (on_threads); and a run of silos (silo_job.hpp), in which the coordinator has no rows, sums are masked, and
// silos may drop out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"

namespace dpreduce {

// A Communicator's collectives run on a job: a lone rank's, MPI's, threads of one process, or a run of silos.

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
  Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  virtual ~Job() = default;

  /// Announces to the other ranks that this one has failed, so that they stop working. Where jobs do not announce it,
  /// the others work on, and learn of it when they agree.
  virtual void announce_failure() {}
  /// Throws PeerFailed where another rank has announced its failure.
  virtual void check_peers() {}
  /// The smallest verdict of all ranks, on every rank.
  virtual std::int64_t agree(std::int64_t verdict) = 0;

  virtual void sum_to(int owner, std::span<std::uint64_t> values) = 0;
  virtual std::unique_ptr<PendingSum> start_sum_to(int owner, std::span<std::uint64_t> values) {
    sum_to(owner, values);
    return std::make_unique<PendingSum>();
  }
  virtual void sum_everywhere(std::span<std::uint64_t> values) = 0;
  virtual void sum_everywhere(std::span<double> values) = 0;
  virtual void broadcast(std::span<std::byte> bytes) = 0;
  virtual double max_everywhere(double value) = 0;
  virtual void gather_to_coordinator(std::span<const std::byte> local, std::span<std::byte> all) = 0;
  using Messages = std::vector<std::vector<std::uint64_t>>;
  virtual Messages exchange(Messages messages) = 0;
  virtual int ranks_on_machine() = 0;
  /// Ends the other processes, as far as this job can: where it cannot, they notice that this one has ended. The caller
  /// ends its own process.
  virtual void abort(ExitCode) {}
};

class SiloJob;
class Communicator;

/// Ranks that trust each other's messages (rank_archive.hpp lists what these contain). Silos give no such object.
class TrustedRanks {
 public:
  /// The coordinator's message, known to every rank. Collective.
  std::string broadcast(std::string message);
  /// Each rank's message in rank order, at the coordinator; empty elsewhere. Collective.
  std::vector<std::string> gather(std::string_view message);

 private:
  friend class Communicator;
  explicit TrustedRanks(Communicator& ranks) : ranks_(ranks) {}
  Communicator& ranks_;
};

class Communicator {
 public:
  /// Joins the job that launched this process (mpirun, srun with PMI or PMIx), or a job of one. Where MPI runs already,
  /// started by the program or by an earlier join, it is used and left to whoever started it. Collective. Throws
  /// AggregationAborted where MPI does not start, or has ended; UsageError where the job is this process alone, and a
  /// launcher says that it has started several (require_single_process); PeerFailed on every rank, once rank 0 has told
  /// why, where some ranks were started as parties of a run among silos and others were not. `doubt` is the reason why
  /// this process may be such a party itself, and so must not trust rank 0. If any rank has a doubt, the lowest such
  /// rank prints it, and all throw PeerFailed.
  static Communicator join(const std::string& doubt = {});
  /// A job of this process alone.
  static Communicator alone();
  /// Runs `work` on each of `size` ranks that are threads of this process, and returns when all of them have ended. The
  /// ranks share memory, and mean what MPI's do. A rank that has gone away leaves none waiting: collectives of the
  /// others throw PeerFailed from then on. Throws what `work` has thrown on the lowest rank that threw its own error.
  /// Precondition (asserted): size >= 1.
  static void on_threads(int size, const std::function<void(Communicator&)>& work);
  /// The coordinator (rank 0) or a silo of a run that has begun.
  static Communicator among_silos(std::unique_ptr<SiloJob> job, int rank, int size);

  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) noexcept;
  ~Communicator();  ///< leaves the job; MPI ends where `join` has started it

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_coordinator() const { return rank_ == 0; }
  /// Number of ranks, from 0 on, that may own sums: all, but only the coordinator among silos.
  int owners() const { return silos_ == nullptr ? size_ : 1; }
  /// The run of silos that this job is; null in others.
  const SiloJob* silos() const { return silos_; }
  SiloJob* silos() { return silos_; }

  /// Runs `work` on every rank and returns when all have succeeded. Collective. Where any failed, throws on every rank:
  /// its own error on the lowest failing rank, PeerFailed on the others. Where `work` has thrown here, this throws,
  /// whatever the others say; among silos a rank's own error is always what it throws. `work` must not call a
  /// collective.
  void together(const std::function<void()>& work);
  /// The same of work that the coordinator alone has. Collective.
  void at_coordinator(const std::function<void()>& work);

  /// Throws PeerFailed where another rank has failed. Cheap; call it between chunks of long work inside `together`.
  void check_peers() { job_->check_peers(); }

  /// values <- sum over ranks, at rank `owner`; in Z mod 2^64, so no order of ranks can change a bit. Elsewhere
  /// `values` is zeroed, so that no rank keeps its part. Any length. Collective; every rank's length and owner must be
  /// the same. Precondition (asserted): 0 <= owner < owners(). Throws AggregationAborted where a message fails. Among
  /// silos the sum is over those that have not been lost.
  void sum_to(int owner, std::span<std::uint64_t> values);

  /// Begins sum_to and returns at once; among silos, after it. Collective; every rank begins the same sums in the same
  /// order, and other collectives may come before their end.
  std::unique_ptr<PendingSum> start_sum_to(int owner, std::span<std::uint64_t> values);

  /// sum_to the coordinator.
  void sum_to_coordinator(std::span<std::uint64_t> values) { sum_to(0, values); }

  /// values <- sum over ranks, as sum_to makes it, on every rank.
  void sum_everywhere(std::span<std::uint64_t> values) { job_->sum_everywhere(values); }

  /// Sums of doubles, for figures that need not be exact (diagnostics). The order of ranks may change their last bits.
  /// Not among silos: such sums have no masks.
  void sum_everywhere(std::span<double> values);

  /// The coordinator's values, known to every rank. Collective. Among silos throws AggregationAborted where one is not
  /// finite.
  void broadcast(std::span<double> values);

  /// The coordinator's bytes, known to every rank. Collective.
  void broadcast(std::span<std::byte> bytes) { job_->broadcast(bytes); }

  /// The ranks as parties that believe each other's messages. Precondition (asserted): not among silos.
  TrustedRanks trusted();

  /// Largest value over ranks, known to every rank. For public values only (timings, file checks). Collective.
  double max_everywhere(double value) { return job_->max_everywhere(value); }

  /// Each rank's `local` in rank order, at the coordinator; empty elsewhere. Not among silos. Collective.
  std::vector<std::int32_t> gather_to_coordinator(std::span<const std::int32_t> local);
  /// The same of bytes into `all`, which at the coordinator is as long as those of all ranks together (asserted) and
  /// elsewhere stays as it is. Not among silos. Collective.
  void gather_to_coordinator(std::span<const std::byte> local, std::span<std::byte> all);

  /// messages[r] goes to rank r; returns what every rank has sent to this one, in rank order. Not among silos.
  /// Precondition (asserted): one message a rank. Collective. Throws AggregationAborted where a message fails.
  Job::Messages exchange(Job::Messages messages);

  /// Number of ranks of the job on this rank's machine, itself included: those that share its memory. Collective.
  int ranks_on_machine() { return job_->ranks_on_machine(); }

  /// Returns whether the ranks have agreed on a failure: then all of them are on their way out.
  bool failure_agreed() const { return failure_agreed_; }

  /// Ends the whole job at once with `code`. For a failure outside `together`: there the other ranks would wait for
  /// this one in vain.
  [[noreturn]] void abort(ExitCode code);

 private:
  friend class TrustedRanks;
  Communicator(std::unique_ptr<Job> job, int rank, int size);
  std::vector<std::size_t> lengths_of_ranks(std::size_t own);

  std::unique_ptr<Job> job_;
  SiloJob* silos_ = nullptr;  // the same object, where the job is a run of silos
  int rank_ = 0;
  int size_ = 1;
  bool failure_agreed_ = false;
};

}  // namespace dpreduce
