#include "methods/gradient_rounds.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "aggregator/solvers/isotropic_rule.hpp"
#include "aggregator/solvers/linear_scores.hpp"
#include "aggregator/solvers/mean_classifier.hpp"
#include "common/base/error.hpp"
#include "methods/class_balance.hpp"
#include "methods/registry.hpp"

namespace dpreduce {
namespace {

constexpr double kSigmoidStart = -10.0;
constexpr double kWarmStartShare = 0.2;
constexpr double kNoiseInScores = 0.9;
constexpr double kMostRoundsOnSamples = 400.0;
// Adaptive bound on residuals.
constexpr double kAimedShare = 0.1;
constexpr double kSmallestNorm = 1e-3;
constexpr double kLargestNorm = 2.0;

// Number of sampled rounds in which a row is used as often as in full ones, but no more than have been seen to help.
std::uint64_t rounds_on_samples(std::uint64_t full_rounds, double rate) {
  if (rate == 1.0) return full_rounds;
  return static_cast<std::uint64_t>(
      std::llround(std::min(static_cast<double>(full_rounds) / rate, kMostRoundsOnSamples)));
}

// W_0, K x d.
std::vector<double> initial_weights(std::size_t classes, const Preprocessing& preprocessing, double score,
                                    const std::vector<double>& of_classes) {
  const std::size_t dim = preprocessing.output_dim();
  std::vector<double> weights(classes * dim, 0.0);
  if (preprocessing.intercept == 0.0) return weights;
  const double coordinate = std::sqrt(preprocessing.intercept) * preprocessing.clip_norm;
  for (std::size_t c = 0; c < classes; ++c) {
    weights[c * dim + dim - 1] = (score + (of_classes.empty() ? 0.0 : of_classes[c])) / coordinate;
  }
  return weights;
}

// The average of W_first, ..., W_last.
struct Window {
  std::uint64_t first;
  std::uint64_t last;

