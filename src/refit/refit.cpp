#include "refit/refit.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "aggregator/solvers/gram_spectrum.hpp"
#include "aggregator/solvers/least_squares.hpp"
#include "aggregator/solvers/linear_scores.hpp"
#include "aggregator/solvers/mean_classifier.hpp"
#include "common/base/error.hpp"
#include "common/base/option_table.hpp"
#include "common/data/counter_random.hpp"
#include "common/ranks/communicator.hpp"
#include "worker/metrics/estimates.hpp"

namespace dpreduce {
namespace {

// The usual ridge times these, the usual one in the middle.
constexpr int kPathSteps = 6;

// Seed of simulated noise: a function of the released values.
std::uint64_t seed_of(const KeptStatistics& statistics) {
  std::uint64_t seed = 0;
  for (const ReleasedBlock& block : statistics.blocks) {
    for (const std::int64_t value : block.values()) seed = mix_bits(seed ^ static_cast<std::uint64_t>(value));
  }
  return seed;
}

// Scores, and of a shared Gram matrix the ridge and the criterion of its choice.
struct Solved {
  LinearScores scores;
  std::optional<double> ridge{};
  std::vector<RidgePoint> path{};
};

// Scores by weights of the chosen columns.
LinearScores scores_by(const std::vector<double>& weights, const ChosenStatistics& asked) {
  const KeptStatistics& statistics = asked.statistics;
  return fold_intercept(scattered(weights, asked.columns(), statistics.lattice().dim),
                        statistics.of_rows.preprocessing);
}

Solved solve_shared(const ChosenStatistics& asked) {
  const RefitOptions& options = asked.options;
  const Indices columns = asked.columns();
  const Lattice lattice = asked.lattice_of(columns.size());
  if (options.components > columns.size()) {
    throw UsageError("--pca {}: there are {} features", options.components, columns.size());
  }
  const Release release({asked.gram(columns), asked.class_sums(columns)});
  const double usual =
      kLsRidgeInRadii * noise_radius_of(release.block("gram"), lattice) + lattice.clip_norm * lattice.clip_norm;
  double factor = options.lambda ? *options.lambda / usual : 1.0;
  std::vector<RidgePoint> path;
  if (options.chooses_ridge) {
    const std::optional<double> rows = asked.rows();
    const std::optional<double> squares = asked.squared_targets();
    if (!rows || !squares) {
      throw UsageError(
          "--lambda path: the number of rows is unknown; the path needs rows of one class each, and class_sizes if "
          "--normalize is none or --classes-kept is given; or give a number as --lambda");
    }
    std::vector<double> ridges;
    for (int step = -kPathSteps; step <= kPathSteps; ++step) ridges.push_back(std::ldexp(usual, step));
    path = ridge_path(release, lattice, ridges, {*rows, *squares}, seed_of(asked.statistics), options.components);
    const auto best = std::ranges::min_element(path, {}, &RidgePoint::loss);
    factor = best->ridge / usual;
  }
  Communicator here = Communicator::alone();
  const std::vector<double> weights =
      solve_least_squares(here, release, lattice, release.block("class_sums").values().size() / lattice.dim,
                          kLsRidgeInRadii, {&factor, 1}, options.components)
          .front();
  return {scores_by(weights, asked), factor * usual, std::move(path)};
}

LinearScores solve_by_class(const ChosenStatistics& asked) {
  const Indices columns = asked.columns();
  const Lattice lattice = asked.lattice_of(columns.size());
  const ClassRidge ridge{.alpha = asked.alpha(), .lambda = asked.options.lambda};
  std::optional<ReleasedBlock> gram;
  if (ridge.alpha > 0.0) gram = asked.gram(columns);
  const ReleasedBlock sums = asked.class_sums(columns);
  std::vector<double> weights;
  for (std::size_t place = 0; place < asked.classes.size(); ++place) {
    const std::vector<double> theta =
        solve_class(ridge, lattice, gram ? &*gram : nullptr, asked.class_gram(place, columns),
                    sums.values().subspan(place * columns.size(), columns.size()));
    weights.insert(weights.end(), theta.begin(), theta.end());
  }
  return scores_by(weights, asked);
}

// Class means and the Fisher rule have no use for the intercept, which shortens rows by sqrt(1 - a).
LinearScores of_features(LinearScores scores, const ChosenStatistics& asked) {
  scores.weights = scattered(scores.weights, asked.features, asked.dim());
  const double intercept = asked.statistics.of_rows.preprocessing.intercept;
  if (intercept == 0.0) return scores;
  for (double& weight : scores.weights) weight *= std::sqrt(1.0 - intercept);
  return scores;
}

LinearScores solve_means(const ChosenStatistics& asked) {
  const RefitOptions& options = asked.options;
  std::vector<ReleasedBlock> blocks{asked.class_sums(asked.features)};
  if (options.metric == Metric::kEuclidean) blocks.push_back(asked.class_counts());
  return of_features(solve_mean_classifier(Release(std::move(blocks)), asked.lattice_of(asked.features.size()),
                                           options.metric, options.select),
                     asked);
}

LinearScores solve_fisher(const ChosenStatistics& asked) {
  const RefitOptions& options = asked.options;
  const Release release({asked.class_sums(asked.features), asked.second_moments(), asked.class_counts()});
  LinearScores scores = solve_fisher_rule(release, asked.lattice_of(asked.features.size()), options.select,
                                          options.select_by.value_or(SelectBy::kDistance));
  for (std::size_t place = 0; place < scores.bias.size(); ++place) {
    if (!options.class_weights.empty()) scores.bias[place] += std::log(asked.weight(place));
  }
  return of_features(std::move(scores), asked);
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
  require(!options.chooses_ridge || is_shared, "--lambda path goes with --method ls --shared-gram");
  require(!options.alpha || !is_shared, "--alpha goes with class_grams, and not with --shared-gram");
  require(options.components == 0 || is_shared, "--pca goes with --method ls --shared-gram");
  require(options.class_weights.empty() || options.method == RefitMethod::kFisher ||
              (is_shared && statistics.has("class_grams")),
          "--weights goes with --method fisher, or with --method ls --shared-gram where class_grams were released");
}

Solved solve(const ChosenStatistics& asked) {
  if (asked.options.method == RefitMethod::kMean) return {solve_means(asked)};
  if (asked.options.method == RefitMethod::kFisher) return {solve_fisher(asked)};
  if (!shares_gram(asked.statistics, asked.options)) return {solve_by_class(asked)};
  return solve_shared(asked);
}

std::optional<double> threshold_of(const ChosenStatistics& asked) {
  if (asked.statistics.most_labels == 1 || asked.options.method != RefitMethod::kLs) return std::nullopt;
  return shares_gram(asked.statistics, asked.options) ? 0.5 : 0.5 / (0.5 + asked.alpha());
}

}  // namespace

std::vector<double> scattered(std::span<const double> rows, const Indices& columns, std::size_t width) {
  std::vector<double> all(rows.size() / columns.size() * width, 0.0);
  for (std::size_t e = 0; e < rows.size(); ++e) all[e / columns.size() * width + columns[e % columns.size()]] = rows[e];
  return all;
}

Refit refit(const KeptStatistics& statistics, const RefitOptions& options) {
  if (statistics.of_rows.preprocessing.targets.count > 0) return refit_targets(statistics, options);
  require_consistent(statistics, options);
  const ChosenStatistics asked(statistics, options);
  Solved solved = solve(asked);
  ClassifierParts parts = statistics.of_rows;
  parts.method = to_string(options.method);
  parts.preprocessing.intercept = 0.0;  // folded into the bias
  parts.threshold = threshold_of(asked);
  parts.classes = asked.classes.size();
  if (!parts.class_names.empty() || !options.classes.empty()) {  // else a class that is kept would lose its number
    std::vector<std::string> names;
    for (const std::size_t own : asked.classes) {
      names.push_back(parts.class_names.empty() ? std::to_string(own) : parts.class_names[own]);
    }
    parts.class_names = std::move(names);
  }
  parts.weights = std::move(solved.scores.weights);
  parts.bias = std::move(solved.scores.bias);
  return {Classifier(std::move(parts)), solved.ridge, std::move(solved.path)};
}

// Weights and scores with intervals, as JSON.
namespace {

constexpr const char* kNothingOfWeights =
    "these statistics give no interval for single weights: the noise is too large relative to the smallest eigenvalue "
    "of the Gram matrix with its ridge; use a larger --lambda, fewer --features, or release with a larger budget";

constexpr const char* kOneVariance =
    "assumes that labels or numbers have the same variance about their scores in every row, which labels of classes "
    "do not have exactly: coverage is about as stated on average over weights, but not for each weight";

std::string why(const LinearIntervals& intervals, std::size_t dim) {
  const double most = most_kappa_of(dim);
  if (intervals.kind == IntervalKind::kNone) {
    return fmt::format("kappa {:.3g} is above {}: {}", intervals.kappa, most, kNothingOfWeights);
  }
  return fmt::format("kappa {:.3g} is at most {}: the noise is small relative to the spectrum", intervals.kappa, most);
}

// Estimates and ends of the intervals of class or target `c`, for the rows from `first` to `end`.
nlohmann::json of_class(const LinearIntervals& intervals, const IntervalShape& shape, std::size_t c, std::size_t first,
                        std::size_t end) {
  const double quantile = two_sided_quantile(shape.level);
  const std::size_t classes = intervals.classes;
  nlohmann::json own{{shape.of, c}};
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

void add_scores_of(IntervalTerms& terms, std::span<const float> rows, const Preprocessing& preprocessing,
                   const Indices& columns) {
  const RowTransform transform(preprocessing);
  const std::size_t count = rows.size() / transform.input_dim();
  terms.rows.reserve(terms.rows.size() + count * columns.size());
  std::vector<double> prepared(transform.output_dim());
  for (std::size_t row = 0; row < count; ++row) {
    if (!transform(rows.subspan(row * transform.input_dim(), transform.input_dim()), prepared)) {
      throw BadInput("--intervals-x: row {} has a NaN or an infinity; leave it out", row);
    }
    for (const std::size_t column : columns) terms.rows.push_back(prepared[column]);
  }
}

nlohmann::json interval_json(const LinearIntervals& intervals, const IntervalShape& shape,
                             const KeptStatistics& statistics, const RefitOptions& options) {
  const std::size_t columns = shape.features.size() + (shape.has_bias ? 1 : 0);
  const ClassifierParts& of_rows = statistics.of_rows;
  nlohmann::json told{{"kind", to_string(intervals.kind)},
                      {"kappa", intervals.kappa},
                      {"why", why(intervals, columns)},
                      {"level", shape.level},
                      {"chosen", options.chooses()},
                      {"weights", nlohmann::json::array()},
                      {"predictions", nlohmann::json::array()},
                      {"ridge", shape.ridge},
                      {"features", shape.features},
                      {"has_bias", shape.has_bias},
                      {"private", of_rows.privacy.has_value()}};
  if (!of_rows.forfeits.empty()) told["forfeited_by"] = forfeits_json<nlohmann::json>(of_rows.forfeits);
  if (options.chooses()) {
    told["note"] = "ridge or features were chosen from these statistics: intervals do not account for that choice";
  }
  if (!intervals.population_deviations.empty()) told["population_assumes"] = kOneVariance;
  const std::size_t rows = intervals.classes == 0 ? 0 : intervals.estimates.size() / intervals.classes;
  for (std::size_t c = 0; c < intervals.classes; ++c) {
    told["weights"].push_back(of_class(intervals, shape, c, 0, columns));
    if (rows > columns) told["predictions"].push_back(of_class(intervals, shape, c, columns, rows));
  }
  return told;
}

nlohmann::json intervals_json(const KeptStatistics& statistics, const RefitOptions& options, double ridge, double level,
                              std::span<const float> rows) {
  require_option_between("--level", level, 0.5, 0.999999);
  if (options.components > 0 || !options.class_weights.empty()) {
    throw UsageError("--intervals goes without --pca and --weights");
  }
  if (statistics.of_rows.preprocessing.targets.count > 0) {
    return target_intervals_json(statistics, options, ridge, level, rows);
  }
  const ChosenStatistics asked(statistics, options);
  const Indices columns = asked.columns();
  const Preprocessing& preprocessing = statistics.of_rows.preprocessing;
  const double intercept = preprocessing.intercept;

  // Weights as a model has them, its bias last; then scores of rows.
  IntervalTerms terms{.ridge = ridge};
  terms.rows.assign(columns.size() * columns.size(), 0.0);
  for (std::size_t a = 0; a < columns.size(); ++a) {
    const bool is_bias = columns[a] == asked.dim();
    terms.rows[a * columns.size() + a] =
        is_bias ? std::sqrt(intercept) * preprocessing.clip_norm : std::sqrt(1.0 - intercept);
  }
  add_scores_of(terms, rows, preprocessing, columns);
  const std::optional<double> count = asked.rows();
  // Rows of one person are no sample of the population.
  const bool are_of_persons = statistics.of_rows.privacy && statistics.of_rows.privacy->person;
  if (statistics.has("class_counts") && statistics.most_labels == 1 && !are_of_persons) {
    const ReleasedBlock counts = asked.class_counts();
    terms.squared_targets.assign(counts.values().begin(), counts.values().end());
    terms.count = *count;
  }
  const Lattice lattice = asked.lattice_of(columns.size());
  const Release release({asked.gram(columns), asked.class_sums(columns)});
  const LinearIntervals intervals = linear_intervals(release, lattice, terms);
  nlohmann::json told = interval_json(
      intervals,
      {.level = level, .ridge = ridge, .features = asked.features, .has_bias = asked.has_intercept(), .of = "class"},
      statistics, options);
  if (intervals.kind == IntervalKind::kNone && count) {
    told["prediction_noise"] =
        ridge_path(release, lattice, {&ridge, 1}, {.count = *count}, seed_of(statistics)).front().noise;
  }
  return told;
}

std::uint64_t memory_of_intervals(const KeptStatistics& statistics, std::uint64_t rows) {
  // z, u, and two of their size to take its bias away.
  constexpr std::uint64_t kMatrices = 4;
  // An estimate, its deviations and products of them; five numbers as JSON, in arrays that double; and their text
  // twice.
  constexpr std::uint64_t kBytesOfScore = 4 * sizeof(double) + 5 * (2 * sizeof(nlohmann::json) + 2 * 40);
  const std::uint64_t dim = statistics.lattice().dim;
  return rows * statistics.of_rows.preprocessing.input_dim * sizeof(float) +
         (rows + dim) * (kMatrices * dim * sizeof(double) + statistics.of_rows.classes * kBytesOfScore);
}

}  // namespace dpreduce
