// The audit by many runs: a private method on one data set and on its neighbour, again and again.
//
// The runs of each world are cut in three: a quarter to learn the attacks (attack.hpp), a quarter to choose attack and
// threshold, and half to count its hits on. Nothing that is counted was seen before it was counted.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dpreduce/audit/attack.hpp"

namespace dpreduce {

/// Which of two neighbouring data sets a run gets.
enum class World { kWithoutCanary, kWithCanary };

/// A private method on two neighbouring data sets, ready to be run. One thread at a time.
class AuditedRun {
 public:
  virtual ~AuditedRun() = default;

  /// One run, with noise of its own: everything that it publishes, as numbers. Always the same length.
  virtual std::vector<double> observe(World world) = 0;

  /// How many of these numbers, from the first, sum up the run. Attacks are also learnt from them alone: the fewer
  /// numbers, the fewer runs it takes.
  virtual std::size_t summary() const = 0;
};

/// Makes the run of one thread.
using AuditedRunFactory = std::function<std::unique_ptr<AuditedRun>()>;

struct TwoWorldTerms {
  std::size_t runs_per_world = 0;
  double delta = 0.0;
  double error = 0.0;  ///< probability that any of the bounds is false, half of it for each
  unsigned threads = 1;
};

/// What the runs prove. A bound is 0 where they prove nothing.
struct ProvenLoss {
  double epsilon = 0.0;  ///< at terms.delta, whatever the mechanism
  double mu = 0.0;       ///< for a mechanism that claims to be mu-GDP
};

/// The runs of one world as rows. `factory` is called once a thread. Throws what a run throws.
Runs observe_runs(const AuditedRunFactory& factory, World world, std::size_t runs, unsigned threads);

/// What the runs prove, by attacks on all columns and on the first `summary` ones. Preconditions (asserted): at least
/// 12 runs a world; 0 < error < 1; 0 <= delta < 1; as many numbers in each run, and 1 <= summary <= that many.
ProvenLoss proven_loss(const Runs& world_0, const Runs& world_1, std::size_t summary, double delta, double error);

/// proven_loss of `runs_per_world` runs in each world.
ProvenLoss audit_two_worlds(const AuditedRunFactory& factory, const TwoWorldTerms& terms);

}  // namespace dpreduce
