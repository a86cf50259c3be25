// How often intervals of refits hold (aggregator/solvers/ridge_figures.hpp): docs/experiments/intervals.md.
//
//     refit_coverage PAGE [SEEDS [THREADS]]     writes PAGE; bench/page_part.py docs/experiments/intervals.md
//     bench/refit_coverage <PAGE
//
// Rows are drawn once for each n and d: autocorrelated Gaussian features (.7 between neighbors), scaled to norm 1, and
// their exact Gram matrix G. A seed draws targets y = beta^T x + noise of standard deviation .3 anew, without the rows:
// X^T y = G beta + .3 L z with G = L L^T, and the rest of the noise in y^T y is chi-squared; then the noise of a
// release at that epsilon, half of mu^2 each to G and X^T y, and .01 of it to y^T y. So the laws are those of rows.
//
// Labels have another law: y is 1 with probability p = 1 / (1 + exp(-o - 6 g^T x)) and else 0, so that its variance
// p (1 - p) is another one for each row, and p is no linear function of x. There a seed draws rows and labels anew. The
// population's weights are those of expected sums: means over 100 n other rows.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numbers>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <cblas.h>
#include <fmt/format.h>
#include <lapacke.h>

#include "aggregator/solvers/blas.hpp"
#include "aggregator/solvers/ridge_figures.hpp"
#include "common/accounting/gaussian_dp.hpp"
#include "common/base/version.hpp"

