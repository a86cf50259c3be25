// A run of silos as a job: rank 0 is the coordinator, without rows, rank i is silo i.
//
// Sums to the coordinator go masked (silos/masked_sum.hpp); broadcasts and numbers are public values. Operations that
// would reveal values of single silos are not offered, and calling them is a bug of this program, which Communicator
// finds, and this job after it: gathering labels, owners beside the coordinator, sums of doubles.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "common/ranks/communicator.hpp"
#include "common/silos/coordinator_session.hpp"
#include "common/silos/silo_session.hpp"

namespace dpreduce {

/// Makes the sessions of a program's parties; `wire` and the entry's log outlive them.
class SessionMaker {
 public:
  virtual ~SessionMaker() = default;
  virtual std::unique_ptr<CoordinatorSession> coordinator(Wire& wire, SiloEntry entry,
                                                          CoordinatorSession::OnLost on_lost) const {
    return std::make_unique<CoordinatorSession>(wire, std::move(entry), std::move(on_lost));
  }
  virtual std::unique_ptr<SiloSession> silo(Wire& wire, std::uint32_t number, SiloEntry entry) const {
    return std::make_unique<SiloSession>(wire, number, std::move(entry));
  }
};

class SiloJob final : public Job {
 public:
  /// Connects as rank `rank`. `wire` and the entry's log outlive the job. Throws as the sessions do.
  SiloJob(Wire& wire, int rank, SiloEntry entry, CoordinatorSession::OnLost on_lost, const SessionMaker& maker = {});

  /// Entry of this party into the run.
  const SiloEntry& entry() const { return silo_ ? silo_->entry() : coordinator_->entry(); }
  /// The run that this party takes part in.
  const RunId& run() const { return silo_ ? silo_->run() : coordinator_->run(); }
  /// At a silo: SiloSession::set_before_masking.
  void set_before_masking(SiloSession::BeforeMasking step) { silo_->set_before_masking(std::move(step)); }
  /// At a silo: SiloSession::refuse.
  void refuse(ExitCode code) { silo_->refuse(code); }
  /// Agrees on the noise plan before any sum: every remaining party has computed the plan of that digest itself.
  /// Collective. Throws AggregationAborted as the sessions do.
  void agree_on_plan(const PublicKey& plan);
  /// Session of the coordinator; null elsewhere.
  const CoordinatorSession* coordinator() const { return coordinator_.get(); }

  void check_peers() override;  // a failure is announced by the status message
  std::int64_t agree(std::int64_t verdict) override;
  void sum_to(int owner, std::span<std::uint64_t> values) override;
  void sum_everywhere(std::span<std::uint64_t> values) override;
  void sum_everywhere(std::span<double> values) override;
  void broadcast(std::span<std::byte> bytes) override;
  double max_everywhere(double value) override;
  void gather_to_coordinator(std::span<const std::byte> local, std::span<std::byte> all) override;
  Messages exchange(Messages messages) override;
  int ranks_on_machine() override;

 private:
  bool has_plan_ = false;
  std::unique_ptr<CoordinatorSession> coordinator_;
  std::unique_ptr<SiloSession> silo_;
};

}  // namespace dpreduce
