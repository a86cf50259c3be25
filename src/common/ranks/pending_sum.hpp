// A sum over ranks that is on its way while this rank works on.
#pragma once

namespace dpreduce {

/// A sum over ranks that has begun. The values must outlive it, and must not be touched before wait() has returned. Its
/// destructor waits for the sum to end, so a rank that fails in between still takes part in what the others have begun.
class PendingSum {
 public:
  PendingSum() = default;
  PendingSum(const PendingSum&) = delete;
  PendingSum& operator=(const PendingSum&) = delete;
  virtual ~PendingSum() = default;

  /// Makes progress without waiting: MPI moves messages only while one of its functions runs. Not collective.
  virtual void advance() = 0;
  /// Returns when the owner has the sum and other ranks' values are zeroed. Throws AggregationAborted where a message
  /// fails.
  virtual void wait() = 0;
};

/// A sum that was complete as soon as it began.
class FinishedSum final : public PendingSum {
 public:
  void advance() override {}
  void wait() override {}
};

}  // namespace dpreduce
