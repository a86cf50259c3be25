// Training by rounds: every round releases a statistic at the coordinator's weights, and a step rule moves the weights.
//
//     W_(t-1) on the lattice, broadcast  ->  release there: gradient + noise  ->  step rule at the coordinator  ->  W_t
//
// Legend: W is K x d (d counts the intercept coordinate), T rounds, S = 32767, Z the length that residuals are clipped
// to. A released entry is the sum over rows in lattice units. Divided by unit = Lattice{Z, K}.scale() * Lattice{C,
// d}.scale() it is in feature units, with noise of known standard deviation s = sigma / unit: a smaller Z means less
// noise. Releases are sums, never means: no rule knows n, or the number of rows in a sample. On a Poisson sample at
// rate q the unit is q times the unit above: gradients are unbiased for the sum over all rows, and a step rule need not
// know about samples.
//
// A rule post-processes releases. The rule runs on the coordinator alone, so that W has the same bits for any number of
// ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "aggregator/solvers/isotropic_rule.hpp"
#include "aggregator/solvers/least_squares.hpp"
#include "aggregator/solvers/linear_scores.hpp"
#include "methods/registry.hpp"

namespace dpreduce {

/// Share of C^2 for the intercept coordinate of every row in rounds, unless the method's steps know its curvature.
inline constexpr double kInterceptShare = 0.1;

/// Largest change of a score by a step of bounded size. A class's weights then move by at most 20 / C, so that
/// probabilities can come close to 0 and 1, and return within a few rounds.
inline constexpr double kScoreReach = 20.0;

/// Reach of a method's steps: `usual` on log odds, 1 on squares, whose scores aim at 0 and 1. With the usual reach on
/// squares, the first tens of rounds overshoot.
inline double score_reach(Loss loss, double usual = kScoreReach) {
  return loss == Loss::kSquare ? 1.0 : usual;
}

/// Round as its step rule sees it.
struct NoisedRound {
  std::uint64_t round;     ///< t, from 1
  const Release& release;  ///< all that the round released; block "gradient", K x d, estimates the sum over all rows
  double unit;             ///< divisor that converts an entry of the block to feature units
  double& residual_norm;   ///< Z; a rule may set Z of the next round, above 0

