#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "aggregator/solvers/cleaned_ridge.hpp"
#include "aggregator/solvers/ridge_figures.hpp"
#include "common/base/error.hpp"
#include "common/ledger/triangle.hpp"
#include "fit/fit.hpp"
#include "fit/release_figures.hpp"
#include "refit/refit.hpp"

namespace dpreduce {
namespace {

// Requested targets, in the entries of a released row: features, a constant, targets.
struct RequestedTargets {
  RequestedTargets(const KeptStatistics& statistics, const RefitOptions& options)
      : rows(statistics.of_rows.preprocessing),
        gram(statistics.block("gram")),
        features(options.features.empty() ? all_below(rows.dim()) : options.features),
        targets(options.classes.empty() ? all_below(rows.targets.count) : options.classes),
        ridge(gram, rows, {.features = features, .targets = targets, .ridge = options.lambda}) {}

  std::size_t place_of_constant() const { return rows.dim(); }
  Indices columns() const {
    Indices columns = features;
    columns.push_back(place_of_constant());
    return columns;
  }
  std::int64_t entry(std::size_t one, std::size_t other) const {
    const auto [row, column] = std::minmax(one, other);
    return gram.values()[triangle_row(row, rows.output_dim()) + column - row];
  }

  const Preprocessing& rows;
  const ReleasedBlock& gram;
  Indices features;
  Indices targets;
  TargetRidge ridge;
};

void require_of_numbers(const KeptStatistics& statistics, const RefitOptions& options) {
  const bool has_others = options.method != RefitMethod::kLs || options.chooses_ridge || options.alpha ||
                          options.select > 0 || options.components > 0 || !options.class_weights.empty() ||
                          options.metric != Metric::kCosine;
  if (has_others) {
    throw UsageError(
        "refit for numeric targets: only --method ls with --lambda, --features and --classes-kept (which selects "
        "targets); leave the other options out");
  }
  if (options.lambda && !(*options.lambda > 0.0 && std::isfinite(*options.lambda))) {
    throw UsageError("--lambda: must be above 0");
  }
  const Preprocessing& rows = statistics.of_rows.preprocessing;
  require_indices("--features", options.features, rows.dim(), "features of prepared rows");
  require_indices("--classes-kept", options.classes, rows.targets.count, "targets");
}

TargetColumns picked(const TargetColumns& all, const Indices& targets) {
  TargetColumns own{.count = targets.size(), .center = {}, .scale = {}};
  for (const std::size_t target : targets) {
    own.center.push_back(all.center[target]);
    own.scale.push_back(all.scale[target]);
  }
  return own;
}

// Gram matrix and sums of the chosen columns as ridge_figures.hpp takes them, targets less their noised mean.
Release release_of(const RequestedTargets& asked, double scale) {
  const Indices columns = asked.columns();
  const std::size_t constant = asked.place_of_constant();
  const std::vector<double> starts = asked.ridge.starts();
  std::vector<std::int64_t> sums;
  double most = 0.0;
  for (std::size_t t = 0; t < asked.targets.size(); ++t) {
    const std::size_t target = constant + 1 + asked.targets[t];
    for (const std::size_t column : columns) {
      const double own = static_cast<double>(asked.entry(column, target)) -
                         starts[t] * static_cast<double>(asked.entry(column, constant));
      sums.push_back(std::llround(own / scale));
    }
    most = std::max(most, std::abs(starts[t]));
  }
  const double sigma = asked.gram.sigma() * std::sqrt(0.5 * (1.0 + most * most)) / scale;
  return Release({{"gram", picked_triangle(asked.gram.values(), columns, asked.rows.output_dim()), asked.gram.sigma()},
                  {"class_sums", std::move(sums), sigma}});
}

// sum of squares of each target less its noised mean, in units of z.
std::vector<double> squares_of(const RequestedTargets& asked, double scale) {
  const std::size_t constant = asked.place_of_constant();
  const std::vector<double> starts = asked.ridge.starts();
  std::vector<double> squares;
  for (std::size_t t = 0; t < asked.targets.size(); ++t) {
    const std::size_t target = constant + 1 + asked.targets[t];
    const auto units = [&](std::size_t one, std::size_t other) {
      return static_cast<double>(asked.entry(one, other)) / (scale * scale);
    };
    squares.push_back(units(target, target) - 2.0 * starts[t] * units(target, constant) +
                      starts[t] * starts[t] * units(constant, constant));
  }
  return squares;
}

// Rows were only scaled by column: a coefficient is then one of a raw column.
bool are_in_raw_units(const Preprocessing& rows) {
  return rows.normalize == Normalize::kNone && rows.pool == 1 && rows.center.empty() && rows.projection.empty() &&
         rows.selected.empty();
}

// Coefficients as functions of z's weights: one row for each feature, and one for the constant.
std::vector<double> functionals(const RequestedTargets& asked) {
  const std::size_t width = asked.features.size() + 1;
  const double of_feature = std::sqrt(1.0 - asked.rows.intercept);
  std::vector<double> rows(width * width, 0.0);
  rows[width * width - 1] = std::sqrt(asked.rows.intercept) * asked.rows.clip_norm;
  const FeatureColumns& columns = asked.rows.columns;
  const bool are_scaled = are_in_raw_units(asked.rows) && !columns.scale.empty();
  for (std::size_t a = 0; a + 1 < width; ++a) {
    const double slope = of_feature / (are_scaled ? columns.scale[asked.features[a]] : 1.0);
    rows[a * width + a] = slope;
    if (are_scaled) rows[(width - 1) * width + a] = -slope * columns.center[asked.features[a]];
  }
  return rows;
}

constexpr std::size_t kMostCoefficients = 20;
constexpr std::size_t kMostIntervals = std::size_t{1} << 16;
// Ridge of a report's intervals, in rows: needed only where columns are collinear.
constexpr double kRidgeOfIntervals = 0.01;
constexpr double kLevelOfReports = 0.95;

constexpr const char* kWithoutGram =
    "they need a Gram matrix with noise: dpreduce release, then dpreduce refit --intervals";
constexpr const char* kOneLength =
    "each row is scaled to one length, so no prediction is linear in a column; --normalize none keeps lengths";
constexpr const char* kPreparedRows = "rows are pooled, centered or projected, and the model's weights are of those";

nlohmann::json intervals_of(const FittedRun& run, const StatisticsKeeper& keeper) {
  const ClassifierParts& parts = run.classifier.parts();
  if (!run.hidden_targets.empty()) {
    return {{"kind", to_string(IntervalKind::kNone)}, {"why", "noise hides the range of a target"}};
  }
  const bool has_gram = run.fit->plan().noise && !keeper.empty();
  if (!has_gram || parts.weights.size() > kMostIntervals || parts.preprocessing.dim() > kLargestSpectrum) {
    return {{"kind", to_string(IntervalKind::kNone)}, {"why", kWithoutGram}};
  }
  const double ridge = kRidgeOfIntervals * parts.preprocessing.clip_norm * parts.preprocessing.clip_norm;
  return target_intervals_json(keeper.taken(*run.fit), {}, ridge, kLevelOfReports, {});
}

// Intercepts and ranges of the first targets.
nlohmann::json targets_json(const FittedRun& run) {
  const ClassifierParts& parts = run.classifier.parts();
  const Preprocessing& rows = parts.preprocessing;
  nlohmann::json told = nlohmann::json::array();
  for (std::size_t t = 0; t < std::min(rows.targets.count, kMostCoefficients); ++t) {
    double intercept = parts.bias[t];
    for (std::size_t a = 0; a < rows.columns.scale.size(); ++a) {
      intercept -= parts.weights[t * rows.input_dim + a] * rows.columns.center[a] / rows.columns.scale[a];
    }
    told.push_back({{"target", t}, {"intercept", intercept}});
    if (std::ranges::count(run.hidden_targets, t) > 0) continue;
    const double half = rows.targets.scale[t] / std::sqrt(static_cast<double>(rows.targets.count));
    told.back().update({{"range_low", rows.targets.center[t] - half}, {"range_high", rows.targets.center[t] + half}});
  }
  return told;
}

}  // namespace

nlohmann::json coefficients_json(const FittedRun& run, const StatisticsKeeper& keeper) {
  const ClassifierParts& parts = run.classifier.parts();
  const Preprocessing& rows = parts.preprocessing;
  if (!are_in_raw_units(rows)) return {{"why", rows.normalize == Normalize::kL2 ? kOneLength : kPreparedRows}};
  const std::size_t dim = rows.input_dim;
  const std::vector<double>& stated = run.fit->options().rows.feature_range;
  const FeatureColumns ranges = stated.empty() ? rows.columns : ranges_of("--feature-range", stated, dim);
  std::vector<double> coefficients = parts.weights;
  std::vector<double> effects;  // over ranges, where there are some
  for (std::size_t e = 0; e < coefficients.size(); ++e) {
    if (!rows.columns.scale.empty()) coefficients[e] /= rows.columns.scale[e % dim];
    effects.push_back(coefficients[e] * (ranges.scale.empty() ? 1.0 : 2.0 * ranges.scale[e % dim]));
  }
  Indices largest = all_below(coefficients.size());
  std::ranges::stable_sort(largest, std::greater(),
                           [&](std::size_t e) { return std::abs(effects[e]) / rows.targets.scale[e / dim]; });
  largest.resize(std::min(largest.size(), kMostCoefficients));

  const nlohmann::json intervals = intervals_of(run, keeper);
  const bool has_intervals = intervals["kind"] == to_string(IntervalKind::kFormula);
  nlohmann::json told{{"columns", dim}, {"targets", targets_json(run)}, {"largest", nlohmann::json::array()}};
  for (const std::size_t e : largest) {
    const std::size_t a = e % dim;
    nlohmann::json own{{"target", e / dim},
                       {"column", a},
                       {"name", parts.feature_names.empty() ? fmt::format("{}", a) : parts.feature_names[a]},
                       {"coefficient", coefficients[e]}};
    if (!ranges.scale.empty()) {
      own.update({{"over_range", effects[e]},
                  {"range_low", ranges.center[a] - ranges.scale[a]},
                  {"range_high", ranges.center[a] + ranges.scale[a]}});
    }
    if (has_intervals) {
      const nlohmann::json& of_target = intervals["weights"][e / dim];
      const nlohmann::json& ends = of_target.contains("population") ? of_target["population"] : of_target;
      own.update({{"low", ends["low"][a]}, {"high", ends["high"][a]}});
    }
    told["largest"].push_back(std::move(own));
  }
  if (!has_intervals) {
    told["why"] = intervals["why"];
    return told;
  }
  told["level"] = intervals["level"];
  told["about"] = intervals.contains("population_assumes") ? "population" : "these rows";
  return told;
}

Refit refit_targets(const KeptStatistics& statistics, const RefitOptions& options) {
  require_of_numbers(statistics, options);
  const RequestedTargets asked(statistics, options);
  const std::vector<double> weights = scattered(asked.ridge.solution(), asked.columns(), asked.rows.scored_dim());
  ClassifierParts parts = statistics.of_rows;
  parts.method = to_string(options.method);
  parts.classes = asked.targets.size();
  parts.preprocessing.targets = picked(asked.rows.targets, asked.targets);
  LinearScores scores = in_units_of_targets(fold_intercept(weights, parts.preprocessing), parts.preprocessing.targets);
  parts.preprocessing.intercept = 0.0;  // folded into the bias
  parts.weights = std::move(scores.weights);
  parts.bias = std::move(scores.bias);
  return {Classifier(std::move(parts)), asked.ridge.ridge(), {}};
}

nlohmann::json target_intervals_json(const KeptStatistics& statistics, const RefitOptions& options, double ridge,
                                     double level, std::span<const float> rows) {
  RefitOptions own = options;
  own.lambda = ridge;
  const RequestedTargets asked(statistics, own);
  const Lattice whole = statistics.lattice();
  const std::size_t width = asked.features.size() + 1;
  IntervalTerms terms{.ridge = ridge, .rows = functionals(asked)};
  Preprocessing without = asked.rows;
  without.targets.share = 0.0;
  add_scores_of(terms, rows, without, asked.columns());
  if (!(statistics.of_rows.privacy && statistics.of_rows.privacy->person)) {
    terms.squared_targets = squares_of(asked, whole.scale());
    terms.count = asked.ridge.rows();
  }
  LinearIntervals intervals = linear_intervals(release_of(asked, whole.scale()), part_of(whole, width), terms);
  // From z's target on z's row to the target's own units.
  const TargetColumns targets = picked(asked.rows.targets, asked.targets);
  const std::vector<double> starts = asked.ridge.starts();
  for (std::size_t e = 0; e < intervals.estimates.size(); ++e) {
    const std::size_t t = e % targets.count;
    const std::size_t row = e / targets.count;
    const double unit = asked.ridge.unit() * targets.scale[t];
    intervals.estimates[e] *= unit;
    if (row + 1 >= width) {  // the constant, and predictions
      const double constant = std::sqrt(asked.rows.intercept) * asked.rows.clip_norm;
      intervals.estimates[e] += targets.center[t] + unit * starts[t] * constant;
    }
    intervals.deviations[e] *= unit;
    if (!intervals.population_deviations.empty()) intervals.population_deviations[e] *= unit;
  }
  nlohmann::json told = interval_json(
      intervals, {.level = level, .ridge = ridge, .features = asked.features, .has_bias = true, .of = "target"},
      statistics, options);
  told["units"] = are_in_raw_units(asked.rows) ? "raw" : "prepared";
  return told;
}

}  // namespace dpreduce