namespace dpreduce {
namespace {

constexpr double kDelta = 1e-5;
constexpr double kRidge = 1.0;
constexpr std::size_t kPredicted = 10;
constexpr double kMostTried = 1.0;  // kappa

struct Rows {
  std::size_t count;
  std::size_t dim;
  std::vector<double> gram;    // G
  std::vector<double> factor;  // L, lower triangle by rows
  std::vector<double> beta;
  std::vector<double> predicted;  // kPredicted rows of the same kind
};

// Rows with labels, and what of them is expected.
struct LabeledPopulation {
  std::size_t count;
  std::size_t dim;
  double offset;                  // o
  std::vector<double> direction;  // g, of length 1
  std::vector<double> weights{};  // (n E x x^T + R I)^-1 n E p x
  std::vector<double> predicted{};
};

// Of one seed.
struct Coverage {
  double kappa = 0.0;
  double weights = 0.0;     // share of intervals that hold
  double population = 0.0;  // the same about the population
  double predictions = 0.0;
  double width = 0.0;        // of weights, median, over the size of beta
  std::vector<bool> held{};  // of each weight, about the population
};

// ---- releases of sums over rows that are drawn

constexpr double kResidual = 0.3;
constexpr double kCorrelation = 0.7;
constexpr double kSquaresShare = 0.01;
constexpr double kSlope = 6.0;                  // of labels
constexpr std::size_t kRowsOfPopulation = 100;  // for each row of a release
constexpr double kNormal95 = 1.959963984540054;

std::vector<double> drawn_rows(std::size_t count, std::size_t dim, NormalStream& normals) {
  std::vector<double> rows(count * dim);
  for (std::size_t row = 0; row < count; ++row) {
    double before = normals.next();
    double squares = 0.0;
    for (std::size_t a = 0; a < dim; ++a) {
      rows[row * dim + a] = before;
      squares += before * before;
      before = kCorrelation * before + std::sqrt(1.0 - kCorrelation * kCorrelation) * normals.next();
    }
    for (std::size_t a = 0; a < dim; ++a) rows[row * dim + a] /= std::sqrt(squares);
  }
  return rows;
}

std::vector<double> times(const std::vector<double>& matrix, const std::vector<double>& vector) {
  const auto order = static_cast<int>(vector.size());
  std::vector<double> product(vector.size());
  cblas_dgemv(CblasRowMajor, CblasNoTrans, order, order, 1.0, matrix.data(), order, vector.data(), 1, 0.0,
              product.data(), 1);
  return product;
}

// H^-1 b
std::vector<double> solved(std::vector<double> matrix, std::vector<double> b) {
  const std::size_t dim = b.size();
  const auto order = static_cast<int>(dim);
  for (std::size_t a = 0; a < dim; ++a) matrix[a * dim + a] += kRidge;
  LAPACKE_dposv(LAPACK_COL_MAJOR, 'L', order, 1, matrix.data(), order, b.data(), order);
  return b;
}

ReleasedBlock block_of(const char* name, std::span<const double> values, double unit, double sigma) {
  std::vector<std::int64_t> integers;
  for (const double value : values) integers.push_back(std::llround(value * unit));
  return {name, std::move(integers), sigma * unit};
}

// The block with noise of its own law in it.
ReleasedBlock noised(const ReleasedBlock& exact, std::size_t triangle, NormalStream normals) {
  const ReleasedBlock block = with_noise(exact, 1.0, triangle, std::move(normals));
  return {block.name(), {block.values().begin(), block.values().end()}, exact.sigma()};
}

// Sums over rows before noise, what their weights are meant to be, and rows whose scores are asked for.
struct Sums {
  std::size_t count;
  std::span<const double> gram;
  std::vector<double> b;
  double targets;                  // y^T y
  std::vector<double> population;  // weights
  std::span<const double> predicted;
};

Coverage released(const Sums& sums, double mu, std::uint64_t seed, NormalStream& normals) {
  const std::size_t dim = sums.b.size();
  const Lattice lattice{1.0, dim};
  const double scale = lattice.scale();
  const double left = std::sqrt((1.0 - kSquaresShare) / 2.0) * mu;
  std::vector<double> triangle;
  for (std::size_t a = 0; a < dim; ++a) {
    triangle.insert(triangle.end(), &sums.gram[a * dim + a], sums.gram.data() + (a + 1) * dim);
  }
  const Release release({noised(block_of("gram", triangle, scale * scale, 1.0 / left), dim, {seed, 1}),
                         noised(block_of("class_sums", sums.b, scale, 1.0 / left), 0, {seed, 2})});
  IntervalTerms terms{.ridge = kRidge,
                      .rows = std::vector<double>(dim * dim, 0.0),
                      .squared_targets = {sums.targets + normals.next() / (std::sqrt(kSquaresShare) * mu)},
                      .count = static_cast<double>(sums.count),
                      .most_kappa = kMostTried};
  for (std::size_t a = 0; a < dim; ++a) terms.rows[a * dim + a] = 1.0;
  terms.rows.insert(terms.rows.end(), sums.predicted.begin(), sums.predicted.end());
  const LinearIntervals intervals = linear_intervals(release, lattice, terms);
  Coverage coverage{.kappa = intervals.kappa};
  if (intervals.kind == IntervalKind::kNone) return coverage;

  const std::vector<double> on_rows = solved({sums.gram.begin(), sums.gram.end()}, sums.b);
  std::vector<double> widths;
  for (std::size_t e = 0; e < intervals.estimates.size(); ++e) {
    const std::span<const double> row = std::span(terms.rows).subspan(e * dim, dim);
    const double truth = std::inner_product(row.begin(), row.end(), on_rows.begin(), 0.0);
    const double beyond = std::inner_product(row.begin(), row.end(), sums.population.begin(), 0.0);
    const bool holds = std::abs(intervals.estimates[e] - truth) <= kNormal95 * intervals.deviations[e];
    if (e >= dim) {
      coverage.predictions += holds ? 1.0 / kPredicted : 0.0;
      continue;
    }
    coverage.weights += holds ? 1.0 / static_cast<double>(dim) : 0.0;
    const bool holds_beyond =
        std::abs(intervals.estimates[e] - beyond) <= kNormal95 * intervals.population_deviations[e];
    coverage.population += holds_beyond ? 1.0 / static_cast<double>(dim) : 0.0;
    coverage.held.push_back(holds_beyond);
    widths.push_back(2.0 * kNormal95 * intervals.deviations[e]);
  }
  std::ranges::nth_element(widths, widths.begin() + static_cast<std::ptrdiff_t>(dim / 2));
  coverage.width = widths[dim / 2];
  return coverage;
}

// A tenth of the squared norm is a constant, the last coordinate.
std::vector<double> with_intercept(std::vector<double> rows, std::size_t dim) {
  constexpr double kShare = 0.1;
  for (std::size_t e = 0; e < rows.size(); ++e) {
    rows[e] = (e + 1) % dim == 0 ? std::sqrt(kShare) : std::sqrt(1.0 - kShare) * rows[e];
  }
  return rows;
}

// Adds x x^T of `rows` rows to `gram`, and to `sums` y x, or p x where labels are not drawn. Returns sum y^2.
double add_rows(const LabeledPopulation& all, std::size_t rows, bool draws_labels, NormalStream& normals,
                std::vector<double>& gram, std::vector<double>& sums) {
  const std::size_t dim = all.dim;
  const auto order = static_cast<int>(dim);
  double targets = 0.0;
  for (std::size_t left = rows; left > 0;) {
    const std::size_t some = std::min<std::size_t>(left, 1000);
    const std::vector<double> x = with_intercept(drawn_rows(some, dim, normals), dim);
    std::vector<double> y(some);
    for (std::size_t row = 0; row < some; ++row) {
      const double score = std::inner_product(all.direction.begin(), all.direction.end(), &x[row * dim], 0.0);
      const double p = 1.0 / (1.0 + std::exp(-all.offset - kSlope * score));
      const double drawn = 0.5 * std::erfc(normals.next() / std::numbers::sqrt2);
      y[row] = draws_labels ? (drawn < p ? 1.0 : 0.0) : p;
      targets += y[row] * y[row];
    }
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, order, order, static_cast<int>(some), 1.0, x.data(), order,
                x.data(), order, 1.0, gram.data(), order);
    cblas_dgemv(CblasRowMajor, CblasTrans, static_cast<int>(some), order, 1.0, x.data(), order, y.data(), 1, 1.0,
                sums.data(), 1);
    left -= some;
  }
  return targets;
}

Rows rows_of(std::size_t count, std::size_t dim) {
  NormalStream normals(count, dim);
  Rows rows{count, dim, std::vector<double>(dim * dim, 0.0), {}, {}, {}};
  const auto order = static_cast<int>(dim);
  for (std::size_t left = count; left > 0;) {
    const std::size_t some = std::min<std::size_t>(left, 1000);
    const std::vector<double> x = drawn_rows(some, dim, normals);
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, order, order, static_cast<int>(some), 1.0, x.data(), order,
                x.data(), order, 1.0, rows.gram.data(), order);
    left -= some;
  }
  rows.factor = rows.gram;
  LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', order, rows.factor.data(), order);
  for (std::size_t a = 0; a < dim; ++a) rows.beta.push_back(normals.next());
  rows.predicted = drawn_rows(kPredicted, dim, normals);
  return rows;
}