  const ReleasedBlock& block() const { return release.block("gradient"); }
  /// Returns the block in feature units.
  std::vector<double> gradient() const { return in_units(block(), unit); }
  /// s: standard deviation of the noise of each entry of gradient(); 0 without noise.
  double sigma() const { return block().sigma() / unit; }
};

/// Curvature h = s sqrt(T) C / 0.9. With steps of length 1 / h the noise of all T rounds together moves a row's scores
/// by 0.9 standard deviations, for any d, K, T and budget. With much longer steps residuals respond to noise; with much
/// shorter steps weights stay near their start.
double curvature_of_noise(double sigma, std::uint64_t rounds, double clip_norm);

/// Step rule: from one round's release to the next weights. It replaces W_(t-1) in `weights` (K x d) by W_t, and is
/// called on the coordinator only, for t = 1, ..., T.
using StepRule = std::function<void(const NoisedRound& round, std::span<double> weights)>;

/// Settings of training by rounds.
struct RoundSettings {
  std::uint64_t rounds = 1;  ///< T
  Loss loss = Loss::kSoftmax;
  Iterate iterate = Iterate::kLast;
  bool choose = false;                       ///< among several iterates, `iterate` first
  std::optional<double> warm_start_share{};  ///< of mu^2, for class means that are released first; nullopt: none are
  double initial_score = 0.0;                ///< of every class and row at W_0, if rows have an intercept coordinate
  double residual_norm = 1.0;                ///< Z of the first round
  bool adapts = false;                       ///< Z follows the rows, by the block "sides"
  std::string_view release = "gradient";     ///< its block "gradient" is K x d
  double intercept_share = kInterceptShare;
  double sampling_rate = 1.0;             ///< q: a row enters a round by a coin of its own; 1: all do
  std::optional<double> learning_rate{};  ///< the user's; nullopt: the step rule's own
  std::optional<double> radius{};         ///< Frobenius norm that bounds W; nullopt: none
};

/// Returns the settings of rounds by `options`, with `default_rounds` rounds if `options` name no number. On samples at
/// rate q the default is 1 / q times as many, at most 400. With sigmoid loss every score starts at -10: most labels of
/// a class are 0 (a public constant; source: [mehta2023], Table 7).
RoundSettings round_settings(const FitOptions& options, std::uint64_t default_rounds);

/// Returns {"rounds", "loss", "residual_norm", "iterate", "intercept"}, with a warm start also "warm_start_share", on
/// samples also "batch", and "learning_rate" and "radius" if the user gave them. Used in reports, and in what a ledger
/// line is bound to.
nlohmann::json to_json(const RoundSettings& settings);

/// Returns the releases of a method whose own releases are `own`, rounds last. With a warm start, class means are
/// released before the rounds. Shares of `own` add up to 1, and so do those of the result. Rounds are sampled at the
/// rate of the settings.
std::vector<ReleaseRequest> with_warm_start(const RoundSettings& settings, const ReleaseTerms& terms,
                                            std::vector<ReleaseRequest> own);

/// Returns the coordinator's weights (K x d; those of other ranks are not used) on the lattice, at every rank. Cost: 2
/// K d bytes sent. Collective. Throws as LatticeWeights.
LatticeWeights shared_weights(TrainingRun& run, std::span<const double> weights);

/// Function that makes W_t from W_(t-1) at the coordinator; t from 1. Collective.
using Advance = std::function<void(std::uint64_t round, std::vector<double>& weights)>;

/// Returns the scores of W_T, of (W_1 + ... + W_T) / T, or of a chosen average of consecutive iterates, after T rounds
/// from W_0, which is zero except for the intercept's weights. With a `prior` a choice is by the scores of both heads.
/// The same on every rank. Collective. Throws what `advance` throws.
LinearScores iterate_rounds(TrainingRun& run, const RoundSettings& settings, const Advance& advance,
                            const Prior& prior = {});

/// Runs iterate_rounds with rounds of a release at W_(t-1) and a step. Collective. Throws as TrainingRun::release and
/// LatticeWeights; what the rule throws at the coordinator.
///
/// With a warm start class means are released first. Rounds then descend on -log((softmax(W q)_y + softmax(h)_y) / 2),
/// h the row's cosines to the means without their intercept coordinate, and the means become the scores' prototypes.
/// Source: [zhu2024], Algorithm 2 and Definition 2.4.
///
/// Cost: T passes over the rows; 8 K d bytes up and 2 K d bytes down a round, for a release of a gradient alone.
LinearScores train_in_rounds(TrainingRun& run, const RoundSettings& settings, const StepRule& rule);

/// Method that trains in rounds, with everything that follows from its settings. Unless it overrides them, its releases
/// are those that the settings name, of rows with an intercept, and it steps by the rule that `rule_of` makes.
class RoundsMethod : public TrainingMethod {
 public:
  using RuleOf = StepRule (*)(TrainingRun& run, const RoundSettings& settings);

  RoundsMethod(const FitOptions& options, const RoundSettings& settings, RuleOf rule_of = nullptr)
      : TrainingMethod(options), settings_(settings), rule_of_(rule_of) {}

  std::vector<ReleaseRequest> requests(ReleaseTerms terms) const override;
  nlohmann::json settings() const override;
  /// Number of iterates that train_in_rounds has to choose among.
  std::size_t candidates() const override;
  std::optional<Loss> loss() const override { return settings_.loss; }
  /// Score at which a class is as likely as not: 0 for sigmoids, 1/2 for least squares, nullopt for softmax.
  std::optional<double> threshold() const override;
  /// Function of a score that the loss uses as a class's probability; nullopt for squares.
  std::optional<Link> link() const override;
  LinearScores train(TrainingRun& run) const override;

