#include "refit/refit.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "aggregator/solvers/fisher_rule.hpp"
#include "aggregator/solvers/gram_spectrum.hpp"
#include "aggregator/solvers/least_squares.hpp"
#include "aggregator/solvers/mean_classifier.hpp"
#include "common/base/class_names.hpp"
#include "common/base/error.hpp"
#include "common/plan/triangle.hpp"
#include "common/simulation/counter_random.hpp"
#include "evaluate/share_interval.hpp"

namespace dpreduce {
namespace {

// The usual ridge times these, the usual one in the middle.
constexpr int kPathSteps = 6;

using Indices = std::vector<std::size_t>;

Indices all_below(std::size_t count) {
  Indices all(count);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

void require_indices(const char* option, const Indices& indices, std::size_t count, const char* of_what) {
  for (std::size_t place = 0; place < indices.size(); ++place) {
    if (indices[place] >= count) {
      throw UsageError(
          fmt::format("{} {}: there are {} {}, from 0 to {}", option, indices[place], count, of_what, count - 1));
    }
    if (place > 0 && indices[place] <= indices[place - 1]) {
      throw UsageError(fmt::format("{}: name each once, in rising order; {} follows {}", option, indices[place],
                                   indices[place - 1]));
    }
  }
}

ReleasedBlock picked(const ReleasedBlock& block, const Indices& rows, const Indices& columns, std::size_t width) {
  std::vector<std::int64_t> values;
  values.reserve(rows.size() * columns.size());
  for (const std::size_t row : rows) {
    for (const std::size_t column : columns) values.push_back(block.values()[row * width + column]);
  }
  return {block.name(), std::move(values), block.sigma()};
}

// The rows and columns of a triangle at those indices, ascending.
std::vector<std::int64_t> picked_triangle(std::span<const std::int64_t> triangle, const Indices& kept,
                                          std::size_t dim) {
  std::vector<std::int64_t> values;
  values.reserve(triangle_elements(kept.size()));
  for (std::size_t a = 0; a < kept.size(); ++a) {
    const std::size_t row = triangle_row(kept[a], dim);
    for (std::size_t b = a; b < kept.size(); ++b) values.push_back(triangle[row + kept[b] - kept[a]]);
  }
  return values;
}

// The statistics as they are asked for: of some classes, of some features. Solvers see rows of these features alone.
class Asked {
 public:
  Asked(const KeptStatistics& statistics, const RefitOptions& options) : statistics_(statistics), options_(options) {
    const std::size_t all_classes = statistics.of_rows.classes;
    require_indices("--classes-kept", options.classes, all_classes, "classes");
    classes_ = options.classes.empty() ? all_below(all_classes) : options.classes;
    if (classes_.size() < 2) throw UsageError("--classes-kept: keep at least two");
    require_indices("--features", options.features, dim(), "features of prepared rows");
    features_ = options.features.empty() ? all_below(dim()) : options.features;
    if (!options.class_weights.empty()) require_weights();
    if (options.select > features_.size()) {
      throw UsageError(fmt::format("--select {}: there are {} features", options.select, features_.size()));
    }
  }

  // Features of prepared rows, without the intercept.
  std::size_t dim() const { return statistics_.of_rows.preprocessing.dim(); }
  const Indices& classes() const { return classes_; }
  const Indices& features() const { return features_; }
  bool has_intercept() const { return statistics_.of_rows.preprocessing.intercept > 0.0; }

  // Those whose directions of class sums are farthest apart, of the features that are left.
  void select() {
    const Release sums({class_sums(features_)});
    const Indices places = select_features(sums, lattice_of(features_.size()), options_.select);
    Indices selected;
    for (const std::size_t place : places) selected.push_back(features_[place]);
    features_ = selected;
  }

  // The features, and the intercept where there is one.
  Indices columns() const {
    Indices columns = features_;
    if (has_intercept()) columns.push_back(dim());
    return columns;
  }

  // Of the same scale as that of whole rows.
  Lattice lattice_of(std::size_t columns) const {
    const Lattice whole = statistics_.lattice();
    if (columns == whole.dim) return whole;
    Lattice part{1.0, columns};
    part.clip_norm = part.scale() / whole.scale();
    return part;
  }

  ReleasedBlock class_sums(const Indices& columns) const {
    const ReleasedBlock& sums = statistics_.block("class_sums");
    if (options_.class_weights.empty() || options_.method != RefitMethod::kLs) {
      return picked(sums, classes_, columns, statistics_.lattice().dim);
    }
    ReleasedBlock weighed = picked(sums, classes_, columns, statistics_.lattice().dim);
    std::vector<std::int64_t> values(weighed.values().begin(), weighed.values().end());
    for (std::size_t e = 0; e < values.size(); ++e) {
      values[e] = std::llround(weight(e / columns.size()) * static_cast<double>(values[e]));
    }
    return {weighed.name(), std::move(values), weighed.sigma()};
  }

  // Of all rows that count: of kept classes where that can be told apart, each as it is weighed.
  ReleasedBlock gram(const Indices& columns) const {
    const bool are_all_alike = options_.class_weights.empty() && (options_.classes.empty() || !has_class_grams());
    if (are_all_alike && statistics_.has("gram")) {
      const ReleasedBlock& whole = statistics_.block("gram");
      return {"gram", picked_triangle(whole.values(), columns, statistics_.lattice().dim), whole.sigma()};
    }
    std::vector<std::int64_t> sum(triangle_elements(columns.size()), 0);
    double squared_weights = 0.0;
    for (std::size_t place = 0; place < classes_.size(); ++place) {
      const ReleasedBlock own = class_gram(place, columns);
      for (std::size_t e = 0; e < sum.size(); ++e) {
        sum[e] += std::llround(weight(place) * static_cast<double>(own.values()[e]));
      }
      squared_weights += weight(place) * weight(place);
    }
    return {"gram", std::move(sum), statistics_.block("class_grams").sigma() * std::sqrt(squared_weights)};
  }

  // The matrix of kept class number `place`.
  ReleasedBlock class_gram(std::size_t place, const Indices& columns) const {
    const ReleasedBlock& grams = statistics_.block("class_grams");
    const std::size_t dim = statistics_.lattice().dim;
    const std::size_t triangle = triangle_elements(dim);
    return {"class_grams", picked_triangle(grams.values().subspan(classes_[place] * triangle, triangle), columns, dim),
            grams.sigma()};
  }

  bool has_class_grams() const { return statistics_.has("class_grams"); }

  ReleasedBlock class_counts() const { return picked(statistics_.block("class_counts"), classes_, {0}, 1); }

  // Sums of squares of each feature over rows of kept classes.
  ReleasedBlock second_moments() const {
    if (statistics_.has("second_moments")) {
      if (!options_.classes.empty()) {
        throw UsageError(
            "--classes-kept with --method fisher: second moments are of all classes; keep all, or release "
            "class_grams");
      }
      return picked(statistics_.block("second_moments"), {0}, features_, statistics_.lattice().dim);
    }
    if (!options_.classes.empty() && !has_class_grams()) statistics_.block("class_grams");  // throws
    const ReleasedBlock matrix = gram(features_);
    std::vector<std::int64_t> diagonal;
    for (std::size_t a = 0; a < features_.size(); ++a) {
      diagonal.push_back(matrix.values()[triangle_row(a, features_.size())]);
    }
    return {"second_moments", std::move(diagonal), matrix.sigma()};
  }

  double weight(std::size_t place) const {
    return options_.class_weights.empty() ? 1.0 : options_.class_weights[place];
  }

  // About how many rows there are.
  double rows() const {
    double count = 0.0;
    if (statistics_.has("class_counts")) {
      for (const std::int64_t own : statistics_.block("class_counts").values()) count += static_cast<double>(own);
    } else {
      const Lattice lattice = statistics_.lattice();
      const std::vector<double> matrix = gram_in_units({"gram", values_of_whole_gram(), 1.0}, lattice);
      for (std::size_t a = 0; a < lattice.dim; ++a) count += matrix[a * lattice.dim + a];
      count /= lattice.clip_norm * lattice.clip_norm;
    }
    return std::max(count, 1.0);
  }

 private:
  std::vector<std::int64_t> values_of_whole_gram() const {
    const ReleasedBlock whole = gram(all_below(statistics_.lattice().dim));
    return {whole.values().begin(), whole.values().end()};
  }

  void require_weights() const {
    if (options_.class_weights.size() != classes_.size()) {
      throw UsageError(fmt::format("--weights: {} for {} classes; give one a class that is kept",
                                   options_.class_weights.size(), classes_.size()));
    }
    for (const double weight : options_.class_weights) {
      if (!(weight > 0.0 && weight <= 1e6))
        throw UsageError(fmt::format("--weights {}: must be above 0, 1e6 at most", weight));
    }
  }

  const KeptStatistics& statistics_;
  const RefitOptions& options_;
  Indices classes_;
  Indices features_;
};

// `rows`, K x |columns|, with zeros where there are other columns, K x width.
std::vector<double> scattered(std::span<const double> rows, const Indices& columns, std::size_t width) {
  std::vector<double> all(rows.size() / columns.size() * width, 0.0);
  for (std::size_t e = 0; e < rows.size(); ++e) all[e / columns.size() * width + columns[e % columns.size()]] = rows[e];
  return all;
}

// The seed of simulated noise is a function of what was released.
std::uint64_t seed_of(const KeptStatistics& statistics) {
  std::uint64_t seed = 0;
  for (const ReleasedBlock& block : statistics.blocks) {
    for (const std::int64_t value : block.values()) seed = mix_bits(seed ^ static_cast<std::uint64_t>(value));
  }
  return seed;
}

double usual_ridge(const ReleasedBlock& gram, const Lattice& lattice) {
  return kSharedRidgeInRadii * noise_radius_of(gram, lattice) + lattice.clip_norm * lattice.clip_norm;
}

// The ridge of a shared Gram matrix, and what it was chosen by.
struct RidgeTaken {
  std::optional<double> ridge{};
  std::vector<RidgePoint> path{};
};

LinearScores solve_shared(const Asked& asked, const RefitOptions& options, const KeptStatistics& statistics,
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
    made.path = ridge_path(release, lattice, ridges, asked.rows(), seed_of(statistics), options.components);
    const auto best = std::ranges::min_element(made.path, {}, &RidgePoint::loss);
    factor = best->ridge / usual;
  }
  made.ridge = factor * usual;
  const std::vector<double> weights =
      solve_least_squares(release, lattice, kSharedRidgeInRadii, {&factor, 1}, options.components).front();
  return fold_intercept(scattered(weights, columns, statistics.lattice().dim), statistics.of_rows.preprocessing);
}

double alpha_of(const KeptStatistics& statistics, const RefitOptions& options) {
  if (options.alpha) return *options.alpha;
  return statistics.settings.contains("alpha") && statistics.settings["alpha"].is_number()
             ? statistics.settings["alpha"].get<double>()
             : 1.0;
}

LinearScores solve_by_class(const Asked& asked, const RefitOptions& options, const KeptStatistics& statistics) {
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
LinearScores of_features(LinearScores scores, const Asked& asked, const KeptStatistics& statistics) {
  scores.weights = scattered(scores.weights, asked.features(), asked.dim());
  const double intercept = statistics.of_rows.preprocessing.intercept;
  if (intercept == 0.0) return scores;
  for (double& weight : scores.weights) weight *= std::sqrt(1.0 - intercept);
  return scores;
}

LinearScores solve_means(const Asked& asked, const RefitOptions& options, const KeptStatistics& statistics) {
  std::vector<ReleasedBlock> blocks{asked.class_sums(asked.features())};
  if (options.metric == Metric::kEuclidean) blocks.push_back(asked.class_counts());
  return of_features(solve_mean_classifier(Release(std::move(blocks)), asked.lattice_of(asked.features().size()),
                                           options.metric, options.select),
                     asked, statistics);
}

LinearScores solve_fisher(const Asked& asked, const RefitOptions& options, const KeptStatistics& statistics) {
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
  require(!options.chooses_ridge || is_shared, "--lambda path goes with --method ls --shared-gram");
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
  Asked asked(statistics, options);
  if (options.method == RefitMethod::kLs && options.select > 0) asked.select();
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

namespace {

constexpr const char* kNothingOfWeights =
    "these statistics say nothing about single weights: noise is too large beside the smallest eigenvalue of the Gram "
    "matrix with its ridge; take a larger --lambda, fewer --features, or release with a larger budget";

std::string why(const LinearIntervals& intervals) {
  switch (intervals.kind) {
    case IntervalKind::kFormula:
      return fmt::format("kappa {:.3g} is below {}: the noise is small beside the spectrum", intervals.kappa,
                         kMostKappaOfFormula);
    case IntervalKind::kBootstrap:
      return fmt::format("kappa {:.3g} is from {} to {}: the noise, which is known, was simulated", intervals.kappa,
                         kMostKappaOfFormula, kMostKappa);
    case IntervalKind::kNone:
      break;
  }
  return fmt::format("kappa {:.3g} is above {}: {}", intervals.kappa, kMostKappa, kNothingOfWeights);
}

// Estimates and ends of the intervals of class `c`, for the rows from `first` to `end` of those that they are about.
nlohmann::json of_class(const LinearIntervals& intervals, std::size_t c, std::size_t classes, std::size_t first,
                        std::size_t end, double quantile) {
  nlohmann::json own{{"class", c}};
  const auto add = [&](nlohmann::json& into, const std::vector<double>& deviations) {
    for (std::size_t row = first; row < end; ++row) {
      const std::size_t e = row * classes + c;
      into["low"].push_back(intervals.estimates[e] - quantile * deviations[e]);
      into["high"].push_back(intervals.estimates[e] + quantile * deviations[e]);
    }
  };
  for (std::size_t row = first; row < end; ++row) own["estimates"].push_back(intervals.estimates[row * classes + c]);
  add(own, intervals.deviations);
  if (!intervals.population_deviations.empty()) add(own["population"], intervals.population_deviations);
  return own;
}

}  // namespace

nlohmann::json intervals_json(const KeptStatistics& statistics, const RefitOptions& options, double ridge, double level,
                              std::span<const float> rows) {
  if (options.components > 0 || !options.class_weights.empty()) {
    throw UsageError("--intervals goes without --pca and --weights");
  }
  Asked asked(statistics, options);
  if (options.select > 0) asked.select();
  const Indices columns = asked.columns();
  RowTransform transform(statistics.of_rows.preprocessing);
  const std::size_t predicted = rows.size() / transform.input_dim();
  const double intercept = statistics.of_rows.preprocessing.intercept;

  // Weights as a model has them, its bias last; then scores of rows.
  IntervalTerms terms{.ridge = ridge, .seed = seed_of(statistics)};
  terms.rows.assign((columns.size() + predicted) * columns.size(), 0.0);
  for (std::size_t a = 0; a < columns.size(); ++a) {
    const bool is_bias = columns[a] == asked.dim();
    terms.rows[a * columns.size() + a] =
        is_bias ? std::sqrt(intercept) * statistics.of_rows.preprocessing.clip_norm : std::sqrt(1.0 - intercept);
  }
  std::vector<double> prepared(transform.output_dim());
  for (std::size_t row = 0; row < predicted; ++row) {
    if (!transform(rows.subspan(row * transform.input_dim(), transform.input_dim()), prepared)) {
      throw BadInput(fmt::format("--intervals-x: row {} has a NaN or an infinity; leave it out", row));
    }
    for (std::size_t a = 0; a < columns.size(); ++a) {
      terms.rows[(columns.size() + row) * columns.size() + a] = prepared[columns[a]];
    }
  }
  if (statistics.has("class_counts") && statistics.most_labels == 1) {
    const ReleasedBlock counts = asked.class_counts();
    terms.squared_targets.assign(counts.values().begin(), counts.values().end());
    terms.count = asked.rows();
  }
  const Lattice lattice = asked.lattice_of(columns.size());
  const LinearIntervals intervals =
      linear_intervals(Release({asked.gram(columns), asked.class_sums(columns)}), lattice, terms);
  nlohmann::json told{{"kind", to_string(intervals.kind)},
                      {"kappa", intervals.kappa},
                      {"why", why(intervals)},
                      {"level", level},
                      {"ridge", ridge},
                      {"features", asked.features()},
                      {"has_bias", asked.has_intercept()},
                      {"chosen", options.chooses()},
                      {"weights", nlohmann::json::array()},
                      {"predictions", nlohmann::json::array()}};
  if (options.chooses()) {
    told["note"] = "ridge or features were chosen by looking at these statistics: intervals do not know of that choice";
  }
  if (intervals.kind == IntervalKind::kNone) {
    const double one = ridge_path(Release({asked.gram(columns), asked.class_sums(columns)}), lattice, {&ridge, 1},
                                  asked.rows(), terms.seed)
                           .front()
                           .noise;
    told["prediction_noise"] = one;
    return told;
  }
  const double quantile = two_sided_quantile(level);
  const std::size_t classes = asked.classes().size();
  for (std::size_t c = 0; c < classes; ++c) {
    told["weights"].push_back(of_class(intervals, c, classes, 0, columns.size(), quantile));
    if (predicted == 0) continue;
    told["predictions"].push_back(
        of_class(intervals, c, classes, columns.size(), columns.size() + predicted, quantile));
  }
  return told;
}

}  // namespace dpreduce
