#include "dpreduce/methods/gradient_rounds.hpp"

#include <cmath>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include "dpreduce/aggregator/least_squares.hpp"
#include "dpreduce/aggregator/mean_classifier.hpp"
#include "dpreduce/config/error.hpp"

namespace dpreduce {
namespace {

constexpr double kSigmoidStart = -10.0;
constexpr double kWarmStartShare = 0.2;

// W_0, K x d.
std::vector<double> initial_weights(std::size_t classes, const Preprocessing& preprocessing, double score) {
  const std::size_t dim = preprocessing.output_dim();
  std::vector<double> weights(classes * dim, 0.0);
  if (preprocessing.intercept == 0.0) return weights;
  const double coordinate = std::sqrt(preprocessing.intercept) * preprocessing.clip_norm;
  for (std::size_t c = 0; c < classes; ++c) weights[c * dim + dim - 1] = score / coordinate;
  return weights;
}

// Class means as unit directions, K x d, zero at the intercept; on every rank. Collective.
std::vector<double> released_directions(TrainingRun& run) {
  const Lattice lattice = run.lattice();
  const Release release = run.release("class_means");
  std::vector<double> directions(run.classes() * lattice.dim);
  if (run.ranks().is_coordinator()) {
    directions = solve_mean_classifier(release, lattice, Metric::kCosine).weights;
    const std::size_t features = run.preprocessing().dim();
    for (std::size_t c = 0; features < lattice.dim && c < run.classes(); ++c)
      directions[c * lattice.dim + features] = 0.0;
  }
  run.ranks().broadcast(directions);
  run.end_phase("warm start");
  return directions;
}

// K x features: without the intercept's column.
std::vector<double> without_intercept(const std::vector<double>& directions, std::size_t dim, std::size_t features) {
  std::vector<double> prototypes;
  for (std::size_t first = 0; first < directions.size(); first += dim) {
    const auto row = directions.begin() + static_cast<std::ptrdiff_t>(first);
    prototypes.insert(prototypes.end(), row, row + static_cast<std::ptrdiff_t>(features));
  }
  return prototypes;
}

}  // namespace

RoundSettings round_settings(const FitOptions& options, std::uint64_t default_rounds) {
  const Loss loss = options.loss.value_or(Loss::kSoftmax);
  return {.rounds = options.rounds.value_or(default_rounds),
          .loss = loss,
          .iterate = options.iterate.value_or(Iterate::kLast),
          .warm_start_share =
              options.warm_start ? std::optional(options.warm_start_share.value_or(kWarmStartShare)) : std::nullopt,
          .initial_score = loss == Loss::kSigmoid ? kSigmoidStart : 0.0};
}

std::optional<double> decision_threshold(Loss loss) {
  switch (loss) {
    case Loss::kSigmoid:
      return 0.0;
    case Loss::kSquare:
      return 0.5;
    case Loss::kSoftmax:
      break;
  }
  return std::nullopt;
}

nlohmann::json to_json(const RoundSettings& settings) {
  nlohmann::json json{{"rounds", settings.rounds},
                      {"loss", to_string(settings.loss)},
                      {"iterate", to_string(settings.iterate)},
                      {"intercept", kInterceptShare}};
  if (settings.warm_start_share) json["warm_start_share"] = *settings.warm_start_share;
  return json;
}

std::vector<ReleaseRequest> with_warm_start(const RoundSettings& settings, const ReleaseTerms& terms,
                                            std::vector<ReleaseRequest> own) {
  if (!settings.warm_start_share) return own;
  for (ReleaseRequest& request : own) request.share *= 1.0 - *settings.warm_start_share;
  own.insert(own.end() - 1, registered_statistic("class_means").request(terms, *settings.warm_start_share));
  return own;
}

LinearScores train_in_rounds(TrainingRun& run, const RoundSettings& settings, StepRule* rule) {
  DPREDUCE_ASSERT(rule != nullptr || !run.ranks().is_coordinator());
  run.keep_rows();
  const Lattice lattice = run.lattice();
  const double unit = Lattice{1.0, run.classes()}.scale() * lattice.scale();
  std::vector<double> directions;
  std::optional<LatticeWeights> lattice_directions;
  std::optional<Prior> prior;
  if (settings.warm_start_share) {
    directions = released_directions(run);
    lattice_directions.emplace(directions, lattice);
    prior.emplace(Prior{*lattice_directions, run.preprocessing().dim()});
  }
  std::vector<double> weights = initial_weights(run.classes(), run.preprocessing(), settings.initial_score);
  std::vector<double> sum(weights.size(), 0.0);
  for (std::uint64_t round = 1; round <= settings.rounds; ++round) {
    const LatticeWeights point(weights, lattice);
    const GradientPoint at{point, settings.loss, prior ? &*prior : nullptr};
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
  LinearScores scores = fold_intercept(weights, run.preprocessing());
  scores.prototypes = without_intercept(directions, lattice.dim, run.preprocessing().dim());
  return scores;
}

}  // namespace dpreduce
