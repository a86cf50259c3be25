#include "worker/statistics/evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/base/error.hpp"
#include "worker/feature_rows.hpp"
#include "worker/weighted_rows.hpp"

namespace dpreduce {
std::size_t bin_of(double probability, std::size_t bins) {
  if (!(probability > 0.0)) return 0;
  const auto bin = static_cast<std::size_t>(probability * static_cast<double>(bins));
  return std::min(bin, bins - 1);
}

constexpr double kFarthestLogOdds = 8.0;
// floor(2^15 min(loss, most) / most), also of a loss that is no number.
std::int64_t loss_units(double loss, double most) {
  const double part = loss < most ? std::max(loss, 0.0) / most : 1.0;
  return static_cast<std::int64_t>(std::floor(static_cast<double>(kLossUnits) * part));
}

// Returns whether the label is among the largest scores. Among equal scores the smaller class goes first, as in
// predictions.
bool is_among_largest(const ScoredRow& row, std::size_t top_k) {
  if (row.label < 0) return false;
  const auto y = static_cast<std::size_t>(row.label);
  std::size_t before = 0;
  for (std::size_t c = 0; c < row.scores.size(); ++c) {
    before += row.scores[c] > row.scores[y] || (row.scores[c] == row.scores[y] && c < y) ? 1 : 0;
  }
  return before < top_k;
}

// A class that is not listed has probability 0.
double brier_of(const ScoredRow& row) {
  double sum = row.label >= 0 ? 0.0 : 1.0;
  for (std::size_t c = 0; c < row.probabilities.size(); ++c) {
    sum += std::pow(row.probabilities[c] - (static_cast<std::int64_t>(c) == row.label ? 1.0 : 0.0), 2);
  }
  return sum;
}

double largest_log_loss(std::size_t classes) {
  return std::log(10.0 * static_cast<double>(classes));
}

std::size_t score_bin(double probability, std::size_t bins) {
  if (!(probability > 0.0)) return 0;
  if (probability >= 1.0) return bins - 1;
  const double place = std::asinh(std::log(probability / (1.0 - probability))) / std::asinh(kFarthestLogOdds);
  return bin_of(std::max(0.5 + 0.5 * place, 0.0), bins);
}

double lower_edge_of_bin(std::size_t bin, std::size_t bins) {
  if (bin == 0) return 0.0;
  const double place = 2.0 * static_cast<double>(bin) / static_cast<double>(bins) - 1.0;
  return 1.0 / (1.0 + std::exp(-std::sinh(place * std::asinh(kFarthestLogOdds))));
}

std::vector<double> curve_of_negatives(std::span<const double> negatives) {
  const double all = std::accumulate(negatives.begin(), negatives.end(), 0.0);
  std::vector<double> curve;
  double below = 0.0;
  for (const double in_bin : negatives) {
    curve.push_back(all > 0.0 ? std::clamp((below + in_bin / 2.0) / all, 0.0, 1.0) : 0.5);
    below += in_bin;
  }
  return curve;
}

constexpr auto kSquaredUnits = static_cast<std::uint64_t>(kLossUnits) * kLossUnits;

using Row = const ScoredRow&;
using Cells = const RowCells&;

// Blocks of metrics, in the order of the release.
struct MetricBlocks {
  std::vector<MetricBlock> all{};

