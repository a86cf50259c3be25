#include "methods/means_by_rounds.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace dpreduce {
namespace {

// W stays 0 until the last round, which solves for class means. At W = 0 each residual has norm sqrt(1 - 1 / K), so
// that clipping scales all of them alike, and is undone.
class ClassMeansStep : public StepRule {
 public:
  ClassMeansStep(const RoundSettings& settings, double count, Preprocessing rows, std::size_t classes)
      : rounds_(settings.rounds),
        count_(count),
        rows_(std::move(rows)),
        clipped_(std::min(1.0, settings.residual_norm / std::sqrt(1.0 - 1.0 / static_cast<double>(classes)))) {}

  void step(const NoisedRound& round, std::span<double> weights) override {
    const std::vector<double> gradient = round.gradient();
    sum_.resize(gradient.size(), 0.0);
    for (std::size_t e = 0; e < sum_.size(); ++e) sum_[e] += gradient[e];
    if (round.round < rounds_) return;
    const auto rounds = static_cast<double>(rounds_);
    for (double& entry : sum_) entry /= rounds * clipped_;
    const double sigma = round.sigma() / (std::sqrt(rounds) * clipped_);
    std::ranges::copy(scores_of_class_means(sum_, sigma, count_, rows_), weights.begin());
  }

 private:
  std::uint64_t rounds_;
  double count_;
  Preprocessing rows_;
  double clipped_;  // length of a clipped residual over its own
  std::vector<double> sum_;
};

}  // namespace

bool may_take_means(const FitOptions& options) {
  const MethodOptions& method = options.method;
  return options.data.most_labels() == 1 && method.loss.value_or(Loss::kSoftmax) == Loss::kSoftmax && !method.choose &&
         !method.warm_start && method.iterate.value_or(Iterate::kLast) == Iterate::kLast;
}

std::optional<MeansForecast> forecast_of_means(const FitOptions& options, const FitPlan& plan, double rows) {
  if (!plan.has_request("isotropy") || !plan.noise) return std::nullopt;
  return means_forecast(rows, plan.noise->release("isotropy").block("gram"), plan.request("isotropy").share, plan.dim,
                        options.data.classes);
}

std::optional<double> rows_for_means(TrainingRun& run, double share) {
  const Release release = run.release("isotropy");
  const double rows = run.decision("isotropy", [&] {
    const Isotropy isotropy = isotropy_of(release.block("gram"));
    const bool means = wants_means(isotropy, share, run.rows().lattice().dim, run.rows().classes());
    return means ? isotropy.rows : 0.0;
  });
  if (run.ranks().is_coordinator()) run.note(rows > 0.0 ? "class means" : "rounds");
  run.end_phase("isotropy");
  return rows > 0.0 ? std::optional(rows) : std::nullopt;
}

LinearScores train_by_means(TrainingRun& run, const RoundSettings& settings, double count) {
  run.set_first_scores({});  // its gradients are at 0
  std::optional<ClassMeansStep> rule;
  if (run.ranks().is_coordinator()) {
    rule.emplace(settings, count, run.rows().preprocessing(), run.rows().classes());
  }
  return train_in_rounds(run, settings, rule ? &*rule : nullptr);
}

}  // namespace dpreduce