Coverage coverage_of(const Rows& rows, double mu, std::uint64_t seed) {
  NormalStream normals(seed + 1, rows.count * 1000 + rows.dim);
  const std::size_t dim = rows.dim;
  std::vector<double> z(dim);
  double squared = 0.0;
  for (double& entry : z) {
    entry = kResidual * normals.next();
    squared += entry * entry;
  }
  std::vector<double> lower = rows.factor;
  for (std::size_t a = 0; a < dim; ++a) std::fill_n(&lower[a * dim + a + 1], dim - a - 1, 0.0);
  const std::vector<double> explained = times(rows.gram, rows.beta);
  const std::vector<double> of_noise = times(lower, z);
  std::vector<double> b = explained;
  double targets = squared;
  for (std::size_t a = 0; a < dim; ++a) {
    b[a] += of_noise[a];
    targets += rows.beta[a] * (explained[a] + 2.0 * of_noise[a]);
  }
  const double freedom = static_cast<double>(rows.count - dim);
  targets += kResidual * kResidual * (freedom + std::sqrt(2.0 * freedom) * normals.next());
  return released({rows.count, rows.gram, std::move(b), targets, solved(rows.gram, explained), rows.predicted}, mu,
                  seed, normals);
}

LabeledPopulation labeled_population(std::size_t count, std::size_t dim, double offset) {
  NormalStream normals(count, dim);
  LabeledPopulation all{count, dim, offset, {}};
  for (std::size_t a = 0; a < dim; ++a) all.direction.push_back(normals.next());
  const double length = cblas_dnrm2(static_cast<int>(dim), all.direction.data(), 1);
  for (double& entry : all.direction) entry /= length;
  all.predicted = with_intercept(drawn_rows(kPredicted, dim, normals), dim);
  std::vector<double> gram(dim * dim, 0.0);
  std::vector<double> sums(dim, 0.0);
  add_rows(all, kRowsOfPopulation * count, false, normals, gram, sums);
  for (double& entry : gram) entry /= kRowsOfPopulation;
  for (double& entry : sums) entry /= kRowsOfPopulation;
  all.weights = solved(std::move(gram), std::move(sums));
  return all;
}

Coverage coverage_of(const LabeledPopulation& all, double mu, std::uint64_t seed) {
  NormalStream normals(seed + 1, all.count * 1000 + all.dim);
  std::vector<double> gram(all.dim * all.dim, 0.0);
  std::vector<double> b(all.dim, 0.0);
  const double targets = add_rows(all, all.count, true, normals, gram, b);
  return released({all.count, gram, std::move(b), targets, all.weights, all.predicted}, mu, seed, normals);
}

// ---- the page

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
