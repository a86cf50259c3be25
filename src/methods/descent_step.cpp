#include "methods/descent_step.hpp"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

namespace dpreduce {
namespace {

constexpr double kAimedShare = 0.1;
constexpr double kSmallestNorm = 1e-3;
constexpr double kLargestNorm = 2.0;

// b.
double share_beyond(std::span<const std::int64_t> sides) {
  const double within = std::max(static_cast<double>(sides[0]), 0.0);
  const double beyond = std::max(static_cast<double>(sides[1]), 0.0);
  return beyond / std::max(within + beyond, 1.0);
}

}  // namespace

DescentStep::DescentStep(const DescentSettings& settings, std::uint64_t rounds, std::size_t classes, double clip_norm)
    : settings_(settings),
      rounds_(rounds),
      clip_norm_(clip_norm),
      // D: a first step that moves every class alike changes a score by up to its reach.
      reach_(score_reach(settings.loss) * std::sqrt(static_cast<double>(classes)) / clip_norm) {}

double DescentStep::next_residual_norm(double residual_norm) const {
  if (settings_.bound == Bound::kFixed) return residual_norm;
  return std::clamp(residual_norm * std::exp(share_beyond_ - kAimedShare), kSmallestNorm, kLargestNorm);
}

void DescentStep::step(const NoisedRound& round, std::span<double> weights) {
  if (settings_.bound == Bound::kAdaptive) share_beyond_ = share_beyond(round.release.block("sides").values());
  const std::vector<double> gradient = round.gradient();
  const double noise = static_cast<double>(gradient.size()) * round.sigma() * round.sigma();
  squares_ += std::max(squared_norm(gradient) - noise, 0.0);
  const double averaged_sigma = round.sigma() / std::sqrt(static_cast<double>(settings_.averaged));
  const double curvature =
      std::hypot(curvature_of_noise(averaged_sigma, rounds_, clip_norm_), std::sqrt(squares_) / reach_);
  if (curvature == 0.0) return;  // no rows and no noise
  const double rate = settings_.learning_rate.value_or(1.0 / curvature);
  for (std::size_t e = 0; e < weights.size(); ++e) weights[e] -= rate * gradient[e];
  if (!settings_.radius) return;
  const double norm = std::sqrt(squared_norm(weights));
  if (norm <= *settings_.radius) return;
  for (double& entry : weights) entry *= *settings_.radius / norm;
}

namespace {

constexpr std::uint64_t kDescentRounds = 300;

class GradientDescentMethod : public RoundsMethod {
 public:
  GradientDescentMethod(const FitOptions& options, Bound bound)
      : RoundsMethod(round_settings(options, kDescentRounds)), bound_(bound) {
    if (bound == Bound::kFixed) return;
    settings_.release = "adaptive_gradient";
    settings_.residual_norm = 1.0;
  }

  nlohmann::json settings() const override {
    nlohmann::json json = to_json(settings_);
    if (bound_ == Bound::kAdaptive) json["residual_norm"] = "adaptive";
    return json;
  }

  LinearScores train(TrainingRun& run) const override {
    run.rows().set_intercept(settings_.intercept_share);
    DescentStep rule({bound_, settings_.loss, settings_.learning_rate, settings_.radius}, settings_.rounds,
                     run.rows().classes(), run.rows().lattice().clip_norm);
    return train_in_rounds(run, settings_, &rule);
  }

 private:
  Bound bound_;
};

}  // namespace

std::unique_ptr<TrainingMethod> make_gradient_descent(const FitOptions& options, Bound bound) {
  return std::make_unique<GradientDescentMethod>(options, bound);
}

}  // namespace dpreduce
