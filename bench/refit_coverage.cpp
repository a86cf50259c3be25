// How often intervals of refits hold (aggregator/solvers/weight_intervals.hpp): docs/experiments/intervals.md.
//
//     refit_coverage PAGE [SEEDS [THREADS]]     writes PAGE; bench/page_part.py docs/experiments/intervals.md
//     bench/refit_coverage <PAGE
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "aggregator/solvers/blas.hpp"
#include "aggregator/solvers/weight_intervals.hpp"
#include "common/accounting/gaussian_dp.hpp"
#include "common/base/version.hpp"
#include "drawn_releases.hpp"

namespace dpreduce {
namespace {

constexpr double kLeastWanted = 0.94;
constexpr double kMostWanted = 0.965;

template <typename Drawn>
std::vector<Coverage> coverages_of(const Drawn& rows, double mu, std::uint64_t seeds, unsigned threads) {
  std::vector<Coverage> all(seeds);
  std::atomic<std::uint64_t> next = 0;
  std::vector<std::thread> team;
  for (unsigned thread = 0; thread < threads; ++thread) {
    team.emplace_back([&] {
      for (std::uint64_t seed = next++; seed < seeds; seed = next++) all[seed] = coverage_of(rows, mu, seed);
    });
  }
  for (std::thread& own : team) own.join();
  return all;
}

constexpr const char* kHead = R"(# How often intervals hold

Written by `bench/refit_coverage`, of dpreduce {}. Every figure comes from that program, which says how rows, targets and noise are
drawn: {} seeds a line, delta {}, ridge {:g}, autocorrelated features, intervals of level .95 (the target is .94 to .965).
[Release once, refit for ever](../how-to/release-and-refit.md) says what they are about, and what kappa is.

`kappa` is the median over seeds, and `given` the share of seeds that have intervals: those with kappa up to {}
({} of one or two features). Coverage is the share
of intervals that hold, where they are given: of weights about the estimate without noise on these rows, of weights about the
population, and of scores of {} rows. `worst` is that of the one weight whose intervals about the population hold least often. The width is the median of intervals of weights, the weights themselves being about 1.
`not refused` is the coverage of weights if intervals were given up to a kappa of {:g}.

## The grid
)";

constexpr const char* kColumns = R"(
| n | d | epsilon | kappa | given | weights | population | worst | scores | width | not refused |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
)";

constexpr const char* kMiddle = R"(
## Where the noise is not small

The same at budgets that have kappa from .15 to .5.
)";

// Measured at the same seeds, 200 a line, by the last release of this program that had them.
constexpr const char* kSimulated = R"(
Noise that was simulated 400 times (a debiased parametric bootstrap) does not stand in the middle any more: with it, weights of the
lines (2000, 5, 0.3), (20000, 50, 2) and (200000, 200, 2) held .970, .962 and .958, at widths of 0.530, 0.544 and 0.415, in a
thousand times the time of the formula.
)";

constexpr const char* kFew = R"(
## Few features

Whether intervals are given is decided by a kappa that has the noise in it. With few features that noise decides much: of runs with
a true kappa above the bound, those that have intervals are those whose noise made the Gram matrix larger, and how often these hold
depends on the weights, which are drawn once a line.
)";

constexpr const char* kLabels = R"(
## Labels

The same of labels in the place of targets: 1 with probability p = 1 / (1 + exp(-o - 6 g^T x)), else 0. Rows have an intercept, and
each seed draws rows and labels anew. Labels have no one variance: p (1 - p) is large where rows are undecided and small elsewhere.
So intervals about the population hold about as often as they say on average over weights, and not for each weight. First every
second row has the label (o = 0), then few have (o = -4).
)";

struct Line {
  std::size_t count;
  std::size_t dim;
  double epsilon;
};
constexpr std::array kLabelLines{Line{2000, 5, 1.0}, Line{2000, 5, 8.0}, Line{20000, 5, 1.0}, Line{20000, 50, 8.0}};
constexpr std::array kMiddleLines{
    Line{2000, 5, 0.4},    Line{2000, 5, 0.3},     Line{2000, 5, 0.25},    Line{2000, 5, 0.2},
    Line{2000, 5, 0.15},   Line{20000, 50, 2.0},   Line{20000, 50, 1.5},   Line{20000, 50, 1.25},
    Line{20000, 50, 1.0},  Line{20000, 200, 20},   Line{200000, 50, 0.2},  Line{200000, 50, 0.15},
    Line{200000, 50, 0.1}, Line{200000, 200, 2.0}, Line{200000, 200, 1.5}, Line{200000, 200, 1.25}};
constexpr std::array kFewLines{Line{3000, 2, 0.05}, Line{5000, 2, 0.03}, Line{5000, 2, 0.01}, Line{3000, 5, 0.14},
                               Line{5000, 5, 0.08}, Line{5000, 5, 0.06}, Line{5001, 5, 0.06}, Line{5002, 5, 0.06}};

// Coverage of the lines of a table.
struct Extent {
  double least = 1.0;
  double most = 0.0;
  std::string outside{};  // lines beyond the target, in words
};

