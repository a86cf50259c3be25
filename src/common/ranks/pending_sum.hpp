// A sum over ranks that is on its way while this rank works on.
#pragma once

namespace dpreduce {

/// The values of the sum belong to it until it has ended; they outlive it. Its end is the end of the sum: a rank that
/// fails in between waits for what the others have begun as well.
class PendingSum {
 public:
  PendingSum() = default;
  PendingSum(const PendingSum&) = delete;
  PendingSum& operator=(const PendingSum&) = delete;
  virtual ~PendingSum() = default;

  /// Lets it go on without waiting: messages move only while somebody looks after them. Not collective.
  virtual void advance() = 0;
  /// Returns when the owner has the sum and other ranks' values are zeroed. Throws AggregationAborted where a message
  /// fails.
  virtual void wait() = 0;
};

/// One that was over when it began.
class FinishedSum final : public PendingSum {
 public:
  void advance() override {}
  void wait() override {}
};

}  // namespace dpreduce
