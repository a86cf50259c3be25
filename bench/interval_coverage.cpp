// How often intervals of private figures hold the truth, and how wide they are beside those of exact ones: a table in
// Markdown on standard output (launch/private-evaluation). All noise is drawn from seeds.
//
// Legend: R ~ Bin(n, p) of n rows are right; R + N(0, s^2) and n - R + N(0, s^2), rounded, are released, s as for one
// count at epsilon and delta. An exact figure has Jeffreys' interval: Beta(R + 1/2, n - R + 1/2) [brown2001].
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
#include "evaluate/share_interval.hpp"

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

}  // namespace
}  // namespace dpreduce

int main() {
  using dpreduce::Cell;
  std::vector<Cell> cells = dpreduce::all_cells();
  const unsigned threads = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::jthread> workers;
  for (unsigned worker = 0; worker < threads; ++worker) {
    workers.emplace_back([&cells, worker, threads] {
      for (std::size_t c = worker; c < cells.size(); c += threads) dpreduce::measure(cells[c]);
    });
  }
  workers.clear();
  fmt::print(
      "| epsilon | rows | right, p | holds p | too little data | width | width of an exact figure "
      "|\n|---|---|---|---|---|---|---|\n");
  for (const Cell& cell : cells) fmt::print("{}", dpreduce::line_of(cell));
}
