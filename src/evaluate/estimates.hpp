// Figures of noised counts and sums, each with an interval that holds the noise and the sampling of test rows.
//
// Interval of a share, where both counts that it is made of were noised. It holds the noise, which is known, and the
// sampling of rows.
//
// Legend: R of n rows are right, R ~ Bin(n, p); r = R + N(0, s^2) and w = n - R + N(0, s^2) were released. For the true
// p, whatever it is,
//
//     T(p) = (1 - p) r - p w = R - n p + N(0, s^2 (p^2 + (1 - p)^2))
//
// has mean 0, and a law that depends on p and n alone. The interval is of all p for which T is neither too large nor
// too small, with probability alpha together, n taken to be r + w: exact but for that, and continuous, as noise is.
// If noise hides whether p is at an end of [0, 1], nothing is beyond it, and alpha goes to the other side: so that no
// interval is empty, and none holds p more often than it says. Value +- z deviation fails where counts are few or noise
// leaves [0, 1]. Sources: Fieller's pivot of a ratio; [feldman1998] for the sides.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace dpreduce {

struct NoisedCounts {
  double right;  ///< r
  double wrong;  ///< w
  double sigma;  ///< s
};

/// Figure with the interval that holds the true one, of the population that rows were drawn from, with the requested
/// probability.
struct Estimate {
  double value;
  double low;
  double high;
  double noise;      ///< standard deviation of `value` by noise alone
  double deviation;  ///< by noise and sampling

  /// Returns whether the interval leaves out next to nothing of what the figure may be: then the data say nothing.
  bool is_uninformative(double range = 1.0) const { return high - low > 0.8 * range; }
};

/// p, from 0 to 1, at that level (0.95). `deviation` is what a normal interval of that width has. Cost: some 20 sums of
/// 14 deviations of the binomial law each, below a ms for 10^4 rows; of large counts or large noise 20 error functions.
Estimate estimate_share(const NoisedCounts& counts, double level);

/// The mean of a loss in [0, most]: `sum` of it, with noise `sum_sigma`, over about `rows` rows, with noise
/// `rows_sigma`. The variance of a row's loss is at most m (most - m), m the mean, so that the interval is rather too
/// wide.
Estimate estimate_mean(double sum, double sum_sigma, double rows, double rows_sigma, double most, double level);

/// z of that level: the standard normal distribution is within -z and z with that probability.
double two_sided_quantile(double level);

/// Each share, at that level.
std::vector<Estimate> shares_of(const std::vector<NoisedCounts>& counts, double level);

/// The mean of K independent estimates v in [l, u], by the variances that each end of an interval stands for [zou2008]:
///
///     low = mean - (sqrt(sum (1 - b)^2 (v - l)^2) + sum b (v - l)) / K,   b = (u - l)^2,   and high likewise
///
/// Intervals of few rows reach further to one side than to the other, and so does the mean's. The bias of a ratio of
/// noised counts goes with the square of its interval's width, and biases of many classes do not cancel out: a part b
/// of the distance to each end adds up as it is. So an estimate that says nothing may be anywhere in its interval.
Estimate mean_of(const std::vector<Estimate>& estimates, double level);

/// F1 = 2 p / (1 + p), p the share of classes in both sets among those in any, which it rises with.
Estimate f1_of(const Estimate& share);

/// The largest difference between two of these shares, whose noised counts are given. Its interval is what the shares'
/// intervals allow that hold all together at that level.
Estimate estimate_largest_gap(const std::vector<NoisedCounts>& counts, double level);

/// Estimates by how much the second of two models is right more often, from noised counts of rows that both, the second
/// alone, the first alone and none get right. With D the difference, n the rows and q the share of rows where they
/// differ,
///
///     D = (second - first) / n,   noise s sqrt(2 + 4 D^2) / n,   sampling (q - D^2) / n
///
/// Precondition (asserted): four counts.
Estimate estimate_difference(const std::vector<double>& counts, double sigma, double level);

/// sum_b |d_b| / n, from noised sums d_b over the rows of each bin of right less their probability, with noise `sigma`
/// each; of about `rows` rows of which `bin_rows` are in each bin. Noise and sampling of variance v^2 make |d_b| larger
/// by
///
///     bias(d) = v sqrt(2 / pi) exp(-d^2 / 2 v^2) - |d| erfc(|d| / (v sqrt(2))),
///
/// which is subtracted: the value is the e with which rows n_b of each bin, off by e n_b, give that sum on average, or
/// 0. The interval's lower end is of the largest bias, that of d = 0, and its upper one of that of what was released,
/// which is less.
Estimate estimate_calibration_error(const std::vector<double>& gaps, double sigma, const std::vector<double>& bin_rows,
                                    double rows, double level);

/// Counts of negatives by bins of their scores.
struct NoisedNegatives {
  double rows;
  double sigma;  ///< of each bin's count
  std::size_t bins;
};

/// Area under the curve, from noised sums over positives of F and 1 - F (worker/statistics/evaluation.hpp), r and w, in
/// rows.
///
///     A = r / P, P = r + w;   noise of positives s hypot(A, 1 - A) / P,   of negatives s' sqrt(B / 3) / N;
///     sampling as of two histograms
Estimate estimate_auc(const NoisedCounts& positives, const NoisedNegatives& negatives, double level);

/// Area under the curve of two histograms of noised counts, from low scores to high: pairs of a positive and a negative
/// in one bin count half.
///
///     noise s sqrt(B / 3) sqrt(1 / P^2 + 1 / N^2);   sampling [hanley1982], formula of negative exponentials
Estimate estimate_auc(const std::vector<double>& positives, const std::vector<double>& negatives, double sigma,
                      double level);

struct NumberFigures {
  Estimate r2;    ///< from kLeastR2
  Estimate rmse;  ///< in units of targets
};

/// R^2 and RMSE of a target of scale h, from noised n, sums of y', y'^2, y'^3, y'^4, e^2 and e^4, with noise `sigmas`:
///
///     E = sum e^2 / n,   V = sum y'^2 / n - (sum y' / n)^2,   R^2 = 1 - E / V,   RMSE = h sqrt(E)
///
/// Let s_E and s_V be standard deviations by noise and sampling, and z the quantile of the level. The interval of R^2
/// holds 1 - r for all r >= 0 with |E - r V| <= z sqrt(s_E^2 + r^2 s_V^2) [fieller1954]; there is none if V may be 0.
/// Sampling follows from the fourth moments about the means, which are taken to be those of normal numbers at least.
/// Preconditions (asserted): seven each.
NumberFigures estimate_numbers(std::span<const double> sums, std::span<const double> sigmas, double scale,
                               double level);

/// Figures over several targets: the mean of R^2, and the root of the mean square of RMSE. Rows err in all of them
/// together, so ends of intervals are those of all. Precondition (asserted): there is one.
NumberFigures over_targets(const std::vector<NumberFigures>& targets);

}  // namespace dpreduce