 protected:
  RoundSettings settings_;

 private:
  RuleOf rule_of_;
};

/// Returns a method of `default_rounds` rounds, unless the user sets another number, that steps by `rule_of`.
template <std::uint64_t default_rounds, RoundsMethod::RuleOf rule_of>
std::unique_ptr<TrainingMethod> make_rounds(const FitOptions& options) {
  return std::make_unique<RoundsMethod>(options, round_settings(options, default_rounds), rule_of);
}

// Step of noisy gradient descent: on the rows of all ranks, and of each silo in federated averaging.
//
//     W_t = P_R(W_(t-1) - eta_t (gradient(W_(t-1)) + noise))        P_R: the nearest W with |W|_F <= R
//
// eta_t is the user's constant, or eta_t = 1 / sqrt(h^2 + sum_(r <= t) max(|g_r|_F^2 - K d s^2, 0) / D^2). The latter
// is AdaGrad-Norm on the part of the noised gradients g_r that is not noise: the share K d s^2 of the noise is known.
// The curvature h of all future noise (gradient_rounds.hpp) replaces AdaGrad's epsilon. If noise dominates, steps are
// equal and T rounds add up to one release of class means with the whole budget. If the signal dominates, the first
// step has length D. Averaging the weights of P descents averages their noise as well: h is then that of s / sqrt(P).
//
// With an adaptive bound Z follows the rows, so that errors on small classes keep their weight beside those on large
// classes:
//
//     Z_1 = 1,  Z_(t+1) = Z_t exp(b - 0.1)    b: the released share of rows whose residual was longer than Z_t
//
// Source of the bound: [esipova2023], the algorithm of its title. Departures: all rows in every round, as without the
// bound; the share comes from the released counts of rows on both sides, while the source has a public batch size;
// 0.001 <= Z <= 2 (no residual of a softmax is longer than sqrt(2)); the step above. Source of the step: [ward2019].

/// Number of rounds of descent, unless the user sets another one.
inline constexpr std::uint64_t kDescentRounds = 300;

/// Returns the rule of descent, as in the equations above, for the T steps of `settings` on the run's rows as they are
/// prepared now.
StepRule descent_rule(TrainingRun& run, const RoundSettings& settings);
/// Returns the same for P = `averaged` descents whose weights are averaged.
StepRule averaged_descent_rule(TrainingRun& run, const RoundSettings& settings, std::size_t averaged);

// Class means instead of rounds, if rows spread evenly over directions (aggregator/solvers/isotropic_rule.hpp).
//
//     release "isotropy"  ->  class means?  ->  T rounds at W = 0, whose sum is that of class sums and sizes  -> scores
//
// The noise plan and the charges are those of rounds for either result: both are decided before any row is read.

/// Returns whether class means may replace rounds: if rows have one class each, the loss is softmax, and the result is
/// W_T, without --choose, --warm-start or an average of iterates.
bool may_take_means(const FitOptions& options);

/// Returns the forecast by the plan of resolved `options` for `rows` rows; nullopt if no release tests how rows spread.
std::optional<MeansForecast> forecast_of_means(const FitOptions& options, const FitPlan& plan, double rows);

/// Releases "isotropy", which has `share` of the method's mu^2. Returns the approximate number of rows if the rows suit
/// class means, else nullopt; the same on every rank. Collective. Throws as TrainingRun::release.
std::optional<double> rows_for_means(TrainingRun& run, double share);

/// Makes the rounds of `settings` at W = 0, and returns the scores of the class means that they add up to. `count` is
/// the result of rows_for_means. Precondition (asserted): rows have an intercept. Collective. Throws as
/// train_in_rounds.
LinearScores train_by_means(TrainingRun& run, const RoundSettings& settings, double count);

}  // namespace dpreduce