  // A row is in one cell, by its weight.
  MetricBlock& counts(const char* name, std::size_t elements, AddRow add) {
    all.push_back({name, elements, static_cast<double>(elements) / 2.0, 1, 2, true, std::move(add)});
    return all.back();
  }
  // A row adds at most 1, in units; an exchange moves that by `exchanged`, squared.
  void sums(const char* name, std::size_t elements, double weight, std::uint64_t exchanged, AddRow add) {
    const double loss_weight = weight * static_cast<double>(elements) / static_cast<double>(kSquaredUnits);
    all.push_back({name, elements, loss_weight, kSquaredUnits, exchanged * kSquaredUnits, false, std::move(add)});
  }
};

// Figures of which class has the largest score. A class or group that is not listed has no cell.
void add_classes(const EvaluationTerms& terms, MetricBlocks& blocks) {
  if (terms.has_totals()) blocks.counts("totals", 2, [](Row row, Cells to) { to.count_in_pair(0, row.is_right()); });
  if (terms.has_pair) {
    blocks.counts("pairs", 4, [](Row row, Cells to) {
      to.count_in_pair(row.predicted_by_second == row.label ? 0 : 1, row.is_right());
    });
  }
  if (terms.groups > 0) {
    blocks.counts("by_group", 2 * terms.groups, [](Row row, Cells to) {
      if (row.group >= 0) to.count_in_pair(row.group, row.is_right());
    });
  }
  if (terms.has(EvaluationMetric::kRecall)) {
    blocks.counts("by_class", 2 * terms.classes, [](Row row, Cells to) {
      if (row.label >= 0) to.count_in_pair(row.label, row.is_right());
    });
  }
  if (terms.has(EvaluationMetric::kPrecision)) {
    blocks.counts("by_prediction", 2 * terms.classes,
                  [](Row row, Cells to) { to.count_in_pair(row.predicted, row.is_right()); });
  }
  if (terms.has(EvaluationMetric::kConfusion)) {
    const std::size_t groups = terms.confusion_groups();
    blocks.counts("confusion", groups * groups, [&terms, groups](Row row, Cells to) {
      const auto group_of = [&](std::int32_t c) { return terms.confusion_group(static_cast<std::size_t>(c)); };
      if (row.label >= 0) to.count(group_of(row.label) * groups + group_of(row.predicted));
    });
  }
  if (terms.has(EvaluationMetric::kTopK)) {
    blocks.counts("top_k", 2, [k = terms.top_k](Row row, Cells to) { to.count_in_pair(0, is_among_largest(row, k)); });
  }
}

// Largest probability of a row; a NaN counts as 0, so that such rows' gaps are of one sign.
double largest_probability(Row row) {
  return std::max(0.0, row.probabilities[static_cast<std::size_t>(row.predicted)]);
}

void add_calibration(MetricBlocks& blocks) {
  blocks.counts("calibration", 2 * kCalibrationBins, [](Row row, Cells to) {
    to.count_in_pair(bin_of(largest_probability(row), kCalibrationBins), row.is_right());
  });
  blocks.sums("calibration_gaps", kCalibrationBins, 1.0, 2, [](Row row, Cells to) {
    const double q = largest_probability(row);
    to.sum(bin_of(q, kCalibrationBins), row.is_right() ? loss_units(1.0 - q, 1.0) : -loss_units(q, 1.0));
  });
}

// Figures of one class against the rest.
void add_curve(const EvaluationTerms& terms, MetricBlocks& blocks) {
  const auto is_positive = [&terms](Row row) { return row.label == static_cast<std::int32_t>(terms.positive_class()); };
  const auto bin = [&terms](Row row) { return score_bin(row.probabilities[terms.positive_class()], terms.score_bins); };
  if (terms.has(EvaluationMetric::kRoc)) {
    blocks.counts("scores", 2 * terms.score_bins,
                  [=](Row row, Cells to) { to.count_in_pair(bin(row), is_positive(row)); });
  } else {
    MetricBlock& negatives = blocks.counts("negatives", terms.score_bins, [=](Row row, Cells to) {
      if (!is_positive(row)) to.count(bin(row));
    });
    negatives.loss_weight = 1.0 / 9.0;  // a quarter beside positives: this noise is divided by many rows
  }
}

// The curve is in units; a declaration has none.
MetricBlocks blocks_of_positives(const EvaluationTerms& terms, const std::vector<std::int64_t>& curve) {
  MetricBlocks blocks;
  blocks.sums("above_negatives", 2, 0.5, 2, [&terms, curve](Row row, Cells to) {
    if (row.label != static_cast<std::int32_t>(terms.positive_class())) return;
    const std::int64_t above = curve[score_bin(row.probabilities[terms.positive_class()], curve.size())];
    to.sum(0, above);
    to.sum(1, kLossUnits - above);
  });
  return blocks;
}

// A class that is not listed has probability 0.
void add_losses(const EvaluationTerms& terms, MetricBlocks& blocks) {
  if (terms.has(EvaluationMetric::kLogLoss)) {
    blocks.sums("log_loss", 1, 1.0, 1, [most = largest_log_loss(terms.classes)](Row row, Cells to) {
      const double p = row.label < 0 ? 0.0 : row.probabilities[static_cast<std::size_t>(row.label)];
      to.sum(0, loss_units(-std::log(p), most));
    });
  }
  if (terms.has(EvaluationMetric::kBrier)) {
    blocks.sums("brier", 1, 1.0, 1, [](Row row, Cells to) { to.sum(0, loss_units(brier_of(row), kLargestBrier)); });
  }
}

// Counts each class of either set as right, where it is in both, or wrong: in a pair of its own, or all in one.
void count_sets(Row row, Cells to, bool by_class) {
  for (const std::int32_t c : row.labels) {
    to.count_in_pair(by_class ? c : 0, std::ranges::binary_search(row.predicted_labels, c));
  }
  for (const std::int32_t c : row.predicted_labels) {
    if (!std::ranges::binary_search(row.labels, c)) to.count_in_pair(by_class ? c : 0, false);
  }
}

void add_sets(const EvaluationTerms& terms, MetricBlocks& blocks) {
  const std::uint64_t most = terms.most_labels + terms.most_predicted;
  const std::uint64_t both = std::min(terms.most_labels, terms.most_predicted);
  MetricBlock& sets = blocks.counts("sets", 2, [](Row row, Cells to) { count_sets(row, to, false); });
  sets.loss_weight = 1.0 / static_cast<double>(most * most);
  sets.squared_l2 = most * most;
  sets.exchanged = most * most + both * both;
  MetricBlock& by_class =
      blocks.counts("sets_by_class", 2 * terms.classes, [](Row row, Cells to) { count_sets(row, to, true); });
  by_class.squared_l2 = std::min<std::uint64_t>(most, terms.classes);
  by_class.exchanged = 2 * by_class.squared_l2;
}

// Sums that tell how much targets and errors vary have small weights: where predictions are good, errors matter more.
void add_numbers(const EvaluationTerms& terms, MetricBlocks& blocks) {
  constexpr double kOfSpread = 0.1;
  constexpr double kOfVariation = 0.02;
  blocks.all.push_back({"rows", 1, kOfSpread, 1, 1, true, [](Row, Cells to) { to.count(0); }});
  const auto powers = [&](const char* name, double weight, std::uint64_t exchanged,
                          std::span<const double> ScoredRow::*numbers, double (*power)(double)) {
    blocks.sums(name, terms.classes, weight, exchanged, [=](Row row, Cells to) {
      for (std::size_t t = 0; t < (row.*numbers).size(); ++t) {
        to.sum(t, static_cast<std::int64_t>(power((row.*numbers)[t]) * kLossUnits));
      }
    });
  };
  powers("targets", kOfSpread, 4, &ScoredRow::targets, [](double y) { return y; });
  powers("squares", kOfSpread, 2, &ScoredRow::targets, [](double y) { return y * y; });
  powers("cubes", kOfVariation, 4, &ScoredRow::targets, [](double y) { return y * y * y; });
  powers("fourths", kOfVariation, 2, &ScoredRow::targets, [](double y) { return y * y * y * y; });
  powers("errors", 1.0, 2, &ScoredRow::errors, [](double e) { return e * e; });
  powers("error_fourths", kOfVariation, 2, &ScoredRow::errors, [](double e) { return (e * e) * (e * e); });
}

// All blocks of the release "evaluation". `terms` outlive them.
MetricBlocks blocks_of(const EvaluationTerms& terms) {
  MetricBlocks blocks;
  if (terms.has_targets) {
    add_numbers(terms, blocks);
    return blocks;
  }
  add_classes(terms, blocks);
  if (terms.has(EvaluationMetric::kCalibration)) add_calibration(blocks);
  if (terms.is_about_one_class()) add_curve(terms, blocks);
  add_losses(terms, blocks);
  if (terms.has(EvaluationMetric::kF1)) add_sets(terms, blocks);
  return blocks;
}

ReleaseRequest evaluation_request(const char* name, const MetricBlocks& blocks, const ReleaseTerms& terms,
                                  double share) {
  DPREDUCE_ASSERT(!blocks.all.empty());
  const bool is_exchange = terms.adjacency == Adjacency::kReplaceOne;
  ReleaseRequest request{.name = name,
                         .share = share,
                         .blocks = {},
                         .profiles = {{is_exchange ? "another row" : "one row more or less", {}}}};
  for (const MetricBlock& block : blocks.all) {
    request.blocks.push_back({.name = block.name,
                              .elements = block.elements,
                              .loss_weight = block.loss_weight,
                              .fraction_bits = block.counts_rows ? terms.count_bits() : 0});
    request.profiles.front().squared_l2.push_back(is_exchange ? block.exchanged : block.squared_l2);
  }
  return request;
}

void RowCells::count(std::size_t element) const {
  elements_[element] += is_weighed_ ? std::int64_t{weight_} : 1;
}

void RowCells::count_in_pair(std::int64_t pair, bool is_right) const {
  count(static_cast<std::size_t>(2 * pair + (is_right ? 0 : 1)));
}

void RowCells::sum(std::size_t element, std::int64_t units) const {
  const std::int64_t counted = weighed(std::abs(units), weight_);
  elements_[element] += units < 0 ? -counted : counted;
}

MetricCounts::MetricCounts(const EvaluationTerms& terms, const ReleaseRequest& request, std::span<const double> curve)
    : terms_(terms), statistic_(empty_statistic(request)) {
  std::vector<std::int64_t> units;
  for (const double share : curve) {
    if (!(share >= 0.0 && share <= 1.0)) throw AggregationAborted("the coordinator's curve is out of range");
    units.push_back(static_cast<std::int64_t>(std::floor(share * kLossUnits)));
  }
  DPREDUCE_ASSERT(units.empty() || units.size() == terms.score_bins);
  blocks_ = units.empty() ? blocks_of(terms).all : blocks_of_positives(terms, units).all;
  DPREDUCE_ASSERT(blocks_.size() == statistic_.shape().size());
}

void MetricCounts::add(const ScoredRow& row) {
  const auto classes = static_cast<std::int64_t>(terms_.classes);
  DPREDUCE_ASSERT(row.label < classes && row.predicted >= 0 && row.predicted < classes);
  DPREDUCE_ASSERT(!terms_.needs_probabilities() || row.probabilities.size() == terms_.classes);
  DPREDUCE_ASSERT(row.labels.size() <= terms_.most_labels && row.predicted_labels.size() <= terms_.most_predicted);
  DPREDUCE_ASSERT(!terms_.has_targets || (row.targets.size() == terms_.classes && row.errors.size() == terms_.classes));
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    blocks_[block].add(row, {statistic_.block(block), row.weight, statistic_.shape()[block].fraction_bits > 0});
  }
}

