// How often intervals of private figures hold the truth, and how wide they are beside those of exact ones: a table in
// Markdown on standard output (launch/private-evaluation). All noise is drawn from seeds.
//
// Legend: R ~ Bin(n, p) of n rows are right; R + N(0, s^2) and n - R + N(0, s^2), rounded, are released, s as for one
// count at epsilon and delta. An exact figure has Jeffreys' interval: Beta(R + 1/2, n - R + 1/2) [brown2001].
//
// Then of figures of classes: K classes, one with a share s of the rows, whose scores are log-odds N(1, 1), all others'
// N(-1, 1); a row is taken for that class above 1/2. So its recall is .691, that of all others .933, and the AUC .921.
// The noise is that of `--metrics accuracy,recall`, and of `--metrics auc` by itself.
//
// Then of numbers: n targets y' ~ N(.1, .25^2), errors e ~ N(0, (1 - R^2) .25^2), and the noise of the release that
// tells R^2 and RMSE.
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <boost/math/distributions/beta.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/accounting/gaussian_dp.hpp"
#include "common/ledger/noise_plan.hpp"
#include "worker/metrics/numbers.hpp"
#include "worker/metrics/score_curve.hpp"
#include "worker/statistics/evaluation.hpp"

namespace dpreduce {
namespace {

constexpr double kDelta = 1e-5;
constexpr double kLevel = 0.95;
constexpr int kSeeds = 2000;
// Of figures of classes: the score above which a row is taken for the class, and what `--metrics auc` gives to
// positives.
constexpr double kTaken = 0.5;
constexpr double kShareOfPositives = 0.75;

double normal_below(double z) {
  return 0.5 * std::erfc(-z / std::numbers::sqrt2);
}

struct Cell {
  double share;  // p
  double rows;   // n
  double epsilon;
  int held = 0;    // runs whose interval holds p
  int silent = 0;  // runs that say that there is too little data
  double width = 0.0;
  double exact_width = 0.0;  // means over runs
};

void measure(Cell& cell) {
  const double sigma = 1.0 / gdp_mu(cell.epsilon, kDelta);
  std::mt19937_64 engine(static_cast<std::uint64_t>(cell.share * 1000) * 1000003 +
                         static_cast<std::uint64_t>(cell.rows) + static_cast<std::uint64_t>(cell.epsilon * 10) * 7919);
  std::binomial_distribution<std::int64_t> right_rows(static_cast<std::int64_t>(cell.rows), cell.share);
  std::normal_distribution<double> noise(0.0, sigma);
  for (int seed = 0; seed < kSeeds; ++seed) {
    const auto right = static_cast<double>(right_rows(engine));
    const double wrong = cell.rows - right;
    const double noised_right = std::round(right + noise(engine));
    const double noised_wrong = std::round(wrong + noise(engine));
    const Estimate estimate = estimate_share({noised_right, noised_wrong, sigma}, kLevel);
    cell.held += estimate.low <= cell.share && cell.share <= estimate.high ? 1 : 0;
    cell.silent += estimate.is_uninformative() ? 1 : 0;
    cell.width += (estimate.high - estimate.low) / kSeeds;
    const boost::math::beta_distribution<double> jeffreys(right + 0.5, wrong + 0.5);
    cell.exact_width += (quantile(jeffreys, 0.5 + 0.5 * kLevel) - quantile(jeffreys, 0.5 - 0.5 * kLevel)) / kSeeds;
  }
}

// How often an interval held, over runs.
struct Held {
  int runs = 0;
  int silent = 0;      // that say that there is too little data
  double width = 0.0;  // mean

  void add(const nlohmann::json& figure, double truth) {
    const auto low = figure.at("low").get<double>();
    const auto high = figure.at("high").get<double>();
    runs += low <= truth && truth <= high ? 1 : 0;
    silent += figure.at("value").is_null() ? 1 : 0;
    width += (high - low) / kSeeds;
  }
  std::string words() const {
    return fmt::format(" {:.1f} % | {:.1f} % | {:.3f} |", 100.0 * runs / kSeeds, 100.0 * silent / kSeeds, width);
  }
};

struct ClassCell {
  double share;  // s
  int classes;   // K
  int rows;      // n
  double epsilon;
  Held balanced{};
  Held recall{};  // of the class with that share
  Held auc{};
};

// What a release of these terms holds, without noise, and the plan that noises it.
struct NoisedBlocks {
  PlannedRelease plan;
  std::vector<std::vector<double>> values{};

