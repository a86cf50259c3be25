#include "dpreduce/methods/gradient_rounds.hpp"

#include <cmath>
#include <vector>

#include <nlohmann/json.hpp>

#include "dpreduce/aggregator/least_squares.hpp"
#include "dpreduce/config/error.hpp"

namespace dpreduce {
namespace {

constexpr double kSigmoidStart = -10.0;

// W_0, K x d.
std::vector<double> initial_weights(std::size_t classes, const Preprocessing& preprocessing, double score) {
  const std::size_t dim = preprocessing.output_dim();
  std::vector<double> weights(classes * dim, 0.0);
  if (preprocessing.intercept == 0.0) return weights;
  const double coordinate = std::sqrt(preprocessing.intercept) * preprocessing.clip_norm;
  for (std::size_t c = 0; c < classes; ++c) weights[c * dim + dim - 1] = score / coordinate;
  return weights;
}

}  // namespace

RoundSettings round_settings(const FitOptions& options, std::uint64_t default_rounds) {
  const Loss loss = options.loss.value_or(Loss::kSoftmax);
  return {.rounds = options.rounds.value_or(default_rounds),
          .loss = loss,
          .iterate = options.iterate.value_or(Iterate::kLast),
          .initial_score = loss == Loss::kSigmoid ? kSigmoidStart : 0.0};
}

nlohmann::json to_json(const RoundSettings& settings) {
  return {{"rounds", settings.rounds}, {"loss", to_string(settings.loss)}, {"iterate", to_string(settings.iterate)}};
}

LinearScores train_in_rounds(TrainingRun& run, const RoundSettings& settings, StepRule* rule) {
  DPREDUCE_ASSERT(rule != nullptr || !run.ranks().is_coordinator());
  const Lattice lattice = run.lattice();
  const double unit = Lattice{1.0, run.classes()}.scale() * lattice.scale();
  std::vector<double> weights = initial_weights(run.classes(), run.preprocessing(), settings.initial_score);
  std::vector<double> sum(weights.size(), 0.0);
  for (std::uint64_t round = 1; round <= settings.rounds; ++round) {
    const LatticeWeights point(weights, lattice);
    const GradientPoint at{point, settings.loss};
    const Release release = run.release(settings.release, &at);
    run.ranks().together([&] {
      if (!run.ranks().is_coordinator()) return;
      const ReleasedBlock& block = release.block("gradient");
      const std::vector<double> gradient = in_units(block, unit);
      rule->step({round, gradient, block.sigma() / unit, release}, weights);
    });
    run.ranks().broadcast(weights);
    for (std::size_t e = 0; e < weights.size(); ++e) sum[e] += weights[e];
  }
  if (settings.iterate == Iterate::kAverage) {
    for (std::size_t e = 0; e < weights.size(); ++e) weights[e] = sum[e] / static_cast<double>(settings.rounds);
  }
  run.end_phase("rounds");
  return fold_intercept(weights, run.preprocessing());
}

}  // namespace dpreduce