ReleaseRequest evaluation_request(const ReleaseTerms& terms, double share) {
  return evaluation_request("evaluation", blocks_of(terms.evaluation), terms, share);
}

ReleaseRequest positives_request(const ReleaseTerms& terms, double share) {
  return evaluation_request("positives", blocks_of_positives(terms.evaluation, {}), terms, share);
}

// Adds the rows of a chunk to the counts, as a model scores them.
class ScoredChunk {
 public:
  ScoredChunk(const ModelsPoint& point, const StatisticInputs& inputs)
      : models_(point.models), terms_(point.terms), inputs_(inputs) {}

  void count(const RowChunk& chunk, std::span<const float> features, MetricCounts& counts) {
    const Classifier& model = models_.front();
    if (terms_.has_targets) return count_numbers(chunk, features, counts);
    const std::size_t classes = model.classes();
    std::vector<double> scores;
    std::vector<std::int32_t> predicted;
    if (terms_.needs_scores()) {
      scores = model.predict_scores(features, inputs_.plan.threads);
    } else {
      predicted = model.predict_labels(features, inputs_.plan.threads);
    }
    std::vector<std::int32_t> by_second;
    if (terms_.has_pair) by_second = models_.back().predict_labels(features, inputs_.plan.threads);
    for (std::size_t row = 0; row < chunk.rows; ++row) {
      if (terms_.most_labels > 0) {
        count_set(chunk, row, std::span(scores).subspan(row * classes, classes), counts);
        continue;
      }
      ScoredRow scored{.label = chunk.labels[row], .weight = weight_of(chunk, row)};
      if (terms_.needs_scores()) {
        scored.scores = std::span(scores).subspan(row * classes, classes);
        scored.predicted = argmax(scored.scores);
      } else {
        scored.predicted = predicted[row];
      }
      if (terms_.needs_probabilities()) {
        probabilities_.assign(scored.scores.begin(), scored.scores.end());
        model.to_probabilities(probabilities_);
        scored.probabilities = probabilities_;
      }
      if (terms_.groups > 0) scored.group = inputs_.rows.group(chunk.first_row + row);
      if (terms_.has_pair) scored.predicted_by_second = by_second[row];
      counts.add(scored);
    }
  }

