// NoisyGD: full-batch gradient descent on noised sums, by the step of descent_step.hpp. T = 1 is the one-step form.
// Source: paper 004, eq. (2.1) and (3.2), whose noise stands outside the step and whose bound on |g| is assumed; ours
// is inside, and enforced.
#include <nlohmann/json.hpp>

#include "dpreduce/methods/descent_step.hpp"
#include "dpreduce/methods/training_method.hpp"

namespace dpreduce {
namespace {

constexpr std::uint64_t kRounds = 300;

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
    run.set_intercept(settings_.intercept_share);
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
