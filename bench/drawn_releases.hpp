// Releases of sums over rows that are drawn, and how many intervals of a regression on them hold. For refit_coverage.
//
// Rows are drawn once for each n and d: autocorrelated Gaussian features (.7 between neighbors), scaled to norm 1, and
// their exact Gram matrix G. A seed draws targets y = beta^T x + noise of standard deviation .3 anew, without the rows:
// X^T y = G beta + .3 L z with G = L L^T, and the rest of the noise in y^T y is chi-squared; then the noise of a
// release at that epsilon, half of mu^2 each to G and X^T y, and .01 of it to y^T y. So the laws are those of rows.
//
// Labels have another law: y is 1 with probability p = 1 / (1 + exp(-o - 6 g^T x)) and else 0, so that its variance
// p (1 - p) is another one for each row, and p is no linear function of x. There a seed draws rows and labels anew. The
// population's weights are those of expected sums: means over 100 n other rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dpreduce {

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
Rows rows_of(std::size_t count, std::size_t dim);

// Rows with labels, and what of them is expected.
struct LabeledPopulation {
  std::size_t count;
  std::size_t dim;
  double offset;                  // o
  std::vector<double> direction;  // g, of length 1
  std::vector<double> weights{};  // (n E x x^T + R I)^-1 n E p x
  std::vector<double> predicted{};
};

LabeledPopulation labeled_population(std::size_t count, std::size_t dim, double offset);

// Of one seed.
struct Coverage {
  double kappa = 0.0;
  double weights = 0.0;     // share of intervals that hold
  double population = 0.0;  // the same about the population
  double predictions = 0.0;
  double width = 0.0;        // of weights, median, over the size of beta
  std::vector<bool> held{};  // of each weight, about the population
};
Coverage coverage_of(const Rows& rows, double mu, std::uint64_t seed);
Coverage coverage_of(const LabeledPopulation& all, double mu, std::uint64_t seed);

}  // namespace dpreduce
