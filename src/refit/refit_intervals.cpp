// Weights and scores of a refit with intervals, as JSON.
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "aggregator/solvers/ridge_path.hpp"
#include "aggregator/solvers/weight_intervals.hpp"
#include "common/base/error.hpp"
#include "common/base/option_checks.hpp"
#include "evaluate/estimates.hpp"
#include "refit/refit.hpp"

namespace dpreduce {
namespace {

constexpr const char* kNothingOfWeights =
    "these statistics say nothing about single weights: noise is too large beside the smallest eigenvalue of the Gram "
    "matrix with its ridge; take a larger --lambda, fewer --features, or release with a larger budget";

constexpr const char* kOneVariance =
    "assumes one variance of labels about their scores, whatever the row; labels have none, so these intervals hold "
    "about as often as they say on average over weights, and not for each weight";

std::string why(const LinearIntervals& intervals, std::size_t dim) {
  const double most = most_kappa_of(dim);
  if (intervals.kind == IntervalKind::kNone) {
    return fmt::format("kappa {:.3g} is above {}: {}", intervals.kappa, most, kNothingOfWeights);
  }
  return fmt::format("kappa {:.3g} is at most {}: the noise is small beside the spectrum", intervals.kappa, most);
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
  require_option_between("--level", level, 0.5, 0.999999);
  if (options.components > 0 || !options.class_weights.empty()) {
    throw UsageError("--intervals goes without --pca and --weights");
  }
  const ChosenStatistics asked(statistics, options);
  const Indices columns = asked.columns();
  const RowTransform transform(statistics.of_rows.preprocessing);
  const std::size_t predicted = rows.size() / transform.input_dim();
  const double intercept = statistics.of_rows.preprocessing.intercept;

  // Weights as a model has them, its bias last; then scores of rows.
  IntervalTerms terms{.ridge = ridge};
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
  const std::optional<double> count = asked.rows();
  // Rows of one person are no sample of the population.
  const bool are_of_persons = statistics.of_rows.privacy && statistics.of_rows.privacy->person;
  if (statistics.has("class_counts") && statistics.most_labels == 1 && !are_of_persons) {
    const ReleasedBlock counts = asked.class_counts();
    terms.squared_targets.assign(counts.values().begin(), counts.values().end());
    terms.count = *count;
  }
  const Lattice lattice = asked.lattice_of(columns.size());
  const LinearIntervals intervals =
      linear_intervals(Release({asked.gram(columns), asked.class_sums(columns)}), lattice, terms);
  nlohmann::json told{{"kind", to_string(intervals.kind)},
                      {"kappa", intervals.kappa},
                      {"why", why(intervals, columns.size())},
                      {"level", level},
                      {"ridge", ridge},
                      {"features", asked.features()},
                      {"has_bias", asked.has_intercept()},
                      {"chosen", options.chooses()},
                      {"weights", nlohmann::json::array()},
                      {"predictions", nlohmann::json::array()},
                      {"private", statistics.of_rows.privacy.has_value()}};
  if (const Forfeits& forfeits = statistics.of_rows.forfeits; !forfeits.empty()) {
    told["forfeited_by"] = forfeits_json<nlohmann::json>(forfeits);
  }
  if (options.chooses()) {
    told["note"] = "ridge or features were chosen by looking at these statistics: intervals do not know of that choice";
  }
  if (intervals.kind == IntervalKind::kNone) {
    if (!count) return told;
    told["prediction_noise"] = ridge_path(Release({asked.gram(columns), asked.class_sums(columns)}), lattice,
                                          {&ridge, 1}, {.count = *count}, seed_of(statistics))
                                   .front()
                                   .noise;
    return told;
  }
  if (!intervals.population_deviations.empty()) told["population_assumes"] = kOneVariance;
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
