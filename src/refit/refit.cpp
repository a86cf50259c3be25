#include "refit/refit.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "aggregator/solvers/fisher_rule.hpp"
#include "aggregator/solvers/gram_spectrum.hpp"
#include "aggregator/solvers/least_squares.hpp"
#include "aggregator/solvers/mean_classifier.hpp"
#include "common/base/error.hpp"
#include "common/ranks/communicator.hpp"

namespace dpreduce {
namespace {

// The usual ridge times these, the usual one in the middle.
constexpr int kPathSteps = 6;

// `rows`, K x |columns|, with zeros where there are other columns, K x width.
std::vector<double> scattered(std::span<const double> rows, const Indices& columns, std::size_t width) {
  std::vector<double> all(rows.size() / columns.size() * width, 0.0);
  for (std::size_t e = 0; e < rows.size(); ++e) all[e / columns.size() * width + columns[e % columns.size()]] = rows[e];
  return all;
}

double usual_ridge(const ReleasedBlock& gram, const Lattice& lattice) {
  return kLsRidgeInRadii * noise_radius_of(gram, lattice) + lattice.clip_norm * lattice.clip_norm;
}

RowTotals totals_of(const ChosenStatistics& asked) {
  const std::optional<double> rows = asked.rows();
  const std::optional<double> squared_targets = asked.squared_targets();
  if (!rows || !squared_targets) {
    throw UsageError(
        "--lambda path: nothing tells how many rows there are, and of how many classes each; it needs rows of one "
        "class each, and class_sizes where --normalize is none or --classes-kept is given; or give a number");
  }
  return {*rows, *squared_targets};
}

// The ridge of a shared Gram matrix, and what it was chosen by.
struct RidgeTaken {
  std::optional<double> ridge{};
  std::vector<RidgePoint> path{};
};

LinearScores solve_shared(const ChosenStatistics& asked, const RefitOptions& options, const KeptStatistics& statistics,
                          RidgeTaken& made) {
  const Indices columns = asked.columns();
  const Lattice lattice = asked.lattice_of(columns.size());
  if (options.components > columns.size()) {
    throw UsageError(fmt::format("--pca {}: there are {} features", options.components, columns.size()));
  }
  const Release release({asked.gram(columns), asked.class_sums(columns)});
  const double usual = usual_ridge(release.block("gram"), lattice);
  double factor = options.lambda ? *options.lambda / usual : 1.0;
  if (options.chooses_ridge) {
    std::vector<double> ridges;
    for (int step = -kPathSteps; step <= kPathSteps; ++step) ridges.push_back(std::ldexp(usual, step));
    made.path = ridge_path(release, lattice, ridges, totals_of(asked), seed_of(statistics), options.components);
    const auto best = std::ranges::min_element(made.path, {}, &RidgePoint::loss);
    factor = best->ridge / usual;
  }
  made.ridge = factor * usual;
  Communicator here = Communicator::alone();
  const std::vector<double> weights =
      solve_least_squares(here, release, lattice, release.block("class_sums").values().size() / lattice.dim,
                          kLsRidgeInRadii, {&factor, 1}, options.components)
          .front();
  return fold_intercept(scattered(weights, columns, statistics.lattice().dim), statistics.of_rows.preprocessing);
}

double alpha_of(const KeptStatistics& statistics, const RefitOptions& options) {
  return options.alpha.value_or(statistics.alpha());
}

LinearScores solve_by_class(const ChosenStatistics& asked, const RefitOptions& options,
                            const KeptStatistics& statistics) {
  const Indices columns = asked.columns();
  const Lattice lattice = asked.lattice_of(columns.size());
  const double alpha = alpha_of(statistics, options);
  std::optional<ReleasedBlock> gram;
  if (alpha > 0.0) gram = asked.gram(columns);
  const ClassLeastSquares problem({.alpha = alpha, .lambda = options.lambda}, lattice, gram ? &*gram : nullptr);
  const ReleasedBlock sums = asked.class_sums(columns);
  std::vector<double> weights;
  for (std::size_t place = 0; place < asked.classes().size(); ++place) {
    const std::vector<double> theta =
        problem.solve(asked.class_gram(place, columns), sums.values().subspan(place * columns.size(), columns.size()));
    weights.insert(weights.end(), theta.begin(), theta.end());
  }
  return fold_intercept(scattered(weights, columns, statistics.lattice().dim), statistics.of_rows.preprocessing);
}

// Class means and the Fisher rule have no use for the intercept, which shortens rows by sqrt(1 - a).
LinearScores of_features(LinearScores scores, const ChosenStatistics& asked, const KeptStatistics& statistics) {
  scores.weights = scattered(scores.weights, asked.features(), asked.dim());
  const double intercept = statistics.of_rows.preprocessing.intercept;
  if (intercept == 0.0) return scores;
  for (double& weight : scores.weights) weight *= std::sqrt(1.0 - intercept);
  return scores;
}

LinearScores solve_means(const ChosenStatistics& asked, const RefitOptions& options, const KeptStatistics& statistics) {
  std::vector<ReleasedBlock> blocks{asked.class_sums(asked.features())};
  if (options.metric == Metric::kEuclidean) blocks.push_back(asked.class_counts());
  return of_features(solve_mean_classifier(Release(std::move(blocks)), asked.lattice_of(asked.features().size()),
                                           options.metric, options.select),
                     asked, statistics);
}

LinearScores solve_fisher(const ChosenStatistics& asked, const RefitOptions& options,
                          const KeptStatistics& statistics) {
  const Release release({asked.class_sums(asked.features()), asked.second_moments(), asked.class_counts()});
  LinearScores scores = solve_fisher_rule(release, asked.lattice_of(asked.features().size()), options.select,
                                          options.select_by.value_or(SelectBy::kDistance));
  for (std::size_t place = 0; place < scores.bias.size(); ++place) {
    if (!options.class_weights.empty()) scores.bias[place] += std::log(asked.weight(place));
  }
  return of_features(std::move(scores), asked, statistics);
}

bool shares_gram(const KeptStatistics& statistics, const RefitOptions& options) {
  return options.shared_gram || !statistics.has("class_grams");
}

void require_consistent(const KeptStatistics& statistics, const RefitOptions& options) {
  const bool is_shared = options.method == RefitMethod::kLs && shares_gram(statistics, options);
  const auto require = [](bool holds, const char* message) {
    if (!holds) throw UsageError(message);
  };
  require(!options.lambda || (*options.lambda > 0.0 && std::isfinite(*options.lambda)), "--lambda: must be above 0");
  require(!options.alpha || (*options.alpha >= 0.0 && std::isfinite(*options.alpha)), "--alpha: must be at least 0");
  require(options.method == RefitMethod::kLs || (!options.lambda && !options.chooses_ridge && !options.alpha),
          "--lambda and --alpha go with --method ls");
  require(!options.shared_gram || options.method == RefitMethod::kLs, "--shared-gram goes with --method ls");
  require(!options.chooses_ridge || is_shared, "--lambda path goes with --method ls --shared-gram");
  require(!options.chooses_ridge || options.class_weights.empty(), "--lambda path goes without --weights");
  require(!options.alpha || !is_shared, "--alpha goes with class_grams, and not with --shared-gram");
  require(options.components == 0 || is_shared, "--pca goes with --method ls --shared-gram");
  require(options.class_weights.empty() || options.method == RefitMethod::kFisher ||
              (is_shared && statistics.has("class_grams")),
          "--weights goes with --method fisher, or with --method ls --shared-gram where class_grams were released");
  require(options.metric == Metric::kCosine || options.method == RefitMethod::kMean,
          "--metric goes with --method mean");
  require(!options.select_by || options.select > 0, "--select-by goes with --select");
  require(options.select_by != SelectBy::kT || options.method == RefitMethod::kFisher,
          "--select-by t goes with --method fisher");
}

std::optional<double> threshold_of(const KeptStatistics& statistics, const RefitOptions& options) {
  if (statistics.most_labels == 1 || options.method != RefitMethod::kLs) return std::nullopt;
  return shares_gram(statistics, options) ? 0.5 : 0.5 / (0.5 + alpha_of(statistics, options));
}

}  // namespace

Refit refit(const KeptStatistics& statistics, const RefitOptions& options) {
  require_consistent(statistics, options);
  const ChosenStatistics asked(statistics, options);
  RidgeTaken taken;
  LinearScores scores;
  switch (options.method) {
    case RefitMethod::kLs:
      scores = shares_gram(statistics, options) ? solve_shared(asked, options, statistics, taken)
                                                : solve_by_class(asked, options, statistics);
      break;
    case RefitMethod::kMean:
      scores = solve_means(asked, options, statistics);
      break;
    case RefitMethod::kFisher:
      scores = solve_fisher(asked, options, statistics);
      break;
  }
  ClassifierParts parts = statistics.of_rows;
  parts.method = to_string(options.method);
  parts.preprocessing.intercept = 0.0;  // folded into the bias
  parts.threshold = threshold_of(statistics, options);
  parts.classes = asked.classes().size();
  if (!parts.class_names.empty()) {
    std::vector<std::string> names;
    for (const std::size_t own : asked.classes()) names.push_back(parts.class_names[own]);
    parts.class_names = std::move(names);
  }
  parts.weights = std::move(scores.weights);
  parts.bias = std::move(scores.bias);
  return {Classifier(std::move(parts)), taken.ridge, std::move(taken.path)};
}

}  // namespace dpreduce