  Release drawn(std::mt19937_64& engine) const {
    std::vector<ReleasedBlock> blocks;
    for (std::size_t b = 0; b < plan.blocks.size(); ++b) {
      std::normal_distribution<double> noise(0.0, plan.blocks[b].sigma);
      std::vector<std::int64_t> noised;
      for (const double value : values[b]) noised.push_back(std::llround(value + noise(engine)));
      blocks.emplace_back(plan.blocks[b].name, std::move(noised), plan.blocks[b].sigma);
    }
    return Release(std::move(blocks));
  }
};

ReleaseTerms terms_of(const ClassCell& cell, std::vector<EvaluationMetric> metrics) {
  ReleaseTerms terms;
  terms.classes = static_cast<std::size_t>(cell.classes);
  terms.evaluation = {.metrics = std::move(metrics),
                      .classes = terms.classes,
                      .has_probabilities = true,
                      .score_bins = score_bins_for(0.0)};
  return terms;
}

// One run's rows: right and wrong ones of each class, and rows of each bin of scores.
struct DrawnRows {
  std::vector<double> by_class;
  std::vector<double> positives;
  std::vector<double> negatives;
};

DrawnRows drawn_rows(const ClassCell& cell, std::size_t bins, std::mt19937_64& engine) {
  constexpr std::size_t kPositive = 1;
  DrawnRows rows{std::vector<double>(2 * static_cast<std::size_t>(cell.classes), 0.0), std::vector<double>(bins, 0.0),
                 std::vector<double>(bins, 0.0)};
  std::normal_distribution<double> normal;
  std::bernoulli_distribution is_positive(cell.share);
  std::uniform_int_distribution<std::size_t> other(2, static_cast<std::size_t>(cell.classes));
  for (int row = 0; row < cell.rows; ++row) {
    const bool positive = is_positive(engine);
    const std::size_t label = positive ? kPositive : other(engine) % static_cast<std::size_t>(cell.classes);
    const double score = (positive ? 1.0 : -1.0) + normal(engine);
    ++rows.by_class[2 * label + ((score > kTaken) == positive ? 0 : 1)];
    ++(positive ? rows.positives : rows.negatives)[score_bin(1.0 / (1.0 + std::exp(-score)), bins)];
  }
  return rows;
}

void measure(ClassCell& cell) {
  const double mu = gdp_mu(cell.epsilon, kDelta);
  const ReleaseTerms of_counts = terms_of(cell, {EvaluationMetric::kAccuracy, EvaluationMetric::kRecall});
  const ReleaseTerms of_scores = terms_of(cell, {EvaluationMetric::kAuc});
  const NoisePlan counts = make_noise_plan(mu, Adjacency::kAddRemove, {evaluation_request(of_counts, 1.0)});
  const NoisePlan scores = make_noise_plan(
      mu, Adjacency::kAddRemove,
      {evaluation_request(of_scores, 1.0 - kShareOfPositives), positives_request(of_scores, kShareOfPositives)});
  const double others = static_cast<double>(cell.classes) - 1.0;
  const double recall = normal_below(1.0 - kTaken);
  const double balanced = (recall + others * normal_below(1.0 + kTaken)) / (others + 1.0);
  const double area = normal_below(std::sqrt(2.0));
  std::mt19937_64 engine(static_cast<std::uint64_t>(cell.share * 1000) * 1000003 +
                         static_cast<std::uint64_t>(cell.rows * cell.classes) +
                         static_cast<std::uint64_t>(cell.epsilon * 10) * 7919);
  for (int seed = 0; seed < kSeeds; ++seed) {
    const DrawnRows rows = drawn_rows(cell, of_scores.evaluation.score_bins, engine);
    std::vector<double> totals(2, 0.0);
    for (std::size_t e = 0; e < rows.by_class.size(); ++e) totals[e % 2] += rows.by_class[e];
    const nlohmann::json told = private_figures(
        {NoisedBlocks{counts.releases.front(), {totals, rows.by_class}}.drawn(engine)}, of_counts.evaluation, kLevel);
    cell.balanced.add(told["balanced_accuracy"], balanced);
    cell.recall.add(told["recall"][1], recall);

    const Release negatives = NoisedBlocks{scores.releases.front(), {rows.negatives}}.drawn(engine);
    const auto noised = negatives.block("negatives").values();
    const std::vector<double> curve = curve_of_negatives(std::vector<double>(noised.begin(), noised.end()));
    std::vector<double> sums(2, 0.0);
    for (std::size_t bin = 0; bin < curve.size(); ++bin) {
      sums[0] += rows.positives[bin] * curve[bin] * static_cast<double>(kLossUnits);
      sums[1] += rows.positives[bin] * (1.0 - curve[bin]) * static_cast<double>(kLossUnits);
    }
    const Release positives = NoisedBlocks{scores.releases.back(), {sums}}.drawn(engine);
    cell.auc.add(private_figures({negatives, positives}, of_scores.evaluation, kLevel)["auc"], area);
  }
}

struct NumberCell {
  double r2;
  int rows;
  double epsilon;
  int wrong = 0;       // runs whose interval of R^2 does not hold it
  int silent = 0;      // runs that say that there is too little data
  int wrong_rmse = 0;  // likewise
  double width = 0.0;  // mean over runs that say something
};

// Of n, and of the sums that estimate_numbers takes.
std::vector<double> sigmas_of_numbers(double epsilon) {
  ReleaseTerms terms;
  terms.evaluation = {.metrics = {EvaluationMetric::kR2, EvaluationMetric::kRmse}, .classes = 1, .has_targets = true};
  const NoisePlan plan =
      make_noise_plan(gdp_mu(epsilon, kDelta), Adjacency::kAddRemove, {evaluation_request(terms, 1.0)});
  std::vector<double> sigmas;
  for (const PlannedBlock& block : plan.releases.front().blocks) {
    sigmas.push_back(block.sigma / (sigmas.empty() ? 1.0 : static_cast<double>(kLossUnits)));
  }
  return sigmas;
}

void measure(NumberCell& cell) {
  constexpr double kMean = 0.1;
  constexpr double kSpread = 0.25;
  const double error = kSpread * std::sqrt(1.0 - cell.r2);
  const std::vector<double> sigmas = sigmas_of_numbers(cell.epsilon);
  std::mt19937_64 engine(static_cast<std::uint64_t>(cell.r2 * 1000) * 1000003 + static_cast<std::uint64_t>(cell.rows) +
                         static_cast<std::uint64_t>(cell.epsilon * 10) * 7919);
  std::normal_distribution<double> normal;
  for (int seed = 0; seed < kSeeds; ++seed) {
    std::vector<double> sums(sigmas.size(), 0.0);
    for (int row = 0; row < cell.rows; ++row) {
      const double e = error * normal(engine);
      const double y = kMean + std::sqrt(cell.r2) * kSpread * normal(engine) + e;
      const double terms[] = {1.0, y, y * y, y * y * y, y * y * y * y, e * e, e * e * e * e};
      for (std::size_t term = 0; term < sums.size(); ++term) sums[term] += terms[term];
    }
    for (std::size_t term = 0; term < sums.size(); ++term) sums[term] += sigmas[term] * normal(engine);
    const NumberFigures told = estimate_numbers(sums, sigmas, 1.0, kLevel);
    cell.wrong += told.r2.low <= cell.r2 && cell.r2 <= told.r2.high ? 0 : 1;
    cell.wrong_rmse += told.rmse.low <= error && error <= told.rmse.high ? 0 : 1;
    if (told.r2.is_uninformative()) {
      ++cell.silent;
    } else {
      cell.width += told.r2.high - told.r2.low;
    }
  }
  cell.width /= std::max(kSeeds - cell.silent, 1);
}

std::vector<NumberCell> all_number_cells() {
  std::vector<NumberCell> cells;
  for (const double epsilon : {0.1, 1.0, 8.0}) {
    for (const int rows : {100, 1000, 10000}) {
      for (const double r2 : {0.2, 0.8, 0.98}) cells.push_back({r2, rows, epsilon});
    }
  }
  return cells;
}

std::vector<Cell> all_cells() {
  std::vector<Cell> cells;
  for (const double epsilon : {0.1, 1.0, 8.0}) {
    for (const double rows : {100.0, 1000.0, 10000.0, 1e6}) {
      for (const double share : {0.5, 0.9, 0.99}) cells.push_back({share, rows, epsilon});
    }
  }
  return cells;
}

std::vector<ClassCell> all_class_cells() {
  std::vector<ClassCell> cells;
  for (const double epsilon : {0.1, 1.0, 8.0}) {
    for (const int rows : {200, 1000, 10000}) {
      for (const auto& [classes, share] : {std::pair{2, 0.5}, {2, 0.05}, {10, 0.1}}) {
        cells.push_back({share, classes, rows, epsilon});
      }
    }
  }
  return cells;
}

constexpr const char* kClasses = R"(
### Classes

Balanced accuracy, the recall of one class of that share, and the AUC of that class against the rest: by default
(`--metrics accuracy,recall`), and by `--metrics auc`. The model recalls .691 of that class and .933 of all others; its
AUC is .921. Each has three columns: how often the interval holds, how often there is *too little data*, and the mean
width of all intervals. An interval that always holds and leaves out little is of no use.

An AUC is told of scores in 32 bins, where pairs within a bin count half. Here that is .0008 less than the AUC of the
scores, and 16 bins were .003 less, half a width where rows are many and noise is small. `--expected-rows` above 10,000
takes 64 bins, which are .0002 less, and have more noise.

| epsilon | rows | classes | share | balanced accuracy | too little | width | recall | too little | width | AUC | too little | width |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
)";

std::string line_of(const ClassCell& cell) {
  return fmt::format("| {:g} | {} | {} | {:g} |{}{}{}\n", cell.epsilon, cell.rows, cell.classes, cell.share,
                     cell.balanced.words(), cell.recall.words(), cell.auc.words());
}

std::string line_of(const Cell& cell) {
  return fmt::format("| {:g} | {:g} | {:g} | {:.1f} % | {:.1f} % | {:.4f} | {:.4f} |\n", cell.epsilon, cell.rows,
                     cell.share, 100.0 * cell.held / kSeeds, 100.0 * cell.silent / kSeeds, cell.width,
                     cell.exact_width);
}

std::string line_of(const NumberCell& cell) {
  const auto percent_held = [](int wrong) { return 100.0 * (kSeeds - wrong) / kSeeds; };
  return fmt::format("| {:g} | {} | {:g} | {:.1f} % | {:.1f} % | {} | {:.1f} % |\n", cell.epsilon, cell.rows, cell.r2,
                     percent_held(cell.wrong), 100.0 * cell.silent / kSeeds,
                     cell.silent == kSeeds ? "" : fmt::format("{:.3f}", cell.width), percent_held(cell.wrong_rmse));
}

template <typename Cells>
Cells measured(Cells cells) {
  const unsigned threads = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::jthread> workers;
  for (unsigned worker = 0; worker < threads; ++worker) {
    workers.emplace_back([&cells, worker, threads] {
      for (std::size_t c = worker; c < cells.size(); c += threads) measure(cells[c]);
    });
  }
  workers.clear();
  return cells;
}

}  // namespace
}  // namespace dpreduce

int main() {
  using namespace dpreduce;
  fmt::print(
      "| epsilon | rows | right, p | holds p | too little data | width | width of an exact figure "
      "|\n|---|---|---|---|---|---|---|\n");
  for (const Cell& cell : measured(all_cells())) fmt::print("{}", line_of(cell));
  fmt::print("{}", kClasses);
  for (const ClassCell& cell : measured(all_class_cells())) fmt::print("{}", line_of(cell));
  fmt::print(
      "\n### Numbers\n\nR^2 and RMSE of normal targets and errors, whose range is four of their standard deviations to "
      "either side.\n\n"
      "| epsilon | rows | R^2 | holds R^2 | too little data | width where told | holds RMSE "
      "|\n|---|---|---|---|---|---|---|\n");
  for (const NumberCell& cell : measured(all_number_cells())) fmt::print("{}", line_of(cell));
}