  bool operator==(const Window&) const = default;
};

// The candidates of --choose, the usual one first. An early iterate is better where later rounds add more noise than
// signal, an average where the last steps are too long.
std::vector<Window> windows_of(const RoundSettings& settings) {
  const std::uint64_t rounds = settings.rounds;
  if (!settings.choose) return {{settings.iterate == Iterate::kLast ? rounds : 1, rounds}};
  std::vector<Window> windows{{rounds, rounds}};
  for (const Window window : {Window{1, rounds}, Window{rounds / 2 + 1, rounds}, Window{rounds / 2, rounds / 2},
                              Window{rounds / 4, rounds / 4}, Window{rounds / 8, rounds / 8}}) {
    const bool is_new = std::find(windows.begin(), windows.end(), window) == windows.end();
    if (window.first > 0 && is_new) windows.push_back(window);
  }
  return windows;
}

std::string setting_of(const Window& window) {
  if (window.first == window.last) return fmt::format("after round {}", window.last);
  return fmt::format("average of rounds {} to {}", window.first, window.last);
}

// Class means as unit directions, K x d, zero at the intercept; on every rank. Collective.
std::vector<double> released_directions(TrainingRun& run) {
  const Lattice lattice = run.rows().lattice();
  const Release release = run.release("class_means");
  std::vector<double> directions(run.rows().classes() * lattice.dim);
  if (run.ranks().is_coordinator()) {
    directions = solve_mean_classifier(release, lattice, Metric::kCosine).weights;
    const std::size_t features = run.rows().preprocessing().dim();
    for (std::size_t c = 0; features < lattice.dim && c < run.rows().classes(); ++c)
      directions[c * lattice.dim + features] = 0.0;
  }
  run.ranks().broadcast(directions);
  run.end_phase("warm start");
  return directions;
}

}  // namespace

double curvature_of_noise(double sigma, std::uint64_t rounds, double clip_norm) {
  return sigma * std::sqrt(static_cast<double>(rounds)) * clip_norm / kNoiseInScores;
}

RoundSettings round_settings(const FitOptions& fit, std::uint64_t default_rounds) {
  const MethodOptions& options = fit.method;
  const Loss loss = options.loss.value_or(Loss::kSoftmax);
  const double rate = options.batch.value_or(1.0);
  const bool takes_whole = fit.privacy.budget.non_private || adjusts_scores(fit);
  return {.rounds = options.rounds.value_or(rounds_on_samples(default_rounds, rate)),
          .loss = loss,
          .iterate = options.iterate.value_or(Iterate::kLast),
          .choose = options.choose,
          .warm_start_share =
              options.warm_start ? std::optional(options.warm_start_share.value_or(kWarmStartShare)) : std::nullopt,
          .initial_score = loss == Loss::kSigmoid ? kSigmoidStart : 0.0,
          .residual_norm = takes_whole ? kWholeResidual : residual_norm_of(loss, options.warm_start),
          .sampling_rate = rate,
          .learning_rate = options.learning_rate,
          .radius = options.radius};
}

nlohmann::json to_json(const RoundSettings& settings) {
  nlohmann::json json{{"rounds", settings.rounds},
                      {"loss", to_string(settings.loss)},
                      {"residual_norm", settings.residual_norm},
                      {"iterate", to_string(settings.iterate)},
                      {"intercept", settings.intercept_share}};
  if (settings.adapts) json["residual_norm"] = "adaptive";
  if (settings.sampling_rate < 1.0) json["batch"] = settings.sampling_rate;
  if (settings.warm_start_share) json["warm_start_share"] = *settings.warm_start_share;
  if (settings.learning_rate) json["learning_rate"] = *settings.learning_rate;
  if (settings.radius) json["radius"] = *settings.radius;
  return json;
}

std::vector<ReleaseRequest> with_warm_start(const RoundSettings& settings, const ReleaseTerms& terms,
                                            std::vector<ReleaseRequest> own) {
  own.back().sampling_rate = settings.sampling_rate;
  if (!settings.warm_start_share) return own;
  for (ReleaseRequest& request : own) request.share *= 1.0 - *settings.warm_start_share;
  own.insert(own.end() - 1, registered_statistic("class_means").request(terms, *settings.warm_start_share));
  return own;
}

std::vector<ReleaseRequest> RoundsMethod::requests(ReleaseTerms terms) const {
  ++terms.dim;
  terms.rounds = settings_.rounds;
  return with_warm_start(settings_, terms, {registered_statistic(settings_.release).request(terms, 1.0)});
}

nlohmann::json RoundsMethod::settings() const {
  return to_json(settings_);
}

LinearScores RoundsMethod::train(TrainingRun& run) const {
  run.rows().set_intercept(settings_.intercept_share);
  return train_in_rounds(run, settings_, rule_of_(run, settings_));
}

std::size_t RoundsMethod::candidates() const {
  return windows_of(settings_).size();
}

std::optional<double> RoundsMethod::threshold() const {
  if (settings_.loss == Loss::kSoftmax) return std::nullopt;
  return settings_.loss == Loss::kSquare ? 0.5 : 0.0;
}

std::optional<Link> RoundsMethod::link() const {
  if (settings_.loss == Loss::kSquare) return std::nullopt;
  return settings_.loss == Loss::kSoftmax ? Link::kSoftmax : Link::kSigmoid;
}

LatticeWeights shared_weights(TrainingRun& run, std::span<const double> weights) {
  const Lattice lattice = run.rows().lattice();
  std::vector<std::int16_t> values;
  std::vector<double> largest;
  run.ranks().together([&] {
    if (run.ranks().is_coordinator()) {
      LatticeWeights own(weights, lattice);
      largest.assign(own.largest().begin(), own.largest().end());
      values = own.take_values();
    }
    largest.resize(run.rows().classes());
    values.resize(largest.size() * lattice.dim);
  });
  run.ranks().broadcast(std::as_writable_bytes(std::span(values)));
  run.ranks().broadcast(largest);
  return LatticeWeights(std::move(values), std::move(largest)).on(lattice);
}

LinearScores iterate_rounds(TrainingRun& run, const RoundSettings& settings, const Advance& advance,
                            const Prior& prior) {
  std::vector<double> weights =
      initial_weights(run.rows().classes(), run.rows().preprocessing(), settings.initial_score, run.first_scores());
  const std::vector<Window> windows = windows_of(settings);
  const std::size_t entries = run.ranks().is_coordinator() ? weights.size() : 0;
  std::vector<Candidate> candidates;
  for (const Window& window : windows) {
    candidates.push_back({setting_of(window), std::vector<double>(entries, 0.0)});
  }
  for (std::uint64_t round = 1; round <= settings.rounds; ++round) {
    advance(round, weights);
    for (std::size_t m = 0; m < windows.size(); ++m) {
      if (round < windows[m].first || round > windows[m].last) continue;
      for (std::size_t e = 0; e < entries; ++e) candidates[m].weights[e] += weights[e];
    }
  }
  for (std::size_t m = 0; m < windows.size(); ++m) {
    const auto length = static_cast<double>(windows[m].last - windows[m].first + 1);
    for (double& entry : candidates[m].weights) entry /= length;
  }
  run.end_phase("rounds");
  return fold_intercept(run.choose(std::move(candidates), prior).weights, run.rows().preprocessing());
}

LinearScores train_in_rounds(TrainingRun& run, const RoundSettings& settings, const StepRule& rule) {
  run.rows().keep();
  const Lattice lattice = run.rows().lattice();
  const double unit_of_rows = lattice.scale() * settings.sampling_rate;
  std::vector<double> directions;
  Prior prior;
  if (settings.warm_start_share) {
    directions = released_directions(run);
    prior = {LatticeWeights(directions, lattice), run.rows().preprocessing().dim()};
  }
  std::vector<double> residual_norm{settings.residual_norm};
  const Advance advance = [&](std::uint64_t round, std::vector<double>& weights) {
    const GradientPoint at{shared_weights(run, weights), settings.loss, prior, residual_norm.front()};
    const double unit = Lattice{residual_norm.front(), run.rows().classes()}.scale() * unit_of_rows;
    const Release release = run.release(settings.release, at);
    run.ranks().at_coordinator([&] { rule({round, release, unit, residual_norm.front()}, weights); });
    run.ranks().broadcast(residual_norm);
  };
  LinearScores scores = iterate_rounds(run, settings, advance, prior);
  for (std::size_t e = 0; e < directions.size(); ++e) {
    if (e % lattice.dim < prior.features) scores.cosine_head.push_back(directions[e]);  // without the intercept
  }
  return scores;
}

StepRule averaged_descent_rule(TrainingRun& run, const RoundSettings& settings, std::size_t averaged) {
  const double clip_norm = run.rows().lattice().clip_norm;
  // D: a first step that moves every class alike changes a score by up to its reach.
  const double reach = score_reach(settings.loss) * std::sqrt(static_cast<double>(run.rows().classes())) / clip_norm;
  double squares = 0.0;  // of gradients so far, without their noise
  return [=](const NoisedRound& round, std::span<double> weights) mutable {
    if (settings.adapts) {
      const auto sides = round.release.block("sides").values();
      const double within = std::max(static_cast<double>(sides[0]), 0.0);
      const double beyond = std::max(static_cast<double>(sides[1]), 0.0);
      const double share = beyond / std::max(within + beyond, 1.0);  // b
      round.residual_norm =
          std::clamp(round.residual_norm * std::exp(share - kAimedShare), kSmallestNorm, kLargestNorm);
    }
    const std::vector<double> gradient = round.gradient();
    const double noise = static_cast<double>(gradient.size()) * round.sigma() * round.sigma();
    squares += std::max(squared_norm(gradient) - noise, 0.0);
    const double averaged_sigma = round.sigma() / std::sqrt(static_cast<double>(averaged));
    const double curvature =
        std::hypot(curvature_of_noise(averaged_sigma, settings.rounds, clip_norm), std::sqrt(squares) / reach);
    if (curvature == 0.0) return;  // no rows and no noise
    const double rate = settings.learning_rate.value_or(1.0 / curvature);
    for (std::size_t e = 0; e < weights.size(); ++e) weights[e] -= rate * gradient[e];
    if (!settings.radius) return;
    const double norm = std::sqrt(squared_norm(weights));
    if (norm <= *settings.radius) return;
    for (double& entry : weights) entry *= *settings.radius / norm;
  };
}

StepRule descent_rule(TrainingRun& run, const RoundSettings& settings) {
  return averaged_descent_rule(run, settings, 1);
}

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

// W stays 0 until the last round, which solves for class means. At W = 0 each residual has norm sqrt(1 - 1 / K), so
// that clipping scales all of them alike, and is undone.
LinearScores train_by_means(TrainingRun& run, const RoundSettings& settings, double count) {
  run.set_first_scores({});  // its gradients are at 0
  const auto classes = static_cast<double>(run.rows().classes());
  const auto rounds = static_cast<double>(settings.rounds);
  // Length of a clipped residual over its own.
  const double clipped = std::min(1.0, settings.residual_norm / std::sqrt(1.0 - 1.0 / classes));
  std::vector<double> sum;
  return train_in_rounds(run, settings, [&](const NoisedRound& round, std::span<double> weights) {
    const std::vector<double> gradient = round.gradient();
    sum.resize(gradient.size(), 0.0);
    for (std::size_t e = 0; e < sum.size(); ++e) sum[e] += gradient[e];
    if (round.round < settings.rounds) return;
    for (double& entry : sum) entry /= rounds * clipped;
    const double sigma = round.sigma() / (std::sqrt(rounds) * clipped);
    std::ranges::copy(scores_of_class_means(sum, sigma, count, run.rows().preprocessing()), weights.begin());
  });
}

}  // namespace dpreduce