 private:
  RowWeight weight_of(const RowChunk& chunk, std::size_t row) const {
    return inputs_.rows.has_weights() ? inputs_.rows.weight(chunk.first_row + row) : kWholeRow;
  }

  void count_numbers(const RowChunk& chunk, std::span<const float> features, MetricCounts& counts) {
    const Classifier& model = models_.front();
    const TargetColumns& columns = model.parts().preprocessing.targets;
    const std::vector<double> predicted = model.predict_scores(features, inputs_.plan.threads);
    std::vector<double> errors(columns.count);
    std::vector<double> targets(columns.count);
    for (std::size_t row = 0; row < chunk.rows; ++row) {
      const std::span<const std::int32_t> slots = slots_of(chunk.labels, chunk.labels_per_row, row);
      if (!are_finite_targets(slots)) continue;
      // y - f about c, so that it is scaled as a target is.
      for (std::size_t t = 0; t < columns.count; ++t) {
        errors[t] = target_in(slots, t) - predicted[row * columns.count + t] + columns.center[t];
      }
      columns.scaled_numbers(errors, errors);
      columns.scaled(slots, targets);
      counts.add({.weight = weight_of(chunk, row), .targets = targets, .errors = errors});
    }
  }

  // A row of more than k classes stops the run, or counts nowhere.
  void count_set(const RowChunk& chunk, std::size_t row, std::span<const double> scores, MetricCounts& counts) {
    if (!has_few_classes(chunk, row, terms_.most_labels, inputs_.plan.bad_rows, inputs_.rows)) return;
    const double threshold = terms_.threshold.value();
    predicted_.clear();
    for (std::size_t c = 0; c < scores.size(); ++c) {
      if (scores[c] >= threshold) predicted_.push_back(static_cast<std::int32_t>(c));
    }
    if (predicted_.size() > terms_.most_predicted) {
      const auto end = predicted_.begin() + static_cast<std::ptrdiff_t>(terms_.most_predicted);
      const auto score_of = [&](std::int32_t c) { return scores[static_cast<std::size_t>(c)]; };
      std::ranges::nth_element(predicted_, end, [&](std::int32_t a, std::int32_t b) {
        return std::pair(-score_of(a), a) < std::pair(-score_of(b), b);
      });
      predicted_.erase(end, predicted_.end());
      std::ranges::sort(predicted_);
    }
    counts.add({.weight = weight_of(chunk, row), .labels = chunk.classes_of(row), .predicted_labels = predicted_});
  }

