// What an evaluation releases of rows, and how far one row moves it.
#include "common/base/error.hpp"
#include "common/model/classifier.hpp"
#include "tests/testing.hpp"
#include "tests/worker/declared_squares.hpp"
#include "tests/worker/scoring_model.hpp"
#include "worker/metrics/calibration.hpp"
#include "worker/metrics/estimates.hpp"
#include "worker/metrics/score_curve.hpp"
#include "worker/statistics/evaluation.hpp"

namespace dpreduce::metric_counts_test {

using M = EvaluationMetric;

EvaluationTerms all_metrics(std::size_t classes) {
  EvaluationTerms terms = all_terms(classes);
  terms.top_k = 2;
  terms.positive = classes - 1;
  terms.has_pair = false;
  return terms;
}

struct Row {
  std::int32_t label;
  std::vector<double> scores;
  std::vector<double> probabilities;
};

Statistic statistic_of(const EvaluationTerms& terms, const std::vector<Row>& rows) {
  MetricCounts counts(terms, evaluation_request({.evaluation = terms}, 1.0));
  for (const Row& row : rows) counts.add({row.label, argmax(row.scores), row.scores, row.probabilities});
  return std::move(counts).take();
}

using Integers = std::vector<std::int64_t>;

Integers block(const Statistic& statistic, std::string_view name) {
  const auto values = statistic.block(statistic.index_of(name));
  return {values.begin(), values.end()};
}

using Expected = std::vector<std::pair<const char*, Integers>>;

void expect_blocks(const Statistic& statistic, const Expected& blocks) {
  for (const auto& [name, values] : blocks) EXPECT_EQ(block(statistic, name), values) << name;
}

TEST(MetricCounts, ARowIsCountedOnceInEachBlock) {
  const EvaluationTerms terms = all_metrics(3);
  const Statistic statistic = statistic_of(terms, {{1, {0.1, 0.7, 0.2}, {0.1, 0.7, 0.2}},    // right
                                                   {2, {0.5, 0.1, 0.4}, {0.5, 0.1, 0.4}},    // second
                                                   {0, {0.2, 0.2, 0.6}, {0.2, 0.2, 0.6}}});  // second, by its number
  Integers bins(2 * kCalibrationBins, 0);
  bins[2 * 10] = 1;     // 0.7, right
  bins[2 * 7 + 1] = 1;  // 0.5
  bins[2 * 9 + 1] = 1;  // 0.6
  Integers gaps(kCalibrationBins, 0);
  gaps[10] = static_cast<std::int64_t>(std::floor(32768.0 * (1.0 - 0.7)));
  gaps[7] = -16384;
  gaps[9] = -static_cast<std::int64_t>(std::floor(32768.0 * 0.6));
  double log_loss = 0.0;
  for (const double p : {0.7, 0.4, 0.2}) log_loss += std::floor(32768.0 * -std::log(p) / std::log(30.0));
  expect_blocks(statistic, {{"totals", {1, 2}},
                            {"by_class", {0, 1, 1, 0, 0, 1}},
                            {"by_prediction", {0, 1, 1, 0, 0, 1}},
                            {"confusion", {0, 0, 1, 0, 1, 0, 1, 0, 0}},
                            {"top_k", {3, 0}},
                            {"calibration", bins},
                            {"calibration_gaps", gaps},
                            {"log_loss", {static_cast<std::int64_t>(log_loss)}}});
  const double brier = std::floor(32768 * 0.07) + std::floor(32768 * 0.31) + std::floor(32768 * 0.52);
  EXPECT_NEAR(static_cast<double>(block(statistic, "brier").front()), brier, 3.0);
}

// Of scores that overflow: a right row and a wrong one are both in the lowest bin, and must not be 2^16 apart.
TEST(MetricCounts, ProbabilitiesThatAreNoNumbersMoveGapsByNoMoreThanOthers) {
  EvaluationTerms terms = all_metrics(3);
  terms.metrics = {M::kCalibration};
  const double none = std::nan("");
  const auto gap_of = [&](std::int32_t label) {
    return block(statistic_of(terms, {{label, {none, none, none}, {none, none, none}}}), "calibration_gaps").front();
  };
  EXPECT_EQ(gap_of(0) - gap_of(1), kLossUnits);
}

// Wrong wherever it counts; of the classes that are listed no cell is its.
TEST(MetricCounts, ARowOfAClassOrGroupThatIsNotListedHasNoCellOfItsOwn) {
  EvaluationTerms terms = all_metrics(3);
  terms.groups = 2;
  const std::vector<double> scores{0.2, 0.3, 0.5};
  MetricCounts counts(terms, evaluation_request({.evaluation = terms}, 1.0));
  counts.add(
      {.label = kUnlistedLabel, .predicted = 2, .scores = scores, .probabilities = scores, .group = kUnlistedLabel});
  counts.add({.label = kUnlistedLabel, .predicted = 2, .scores = scores, .probabilities = scores, .group = 1});
  const Statistic statistic = std::move(counts).take();
  // 0.04 + 0.09 + 0.25, and 1 of a class that has no probability, of at most 2.
  const std::int64_t brier = 2 * static_cast<std::int64_t>(std::floor(32768 * 1.38 / 2.0));
  expect_blocks(statistic, {{"totals", {0, 2}},
                            {"by_group", {0, 0, 0, 1}},
                            {"by_class", Integers(6, 0)},
                            {"by_prediction", {0, 0, 0, 0, 0, 2}},
                            {"confusion", Integers(9, 0)},
                            {"top_k", {0, 2}},
                            {"log_loss", {2 * kLossUnits}},
                            {"brier", {brier}}});
  EXPECT_EQ(block(statistic, "calibration")[2 * 7 + 1], 2);
  EXPECT_EQ(block(statistic, "calibration_gaps")[7], -2 * 16384);
  const std::size_t bin = score_bin(0.5, terms.score_bins);  // of class 2, which is not the row's
  EXPECT_EQ(block(statistic, "scores")[2 * bin + 1], 2);
}

TEST(MetricCounts, ACurveThatIsNoneIsRefused) {
  const EvaluationTerms terms = all_metrics(3);
  for (const double share : {std::nan(""), -0.1, 1.1, std::numeric_limits<double>::infinity()}) {
    std::vector<double> curve(terms.score_bins, 0.5);
    curve.back() = share;
    EXPECT_THROW(MetricCounts(terms, positives_request({.evaluation = terms}, 1.0), curve), AggregationAborted)
        << share;
  }
}

TEST(MetricCounts, ConfusionByGroupsOfClassesCountsTheirGroups) {
  const EvaluationTerms terms{.metrics = {M::kConfusion}, .classes = 3, .class_groups = {0, 1, 0}};
  MetricCounts counts(terms, evaluation_request({.evaluation = terms}, 1.0));
  for (const auto& [y, p] : {std::pair{0, 2}, {2, 2}, {1, 0}, {2, 1}}) counts.add({.label = y, .predicted = p});
  EXPECT_EQ(block(std::move(counts).take(), "confusion"), (Integers{2, 1, 1, 0}));
}

TEST(MetricCounts, OfLabelSetsEachClassOfEitherSetIsCountedOnce) {
  const EvaluationTerms terms{.metrics = {M::kF1}, .classes = 4, .most_labels = 2, .most_predicted = 2};
  const ReleaseRequest request = evaluation_request({.evaluation = terms}, 1.0);
  EXPECT_EQ(request.profiles.front().squared_l2, (std::vector<std::uint64_t>{16, 4}));
  const ReleaseRequest exchanged = evaluation_request({.adjacency = Adjacency::kReplaceOne, .evaluation = terms}, 1.0);
  EXPECT_EQ(exchanged.profiles.front().squared_l2, (std::vector<std::uint64_t>{20, 8}));
  MetricCounts counts(terms, request);
  const std::vector<std::int32_t> some{0, 2};
  const std::vector<std::int32_t> others{1, 2};
  counts.add({.label = 0, .predicted = 0, .labels = some, .predicted_labels = others});
  counts.add({.label = 0, .predicted = 0, .labels = some, .predicted_labels = {}});
  expect_blocks(std::move(counts).take(), {{"sets", {1, 4}}, {"sets_by_class", {0, 2, 0, 1, 1, 1, 0, 0}}});
  // The farthest that an exchange goes: nothing in common, and all of it.
  const std::vector<std::int32_t> first{0, 1};
  const std::vector<std::int32_t> last{2, 3};
  const auto sets_of = [&](const std::vector<std::int32_t>& predicted) {
    MetricCounts of_row(terms, exchanged);
    of_row.add({.label = 0, .predicted = 0, .labels = first, .predicted_labels = predicted});
    return block(std::move(of_row).take(), "sets");
  };
  EXPECT_EQ(sets_of(last), (Integers{0, 4}));
  EXPECT_EQ(sets_of(first), (Integers{2, 0}));  // 2^2 + 4^2 = 20
}

TEST(MetricCounts, OfTwoModelsARowIsCountedOnceByWhichOfThemAreRight) {
  const EvaluationTerms terms{.metrics = {M::kAccuracy}, .classes = 3, .has_pair = true};
  MetricCounts counts(terms, evaluation_request({.evaluation = terms}, 1.0));
  for (const auto& [first, second] : {std::pair{1, 1}, {1, 1}, {0, 1}, {0, 1}, {2, 1}, {1, 0}, {0, 2}}) {
    counts.add({.label = 1, .predicted = first, .predicted_by_second = second});
  }
  const Statistic statistic = std::move(counts).take();
  EXPECT_EQ(statistic.shape().size(), 1U);
  EXPECT_EQ(block(statistic, "pairs"), (Integers{2, 3, 1, 1}));
}

// Narrow bins in the middle, wide ones where scores are nearly certain, and every edge in the bin above it.
TEST(MetricCounts, BinsOfScoresPartTheLogOdds) {
  for (const std::size_t bins : {std::size_t{16}, std::size_t{64}}) {
    for (const double low : {0.0, std::nan(""), 1e-300}) EXPECT_EQ(score_bin(low, bins), 0U) << low;
    for (const double high : {1.0, 1.0 - 1e-16}) EXPECT_EQ(score_bin(high, bins), bins - 1);
    for (std::size_t bin = 1; bin < bins; ++bin) {
      EXPECT_EQ(score_bin(lower_edge_of_bin(bin, bins) * (1.0 + 1e-9), bins), bin);
      EXPECT_EQ(score_bin(lower_edge_of_bin(bin, bins) * (1.0 - 1e-9), bins), bin - 1);
    }
  }
  EXPECT_LT(lower_edge_of_bin(9, 16), 0.6);
}

// Of positives alone, by the share of negatives below them.
TEST(MetricCounts, OfPositivesTheSharesOfNegativesBelowAndAboveAreSummedUp) {
  const EvaluationTerms terms{.metrics = {M::kAuc}, .classes = 2, .has_probabilities = true};
  std::vector<double> curve(terms.score_bins, 0.25);
  curve.back() = 1.0;
  MetricCounts counts(terms, positives_request({.evaluation = terms}, 1.0), curve);
  const std::vector<double> high{0.0, 1.0};
  const std::vector<double> low{0.5, 0.5};
  for (const auto& [label, scores] : {std::pair{1, high}, {1, low}, {0, high}}) {
    counts.add({.label = label, .predicted = 1, .scores = scores, .probabilities = scores});
  }
  EXPECT_EQ(block(std::move(counts).take(), "above_negatives"), (Integers{40960, 24576}));
}

TEST(MetricCounts, ScoresAreCountedByTheirBins) {
  EvaluationTerms terms{.metrics = {M::kRoc}, .classes = 2, .has_probabilities = true};
  const Statistic statistic =
      statistic_of(terms, {{1, {0, 1}, {0.0, 1.0}}, {0, {1, 0}, {1.0, 0.0}}, {0, {0, 1}, {0.2, 0.8}}});
  Integers bins(2 * terms.score_bins, 0);
  bins[2 * 15] = 1;
  bins[1] = 1;
  bins[2 * score_bin(0.8, terms.score_bins) + 1] = 1;
  EXPECT_EQ(block(statistic, "scores"), bins);
}

TEST(MetricCounts, ALossThatIsInfiniteOrNoNumberIsTheLargest) {
  EvaluationTerms terms{.metrics = {M::kLogLoss, M::kBrier}, .classes = 2, .has_probabilities = true};
  const double none = std::nan("");
  const Statistic statistic = statistic_of(terms, {{0, {0, 1}, {0.0, 1.0}}, {0, {0, 1}, {none, none}}});
  EXPECT_EQ(block(statistic, "log_loss").front(), 2 * kLossUnits);
  EXPECT_EQ(block(statistic, "brier").front(), 2 * kLossUnits);
}

// No row moves the release further than declared, under either kind of neighbors; and rows come close to it.
TEST(MetricCounts, NoRowMovesThemFurtherThanDeclared) {
  std::mt19937_64 engine(38);
  std::uniform_real_distribution<double> uniform;
  for (const std::size_t classes : {2U, 5U}) {
    EvaluationTerms terms = all_metrics(classes);
    terms.top_k = classes == 2 ? 1 : 2;
    const auto draw = [&] {
      const std::size_t label = engine() % (classes + 1);
      Row row{label == classes ? kUnlistedLabel : static_cast<std::int32_t>(label), {}, {}};
      double sum = 0.0;
      for (std::size_t c = 0; c < classes; ++c) sum += row.scores.emplace_back(std::pow(uniform(engine), 8)) + 1e-9;
      for (const double score : row.scores) row.probabilities.push_back((score + 1e-9) / sum);
      return row;
    };
    for (const Adjacency adjacency : {Adjacency::kAddRemove, Adjacency::kReplaceOne}) {
      const ReleaseRequest request = evaluation_request({.adjacency = adjacency, .evaluation = terms}, 1.0);
      std::vector<double> largest(request.blocks.size(), 0.0);
      for (int trial = 0; trial < 2000; ++trial) {
        const std::vector<Row> rows{draw(), draw(), draw()};
        std::vector<Row> neighbor(rows.begin(), rows.begin() + 2);
        if (adjacency == Adjacency::kReplaceOne) neighbor.push_back(draw());
        const auto moved = squared_differences(request, statistic_of(terms, rows), statistic_of(terms, neighbor));
        for (std::size_t b = 0; b < request.blocks.size(); ++b) {
          const auto declared = static_cast<double>(request.profiles.front().squared_l2[b]);
          EXPECT_LE(moved[b], declared) << request.blocks[b].name;
          largest[b] = std::max(largest[b], static_cast<double>(moved[b]) / declared);
        }
      }
      for (std::size_t b = 0; b < largest.size(); ++b) EXPECT_GE(largest[b], 0.5) << request.blocks[b].name;
    }
  }
}

// The same of numbers: targets in the ball of radius 1, errors of length 1 at most. Where rows are farthest apart they
// are as far apart as declared: y against -y in odd powers, one target against another in even ones.
TEST(MetricCounts, NoRowOfNumbersMovesThemFurtherThanDeclaredAndSomeDoSo) {
  const EvaluationTerms terms{.metrics = {M::kR2, M::kRmse}, .classes = 2, .has_targets = true};
  std::vector<std::vector<double>> points{{0, 0}, {1, 0}, {-1, 0}, {0, 1}, {0, -1}, {0.6, 0.8}, {-0.6, -0.8}};
  std::mt19937_64 engine(56);
  std::normal_distribution<double> normal;
  for (int draw = 0; draw < 40; ++draw) {
    std::vector<double> point{normal(engine), normal(engine)};
    const double length = std::max(1.0, std::hypot(point[0], point[1]));
    for (double& entry : point) entry /= length;
    points.push_back(point);
  }
  for (const Adjacency adjacency : {Adjacency::kAddRemove, Adjacency::kReplaceOne}) {
    const ReleaseRequest request = evaluation_request({.adjacency = adjacency, .evaluation = terms}, 1.0);
    std::vector<Statistic> rows;
    for (const std::vector<double>& point : points) {
      MetricCounts counts(terms, request);
      counts.add({.targets = point, .errors = point});
      rows.push_back(std::move(counts).take());
    }
    std::vector<Statistic> none;
    none.push_back(MetricCounts(terms, request).take());
    std::vector<long double> largest(request.blocks.size(), 0.0L);
    for (const Statistic& one : rows) {
      for (const Statistic& other : adjacency == Adjacency::kAddRemove ? none : rows) {
        const auto moved = squared_differences(request, one, other);
        for (std::size_t b = 0; b < largest.size(); ++b) largest[b] = std::max(largest[b], moved[b]);
      }
    }
    for (std::size_t b = 0; b < largest.size(); ++b) {
      const auto declared = static_cast<long double>(request.profiles.front().squared_l2[b]);
      const bool never_moves = adjacency == Adjacency::kReplaceOne && request.blocks[b].name == "rows";
      EXPECT_EQ(largest[b], never_moves ? 0.0L : declared) << request.blocks[b].name << " " << to_string(adjacency);
    }
  }
}

// The figure that a release for positives is charged by: one share of negatives, below or above.
TEST(MetricCounts, PositivesMoveTheirSumsAsFarAsDeclared) {
  const EvaluationTerms terms{.metrics = {M::kAuc}, .classes = 2, .has_probabilities = true};
  std::vector<double> curve(terms.score_bins, 0.0);
  curve.back() = 1.0;
  for (const Adjacency adjacency : {Adjacency::kAddRemove, Adjacency::kReplaceOne}) {
    const ReleaseRequest request = positives_request({.adjacency = adjacency, .evaluation = terms}, 1.0);
    const auto sums_with = [&](const std::vector<double>& scores) {
      MetricCounts counts(terms, request, curve);
      if (!scores.empty()) counts.add({.label = 1, .predicted = 1, .scores = scores, .probabilities = scores});
      return std::move(counts).take();
    };
    const std::vector<double> low{1.0, 0.0};
    const Statistic neighbor = sums_with(adjacency == Adjacency::kReplaceOne ? low : std::vector<double>());
    const auto moved = squared_differences(request, sums_with({0.0, 1.0}), neighbor);
    EXPECT_EQ(moved.front(), static_cast<long double>(request.profiles.front().squared_l2.front()))
        << to_string(adjacency);
  }
}

TEST(EvaluationTerms, AreReadFromWordsAndRefusedWhereAModelCannotServe) {
  EXPECT_EQ(metrics_of("accuracy,auc"), (std::vector<M>{M::kAccuracy, M::kAuc}));
  for (const auto& refused : {std::pair{"accuracy,f2", "'f2' is not a metric; metrics are accuracy, recall"},
                              std::pair{"", "name at least one"}, std::pair{"accuracy,,auc", "'' is not a metric"}}) {
    EXPECT_THAT(refusal<UsageError>([&] { metrics_of(refused.first); }), HasSubstr(refused.second));
  }
  EXPECT_NO_THROW(require_valid(all_metrics(3)));
  EvaluationTerms without_probabilities = all_metrics(3);
  without_probabilities.has_probabilities = false;
  const std::pair<EvaluationTerms, const char*> impossible[] = {
      {without_probabilities, "which this model does not have"},
      {{.metrics = {M::kAuc}, .classes = 3, .has_probabilities = true}, "give the one to compare with all others"},
      {{.metrics = {M::kTopK}, .classes = 3, .top_k = 4}, "--top-k 4"},
      {{.metrics = {M::kConfusion}, .classes = 1001}, "1002001 cells"},
      {{.metrics = {M::kConfusion}, .classes = 1001, .class_groups = {0, 1}}, "one group for each of the"}};
  for (const auto& refused : impossible) {
    EXPECT_THAT(refusal<UsageError>([&] { require_valid(refused.first); }), HasSubstr(refused.second));
  }
  EXPECT_NO_THROW(
      require_valid({.metrics = {M::kConfusion}, .classes = 1001, .class_groups = std::vector<std::size_t>(1001, 3)}));
}

}  // namespace dpreduce::metric_counts_test
