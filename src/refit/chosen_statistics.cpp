#include <algorithm>
#include <cmath>
#include <numeric>

#include "aggregator/solvers/mean_classifier.hpp"
#include "common/base/error.hpp"
#include "common/ledger/triangle.hpp"
#include "refit/refit.hpp"

namespace dpreduce {
namespace {

ReleasedBlock picked(const ReleasedBlock& block, const Indices& rows, const Indices& columns, std::size_t width) {
  std::vector<std::int64_t> values;
  values.reserve(rows.size() * columns.size());
  for (const std::size_t row : rows) {
    for (const std::size_t column : columns) values.push_back(block.values()[row * width + column]);
  }
  return {block.name(), std::move(values), block.sigma()};
}

// sum + weight value, where noise still has room beside it.
std::int64_t plus_weighed(std::int64_t sum, double weight, std::int64_t value) {
  const double weighed = weight * static_cast<double>(value);
  if (!(std::abs(static_cast<double>(sum) + weighed) < 0x1p62)) {
    throw UsageError("--weights: a weighed sum passes 2^62; give smaller weights");
  }
  return sum + (weight == 1.0 ? value : std::llround(weighed));
}

void require_weights(const std::vector<double>& weights, std::size_t classes) {
  if (weights.size() != classes) {
    throw UsageError("--weights: {} for {} classes; give one for each kept class", weights.size(), classes);
  }
  for (const double weight : weights) {
    if (!(weight > 0.0 && weight <= 1e6)) throw UsageError("--weights {}: must be above 0, 1e6 at most", weight);
  }
}

// At least 1.
double sum_of(const ReleasedBlock& counts) {
  double sum = 0.0;
  for (const std::int64_t own : counts.values()) sum += static_cast<double>(own);
  return std::max(sum, 1.0);
}

}  // namespace

Indices all_below(std::size_t count) {
  Indices all(count);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

void require_indices(const char* option, const Indices& indices, std::size_t count, const char* of_what) {
  for (std::size_t place = 0; place < indices.size(); ++place) {
    if (indices[place] >= count) {
      throw UsageError("{} {}: there are {} {}, from 0 to {}", option, indices[place], count, of_what, count - 1);
    }
    if (place > 0 && indices[place] <= indices[place - 1]) {
      throw UsageError("{}: name each once, in increasing order; {} follows {}", option, indices[place],
                       indices[place - 1]);
    }
  }
}

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

Lattice part_of(const Lattice& whole, std::size_t columns) {
  if (columns == whole.dim) return whole;
  Lattice part{1.0, columns};
  part.clip_norm = part.scale() / whole.scale();
  return part;
}

ChosenStatistics::ChosenStatistics(const KeptStatistics& kept, const RefitOptions& requested)
    : statistics(kept), options(requested), classes(chosen_classes()), features(chosen_features()) {}

Indices ChosenStatistics::chosen_classes() const {
  const std::size_t all_classes = statistics.of_rows.classes;
  require_indices("--classes-kept", options.classes, all_classes, "classes");
  Indices chosen = options.classes.empty() ? all_below(all_classes) : options.classes;
  if (chosen.size() < 2) throw UsageError("--classes-kept: keep at least two");
  if (!options.class_weights.empty()) require_weights(options.class_weights, chosen.size());
  return chosen;
}

Indices ChosenStatistics::chosen_features() const {
  require_indices("--features", options.features, dim(), "features of prepared rows");
  const Indices chosen = options.features.empty() ? all_below(dim()) : options.features;
  if (options.select > chosen.size()) {
    throw UsageError("--select {}: there are {} features", options.select, chosen.size());
  }
  if (options.select == 0 || options.method != RefitMethod::kLs) return chosen;
  // The features whose directions of class sums are farthest apart.
  Indices selected = select_features(Release({class_sums(chosen)}), lattice_of(chosen.size()), options.select);
  for (std::size_t& place : selected) place = chosen[place];
  return selected;
}

Indices ChosenStatistics::columns() const {
  Indices columns = features;
  if (has_intercept()) columns.push_back(dim());
  return columns;
}

Lattice ChosenStatistics::lattice_of(std::size_t columns) const {
  return part_of(statistics.lattice(), columns);
}

double ChosenStatistics::weight(std::size_t place) const {
  return options.class_weights.empty() ? 1.0 : options.class_weights[place];
}

std::optional<double> ChosenStatistics::rows() const {
  if (statistics.has("class_counts")) {
    return sum_of(has_class_grams() ? class_counts() : statistics.block("class_counts"));
  }
  if (statistics.of_rows.preprocessing.normalize != Normalize::kL2) return std::nullopt;
  const Lattice lattice = statistics.lattice();
  const ReleasedBlock whole = gram(all_below(lattice.dim));
  double trace = 0.0;
  for (std::size_t a = 0; a < lattice.dim; ++a) {
    trace += static_cast<double>(whole.values()[triangle_row(a, lattice.dim)]);
  }
  return std::max(trace / std::pow(lattice.scale() * lattice.clip_norm, 2), 1.0);
}

std::optional<double> ChosenStatistics::squared_targets() const {
  if (statistics.most_labels > 1) return std::nullopt;
  if (statistics.has("class_counts")) return sum_of(class_counts());
  return options.classes.empty() || has_class_grams() ? rows() : std::nullopt;
}

ReleasedBlock ChosenStatistics::class_sums(const Indices& columns) const {
  ReleasedBlock sums = picked(statistics.block("class_sums"), classes, columns, statistics.lattice().dim);
  if (!weighs_rows()) return sums;
  std::vector<std::int64_t> values(sums.values().begin(), sums.values().end());
  for (std::size_t e = 0; e < values.size(); ++e) {
    values[e] = plus_weighed(0, weight(e / columns.size()), values[e]);
  }
  return {sums.name(), std::move(values), sums.sigma()};
}

ReleasedBlock ChosenStatistics::class_counts() const {
  return picked(statistics.block("class_counts"), classes, {0}, 1);
}

ReleasedBlock ChosenStatistics::gram(const Indices& columns) const {
  const bool are_all_alike = !weighs_rows() && (options.classes.empty() || !has_class_grams());
  if (are_all_alike && statistics.has("gram")) {
    const ReleasedBlock& whole = statistics.block("gram");
    return {"gram", picked_triangle(whole.values(), columns, statistics.lattice().dim), whole.sigma()};
  }
  std::vector<std::int64_t> sum(triangle_elements(columns.size()), 0);
  double squared_weights = 0.0;
  for (std::size_t place = 0; place < classes.size(); ++place) {
    const ReleasedBlock own = class_gram(place, columns);
    const double of_rows = weighs_rows() ? weight(place) : 1.0;
    for (std::size_t e = 0; e < sum.size(); ++e) sum[e] = plus_weighed(sum[e], of_rows, own.values()[e]);
    squared_weights += of_rows * of_rows;
  }
  return {"gram", std::move(sum), statistics.block("class_grams").sigma() * std::sqrt(squared_weights)};
}

ReleasedBlock ChosenStatistics::class_gram(std::size_t place, const Indices& columns) const {
  const ReleasedBlock& grams = statistics.block("class_grams");
  const std::size_t dim = statistics.lattice().dim;
  const std::size_t triangle = triangle_elements(dim);
  return {"class_grams", picked_triangle(grams.values().subspan(classes[place] * triangle, triangle), columns, dim),
          grams.sigma()};
}

ReleasedBlock ChosenStatistics::second_moments() const {
  if (!options.classes.empty() && !has_class_grams()) statistics.block("class_grams");  // throws
  const ReleasedBlock matrix = gram(features);
  std::vector<std::int64_t> diagonal;
  for (std::size_t a = 0; a < features.size(); ++a) {
    diagonal.push_back(matrix.values()[triangle_row(a, features.size())]);
  }
  return {"second_moments", std::move(diagonal), matrix.sigma()};
}

}  // namespace dpreduce
