// How often intervals of private figures hold the truth, and how wide they are beside those of exact ones: a table in
// Markdown on standard output (launch/private-evaluation). All noise is drawn from seeds.
//
// Legend: R ~ Bin(n, p) of n rows are right; R + N(0, s^2) and n - R + N(0, s^2), rounded, are released, s as for one
// count at epsilon and delta. An exact figure has Jeffreys' interval: Beta(R + 1/2, n - R + 1/2) [brown2001].
//
// Then of numbers: n targets y' ~ N(.1, .25^2), errors e ~ N(0, (1 - R^2) .25^2), and the noise of the release that
// tells R^2 and RMSE.
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <boost/math/distributions/beta.hpp>
#include <fmt/format.h>

#include "common/accounting/gaussian_dp.hpp"
#include "common/plan/noise_plan.hpp"
#include "evaluate/number_figures.hpp"
#include "evaluate/share_interval.hpp"
#include "worker/statistics/metric_counts.hpp"

namespace dpreduce {
namespace {

constexpr double kDelta = 1e-5;
constexpr double kLevel = 0.95;
constexpr int kSeeds = 2000;

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
    cell.silent += estimate.says_nothing() ? 1 : 0;
    cell.width += (estimate.high - estimate.low) / kSeeds;
    const boost::math::beta_distribution<double> jeffreys(right + 0.5, wrong + 0.5);
    cell.exact_width += (quantile(jeffreys, 0.5 + 0.5 * kLevel) - quantile(jeffreys, 0.5 - 0.5 * kLevel)) / kSeeds;
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
    if (told.r2.says_nothing()) {
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
  fmt::print(
      "\n## Numbers\n\nR^2 and RMSE of normal targets and errors, whose range is four of their standard deviations to "
      "either side.\n\n"
      "| epsilon | rows | R^2 | holds R^2 | too little data | width where told | holds RMSE "
      "|\n|---|---|---|---|---|---|---|\n");
  for (const NumberCell& cell : measured(all_number_cells())) fmt::print("{}", line_of(cell));
}