// Coverage about the population of the weight where it is least.
double worst_weight(const std::vector<Coverage>& all, double most_kappa) {
  std::vector<double> held;
  double given = 0.0;
  for (const Coverage& own : all) {
    if (own.kappa > most_kappa) continue;
    held.resize(own.held.size(), 0.0);
    for (std::size_t a = 0; a < held.size(); ++a) held[a] += own.held[a] ? 1.0 : 0.0;
    given += 1.0;
  }
  return std::ranges::min(held) / given;
}

// The line, and into `extent` what it shows.
std::string line_of(const Line& line, std::vector<Coverage> all, Extent& extent) {
  std::ranges::sort(all, {}, &Coverage::kappa);
  const auto mean = [&](double Coverage::*figure, double most) {
    double sum = 0.0;
    double given = 0.0;
    for (const Coverage& own : all) {
      if (own.kappa > most) continue;
      sum += own.*figure;
      given += 1.0;
    }
    return sum / given;
  };
  const double most_kappa = most_kappa_of(line.dim);
  const auto told = [](double share) { return std::isnan(share) ? std::string() : fmt::format("{:.3f}", share); };
  const auto given = std::ranges::count_if(all, [&](const Coverage& own) { return own.kappa <= most_kappa; });
  std::string words =
      fmt::format("| {} | {} | {} | {:.3g} | {:.3f} |", line.count, line.dim, line.epsilon, all[all.size() / 2].kappa,
                  static_cast<double>(given) / static_cast<double>(all.size()));
  bool is_outside = false;
  for (double Coverage::*figure : {&Coverage::weights, &Coverage::population, &Coverage::predictions}) {
    const double share = mean(figure, most_kappa);
    words += fmt::format(" {} |", told(share));
    if (given == 0) {
      if (figure == &Coverage::population) words += "  |";
      continue;
    }
    extent.least = std::min(extent.least, share);
    extent.most = std::max(extent.most, share);
    is_outside = is_outside || share < kLeastWanted || share > kMostWanted;
    if (figure == &Coverage::population) words += fmt::format(" {} |", told(worst_weight(all, most_kappa)));
  }
  if (is_outside) {
    extent.outside +=
        fmt::format("{}({}, {}, {})", extent.outside.empty() ? "" : ", ", line.count, line.dim, line.epsilon);
  }
  return words + fmt::format(" {} | {} |\n", told(mean(&Coverage::width, most_kappa)),
                             told(mean(&Coverage::weights, kMostTried)));
}

class Page {
 public:
  Page(const std::string& path, std::uint64_t seeds, unsigned threads) : page_(path), seeds_(seeds), threads_(threads) {
    page_ << fmt::format(kHead, version(), seeds, kDelta, kRidge, most_kappa_of(3), most_kappa_of(1), kPredicted,
                         kMostTried);
  }

  void add(const char* words) { page_ << words; }

  void add_table(std::span<const Line> lines) { add_table<Rows>(lines, rows_of); }

  // `made` makes what is drawn from, of n and d.
  template <typename Drawn, typename Make>
  void add_table(std::span<const Line> lines, const Make& made) {
    page_ << kColumns;
    Extent extent;
    std::optional<Drawn> rows;
    for (const Line& line : lines) {
      if (!rows || rows->count != line.count || rows->dim != line.dim) rows = made(line.count, line.dim);
      const std::string words =
          line_of(line, coverages_of(*rows, gdp_mu(line.epsilon, kDelta), seeds_, threads_), extent);
      page_ << words << std::flush;
      fmt::print("{}", words);
      std::fflush(stdout);
    }
    page_ << fmt::format("\nCoverage is from {:.3f} to {:.3f}. Outside the target: {}.\n", extent.least, extent.most,
                         extent.outside.empty() ? "none" : extent.outside);
  }

 private:
  std::ofstream page_;
  std::uint64_t seeds_;
  unsigned threads_;
};

void write_page(const std::string& path, std::uint64_t seeds, unsigned threads) {
  use_one_blas_thread();
  std::vector<Line> grid;
  for (const std::size_t count : {2000, 20000, 200000}) {
    for (const std::size_t dim : {5, 50, 200}) {
      for (const double epsilon : {0.5, 1.0, 4.0}) grid.push_back({count, dim, epsilon});
    }
  }
  Page page(path, seeds, threads);
  page.add_table(grid);
  page.add(kMiddle);
  page.add_table(kMiddleLines);
  page.add(kSimulated);
  page.add(kFew);
  page.add_table(kFewLines);
  page.add(kLabels);
  for (const double offset : {0.0, -4.0}) {
    page.add_table<LabeledPopulation>(
        kLabelLines, [&](std::size_t count, std::size_t dim) { return labeled_population(count, dim, offset); });
  }
}

}  // namespace
}  // namespace dpreduce

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: refit_coverage PAGE [SEEDS [THREADS]]\n");
    return 2;
  }
  const std::uint64_t seeds = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 1000;
  const unsigned threads = count > 3 ? static_cast<unsigned>(std::strtoul(arguments[3], nullptr, 10))
                                     : std::max(1U, std::thread::hardware_concurrency());
  dpreduce::write_page(arguments[1], seeds, threads);
  return 0;
}
