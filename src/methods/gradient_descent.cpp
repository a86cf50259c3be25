// NoisyGD: full-batch gradient descent on noised sums.
//
//     W_t = P_R(W_(t-1) - eta_t (gradient(W_(t-1)) + noise))        P_R: the nearest W with |W|_F <= R
//
// eta_t is the user's constant, or eta_t = 1 / sqrt(h^2 + sum_(r <= t) max(|g_r|_F^2 - K d s^2, 0) / D^2): AdaGrad-Norm
// of what the noised gradients g_r hold beside noise, whose share K d s^2 is known, with the curvature h of all the
// noise that will come (gradient_rounds.hpp) in place of its epsilon. Where noise rules, steps are equal and T rounds
// add up to one release of class means with the whole budget; where the signal rules, a first step is as long as D.
// T = 1 is the one-step form.
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

struct DescentSettings {
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

  void step(const NoisedRound& round, std::span<double> weights) override {
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
  DescentSettings settings_;
  std::uint64_t rounds_;
  double clip_norm_;
  double reach_;          // D
  double squares_ = 0.0;  // of gradients so far, without their noise
};

class GradientDescentMethod : public TrainingMethod {
 public:
  explicit GradientDescentMethod(const FitOptions& options)
      : settings_(round_settings(options, kRounds)), descent_{options.learning_rate, options.radius} {}

  std::string_view name() const override { return "gd"; }

  std::vector<ReleaseRequest> requests(ReleaseTerms terms) const override {
    ++terms.dim;
    terms.rounds = settings_.rounds;
    return with_warm_start(settings_, terms, {registered_statistic("gradient").request(terms, 1.0)});
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
  return std::make_unique<GradientDescentMethod>(options);
}

}  // namespace dpreduce
