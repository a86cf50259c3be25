// Audits of two worlds, and the attacks that learn to distinguish them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace dpreduce {

// Two attacks that do not know the mechanism: they learn from runs in both worlds to tell the worlds apart.
//
// Legend: x is what one run publishes, p numbers, each scaled by its mean and standard deviation over both worlds;
// m_w and C_w are mean and covariance of x in world w, I the identity.
//
//     linear       score = (m_1 - m_0)^T ((C_0 + C_1) / 2 + r I)^-1 x                     (Fisher's discriminant)
//     quadratic    score = q_0(x) - q_1(x),  q_w = (x - m_w)^T (C_w + r I)^-1 (x - m_w)
//
// The linear one is the best there is where noise is Gaussian and equal in both worlds, as ours is meant to be. The
// quadratic one sees what a canary does to variances and correlations. With r = 1e-9 a combination of numbers that has
// no noise in it (noise that is shared, or absent) separates the worlds completely.
//
// Both are computed in an orthonormal basis of the span of the n runs that are learned from, if p > n. This changes no
// score: the linear direction lies in the span, and the part of x that is orthogonal to it adds the same to q_0 and
// q_1.

/// Published numbers of runs: as many of each run.
using Runs = std::vector<std::vector<double>>;

enum class Discriminant { kLinear, kQuadratic };

/// An attack that has been learned. High scores speak for world 1.
class Attack {
 public:
  /// Learns from n_0 and n_1 runs. Preconditions (asserted): at least two runs of each world, of the same length p.
  /// Cost: n p k + k^3, n = n_0 + n_1, k = min(n, p).
  Attack(Discriminant discriminant, const Runs& world_0, const Runs& world_1);

  /// Scores, one a run. Precondition (asserted): of length p.
  std::vector<double> scores(const Runs& runs) const;

 private:
  std::vector<double> scaled(const Runs& runs) const;       // row by row
  std::vector<double> coordinates(const Runs& runs) const;  // that the discriminants see
  std::vector<double> squared_distances(const std::vector<double>& seen, int world) const;

  Discriminant discriminant_;
  std::vector<double> center_;
  std::vector<double> scale_;  // 1 / standard deviation
  std::vector<double> basis_;  // n x p; empty where p <= n
  std::vector<double> direction_;
  std::vector<double> means_[2];
  std::vector<double> covariances_[2];
};

// The audit by many runs: a private method on one data set and on its neighbor, again and again.
//
// A run is observed as numbers, some of which an attack is learned from, and some of which are scores of an attack that
// needs no learning. The runs of each world are cut in three: a quarter to learn the attacks, a quarter to
// choose attack and threshold, and half to count its hits on. Nothing that is counted was seen before it was counted.

/// World of a run: one of two neighboring data sets.
enum class World { kWithoutCanary, kWithCanary };

/// One run in this many is learned from: the first ones.
inline constexpr std::size_t kShareToLearn = 4;

/// Use that attacks make of columns of an observation.
enum class ViewKind {
  kNumbers,  ///< attacks are learned from them
  kScore     ///< one column that is an attack's score already: high values speak for the canary
};

/// Columns that are looked at together. The fewer, the fewer runs it takes to learn from them.
struct View {
  std::size_t first = 0;
  std::size_t columns = 0;
  ViewKind kind = ViewKind::kNumbers;
};

/// A private method on two neighboring data sets, ready to be run. One thread at a time.
class AuditedRun {
 public:
  virtual ~AuditedRun() = default;

  /// Makes one run, with noise of its own. Returns everything that it publishes, as numbers, always the same length.
  virtual std::vector<double> observe(World world) = 0;

  /// Views that are attacked.
  virtual std::vector<View> views() const = 0;
};

/// Makes the run of one thread.
using AuditedRunFactory = std::function<std::unique_ptr<AuditedRun>()>;

struct TwoWorldTerms {
  std::size_t runs_per_world = 0;
  double delta = 0.0;
  double error = 0.0;  ///< probability that any of the bounds is false, half of it for each
  unsigned threads = 1;
};

/// Losses that the runs prove. A bound is 0 if they prove nothing.
struct ProvenLoss {
  double epsilon = 0.0;  ///< at terms.delta, whatever the mechanism
  double mu = 0.0;       ///< for a mechanism that claims to be mu-GDP
};

/// The runs of one world as rows. `factory` is called once a thread. Throws what a run throws.
Runs observe_runs(const AuditedRunFactory& factory, World world, std::size_t runs, unsigned threads);

/// Attacks each view, and returns what the runs prove. Preconditions (asserted): at least 12 runs a world; 0 < error <
/// 1; 0 <= delta < 1; as many numbers in each run; at least one view, of columns that are there, one where it is a
/// score.
ProvenLoss proven_loss(const Runs& world_0, const Runs& world_1, const std::vector<View>& views, double delta,
                       double error);

/// proven_loss of `runs_per_world` runs in each world.
ProvenLoss audit_two_worlds(const AuditedRunFactory& factory, const TwoWorldTerms& terms);

}  // namespace dpreduce
