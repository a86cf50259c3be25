#include "methods/gradient_descent.hpp"

#include <nlohmann/json.hpp>

#include "common/plan/loss.hpp"

namespace dpreduce {
namespace {

constexpr std::uint64_t kDescentRounds = 300;

class GradientDescentMethod : public TrainingMethod {
 public:
  GradientDescentMethod(std::string_view name, const FitOptions& options, Bound bound)
      : name_(name),
        settings_(round_settings(options.method, kDescentRounds)),
        descent_{bound, options.method.learning_rate, options.method.radius} {
    if (bound == Bound::kAdaptive) settings_.release = "adaptive_gradient";
  }

  std::string_view name() const override { return name_; }

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

  std::optional<Loss> loss() const override { return settings_.loss; }
  std::optional<double> threshold() const override { return decision_threshold(settings_.loss); }
  std::optional<Link> link() const override { return link_of(settings_.loss); }

  LinearScores train(TrainingRun& run) const override {
    run.rows().set_intercept(settings_.intercept_share);
    DescentStep rule(descent_, settings_.rounds, run.rows().classes(), run.rows().lattice().clip_norm);
    return train_in_rounds(run, settings_, &rule);
  }

 private:
  std::string_view name_;
  RoundSettings settings_;
  DescentSettings descent_;
};

}  // namespace

std::unique_ptr<TrainingMethod> make_gradient_descent(std::string_view name, const FitOptions& options, Bound bound) {
  return std::make_unique<GradientDescentMethod>(name, options, bound);
}

}  // namespace dpreduce