  std::span<const Classifier> models_;
  const EvaluationTerms& terms_;
  const StatisticInputs& inputs_;
  std::vector<double> probabilities_;
  std::vector<std::int32_t> predicted_;
};

Statistic evaluation_statistic(const ReleaseRequest& request, const StatisticInputs& inputs) {
  const auto* const point = std::get_if<ModelsPoint>(&inputs.point);
  DPREDUCE_ASSERT(point != nullptr && !point->models.empty());
  MetricCounts counts(point->terms, request, point->curve);
  if (inputs.rows.is_none()) return std::move(counts).take();
  ScoredChunk scored(*point, inputs);
  for_each_feature_chunk(
      inputs.rows, point->models.front().classes(), inputs.plan.bad_rows,
      [&](const RowChunk& chunk, std::span<const float> features) { scored.count(chunk, features, counts); },
      inputs.on_chunk);
  return std::move(counts).take();
}

namespace statistics {
extern constinit const StatisticEntry positives{"positives", TakenAt::kModels, UnitForm::kWeighed, positives_request,
                                                evaluation_statistic};
extern constinit const StatisticEntry evaluation{"evaluation", TakenAt::kModels, UnitForm::kWeighed, evaluation_request,
                                                 evaluation_statistic};
}  // namespace statistics

}  // namespace dpreduce
