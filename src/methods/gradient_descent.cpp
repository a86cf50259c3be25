// NoisyGD: full-batch gradient descent on noised sums.
//
//     W_t = P_R(W_(t-1) - eta_t (gradient(W_(t-1)) + noise))        P_R: the nearest W with |W|_F <= R
//
// eta_t is the user's constant, or eta_t = 1 / sqrt(h^2 + sum_(r <= t) max(|g_r|_F^2 - K d s^2, 0) / D^2): AdaGrad-Norm
// of what the noised gradients g_r hold beside noise, whose share K d s^2 is known, with the curvature h of all the
// noise that will come (gradient_rounds.hpp) in place of its epsilon. Where noise rules, steps are equal and T rounds
// add up to one release of class means with the whole budget; where the signal rules, a first step is as long as D.
// T = 1 is the one-step form.
//
// With --method global-adapt residuals are scaled by 1 / Z instead of clipped to 1, and only what is longer than Z is
// clipped, so that errors on small classes keep their weight beside those on large ones:
//
//     Z_1 = 1,  Z_(t+1) = Z_t exp(b - 0.1)    b: the released share of rows whose residual was longer than Z_t
//
// Source of it: Esipova et al. 2023, DPSGD-Global-Adapt. Departures: all rows in every round, as in gd; the share is of
// the released counts of rows on both sides, where theirs has a public batch size; 0.001 <= Z <= 2 (no residual of a
// softmax is longer than sqrt(2)); steps are gd's.
// Source: paper 004, eq. (2.1) and (3.2), whose noise stands outside the step and whose bound on |g| is assumed; ours
// is inside, and enforced. Ward, Wu and Bottou 2019 for the step.
#include <algorithm>
#include <cmath>
#include <optional>

#include <nlohmann/json.hpp>

#include "dpreduce/methods/gradient_rounds.hpp"
#include "dpreduce/methods/training_method.hpp"

namespace dpreduce {
namespace {

constexpr std::uint64_t kRounds = 300;
// D = 20 sqrt(K) / C: a first step that moves every class alike changes a score by up to 20, so that probabilities can
// come close to 0 and 1, and turn back in some tens of rounds.
constexpr double kScoreReach = 20.0;

constexpr double kAimedShare = 0.1;
constexpr double kSmallestNorm = 1e-3;
constexpr double kLargestNorm = 2.0;

/// What a round clips residuals to.
enum class Bound { kOne, kAdaptive };

struct DescentSettings {
  Bound bound = Bound::kOne;
  std::optional<double> learning_rate;
  std::optional<double> radius;
};

class DescentStep : public StepRule {
 public:
  DescentStep(const DescentSettings& settings, std::uint64_t rounds, std::size_t classes, double clip_norm)
      : settings_(settings),
        rounds_(rounds),
        clip_norm_(clip_norm),
        reach_(kScoreReach * std::sqrt(static_cast<double>(classes)) / clip_norm) {}

  double residual_norm() const override { return residual_norm_; }

  void step(const NoisedRound& round, std::span<double> weights) override {
    if (settings_.bound == Bound::kAdaptive) adapt(round.release.block("sides").values());
    const double noise = static_cast<double>(round.gradient.size()) * round.sigma * round.sigma;
    squares_ += std::max(squared_norm(round.gradient) - noise, 0.0);
    const double curvature =
        std::hypot(curvature_of_noise(round.sigma, rounds_, clip_norm_), std::sqrt(squares_) / reach_);
    if (curvature == 0.0) return;  // no rows and no noise
    const double rate = settings_.learning_rate.value_or(1.0 / curvature);
    for (std::size_t e = 0; e < weights.size(); ++e) weights[e] -= rate * round.gradient[e];
    if (!settings_.radius) return;
    const double norm = std::sqrt(squared_norm(weights));
    if (norm <= *settings_.radius) return;
    for (double& entry : weights) entry *= *settings_.radius / norm;
  }

 private:
  void adapt(std::span<const std::int64_t> sides) {
    const double within = std::max(static_cast<double>(sides[0]), 0.0);
    const double beyond = std::max(static_cast<double>(sides[1]), 0.0);
    const double share = beyond / std::max(within + beyond, 1.0);
    residual_norm_ = std::clamp(residual_norm_ * std::exp(share - kAimedShare), kSmallestNorm, kLargestNorm);
  }

  DescentSettings settings_;
  double residual_norm_ = 1.0;  // Z
  std::uint64_t rounds_;
  double clip_norm_;
  double reach_;          // D
  double squares_ = 0.0;  // of gradients so far, without their noise
};

class GradientDescentMethod : public TrainingMethod {
 public:
  GradientDescentMethod(const FitOptions& options, Bound bound)
      : settings_(round_settings(options, kRounds)), descent_{bound, options.learning_rate, options.radius} {
    if (bound == Bound::kAdaptive) settings_.release = "adaptive_gradient";
  }

  std::string_view name() const override { return descent_.bound == Bound::kOne ? "gd" : "global-adapt"; }

  std::vector<ReleaseRequest> requests(ReleaseTerms terms) const override {
    ++terms.dim;
    terms.rounds = settings_.rounds;
    return with_warm_start(settings_, terms, {registered_statistic(settings_.release).request(terms, 1.0)});
  }

  std::size_t candidates() const override { return iterates_to_choose_among(settings_); }

  nlohmann::json settings() const override {
    nlohmann::json json = to_json(settings_);
    if (descent_.learning_rate) json["learning_rate"] = *descent_.learning_rate;
    if (descent_.radius) json["radius"] = *descent_.radius;
    return json;
  }

  std::optional<double> threshold() const override { return decision_threshold(settings_.loss); }

  LinearScores train(TrainingRun& run) const override {
    run.set_intercept(kInterceptShare);
    DescentStep rule(descent_, settings_.rounds, run.classes(), run.lattice().clip_norm);
    return train_in_rounds(run, settings_, &rule);
  }

 private:
  RoundSettings settings_;
  DescentSettings descent_;
};

}  // namespace

std::unique_ptr<TrainingMethod> make_gradient_descent_method(const FitOptions& options) {
  return std::make_unique<GradientDescentMethod>(options, Bound::kOne);
}

std::unique_ptr<TrainingMethod> make_global_adapt_method(const FitOptions& options) {
  return std::make_unique<GradientDescentMethod>(options, Bound::kAdaptive);
}

}  // namespace dpreduce
