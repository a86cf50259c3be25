// Metrics from noised counts and sums, each with an interval that accounts for the noise and the sampling of test rows.
//
// Interval of a proportion p from two noised counts. The interval accounts for the noise, which is known, and for the
// sampling of rows.
//
// Legend: R of n rows are right, R ~ Bin(n, p). Released: r = R + N(0, s^2) and w = n - R + N(0, s^2). At any true p,
//
//     T(p) = (1 - p) r - p w = R - n p + N(0, s^2 (p^2 + (1 - p)^2))
//
// has mean 0, and a distribution that depends on p and n alone. The interval consists of all p for which T is neither
// too large nor too small, events of probability alpha together. n is taken to be r + w: the interval is exact but for
// that, and continuous, as noise is. If noise hides whether p is at an end of [0, 1], no p is beyond that end, and
// alpha goes to the other side: so no interval is empty, and none covers p more often than its level. The interval
// value +- z deviation fails if counts are small or noise leaves [0, 1]. Sources: Fieller's pivot of a ratio;
// [feldman1998] for the sides.
#pragma once

#include <vector>

namespace dpreduce {

struct NoisedCounts {
  double right;  ///< r
  double wrong;  ///< w
  double sigma;  ///< s
};

/// Metric with an interval that covers the metric's true value, in the population that rows were drawn from, with the
/// requested probability.
struct Estimate {
  double value;
  double low;
  double high;
  double noise;      ///< standard deviation of `value` by noise alone
  double deviation;  ///< by noise and sampling

  /// Returns whether the interval excludes almost nothing of the metric's range: the data are then uninformative.
  bool is_uninformative(double range = 1.0) const { return high - low > 0.8 * range; }
};

/// Estimates p, from 0 to 1, at level `level` (e.g. 0.95). `deviation` is that of a normal interval of the same width.
/// Cost: some 20 sums over 14 deviations of the binomial distribution each, below a ms for 10^4 rows; for large counts
/// or large noise 20 error functions. Precondition (asserted): 0 < level < 1, sigma >= 0.
Estimate estimate_share(const NoisedCounts& counts, double level);

/// Estimates the mean of a loss in [0, most]: `sum` of the loss, with noise `sum_sigma`, over about `rows` rows, with
/// noise `rows_sigma`. The variance of a row's loss is taken to be its upper bound m (most - m), m the mean, so that
/// the interval is rather too wide.
Estimate estimate_mean(double sum, double sum_sigma, double rows, double rows_sigma, double most, double level);

/// Quantile z of a level: a standard normal variable is between -z and z with probability `level`.
double two_sided_quantile(double level);

/// Estimates of the shares, one for each pair of counts, at that level.
std::vector<Estimate> shares_of(const std::vector<NoisedCounts>& counts, double level);

/// Estimates the mean of K independent estimates v in [l, u], by the variances that each end of an interval implies
/// [zou2008]:
///
///     low = mean - (sqrt(sum (1 - b)^2 (v - l)^2) + sum b (v - l)) / K,   b = (u - l)^2,   and high likewise
///
/// Intervals of few rows reach further to one side than to the other, and so does the interval of the mean. The bias of
/// a ratio of noised counts is proportional to the square of its interval's width, and biases of many classes do not
/// cancel out: a part b of the distance to each end is added linearly. So an uninformative estimate may be anywhere in
/// its interval.
Estimate mean_of(const std::vector<Estimate>& estimates, double level);

/// F1 = 2 p / (1 + p), with p the share of classes in both sets among those in either. F1 rises with p.
Estimate f1_of(const Estimate& share);

/// Estimates the largest difference between two shares, given by their noised counts. The interval has the differences
/// that the shares' intervals allow; those cover all shares together at that level. Precondition (asserted): at least
/// two shares.
Estimate estimate_largest_gap(const std::vector<NoisedCounts>& counts, double level);

/// Estimates the accuracy of the second of two models minus that of the first, from noised counts of rows that both,
/// the second alone, the first alone and neither gets right. With D the difference, n the number of rows and q the
/// share of rows on which the models differ,
///
///     D = (second - first) / n,   noise s sqrt(2 + 4 D^2) / n,   sampling (q - D^2) / n
///
/// Precondition (asserted): four counts.
Estimate estimate_difference(const std::vector<double>& counts, double sigma, double level);

}  // namespace dpreduce
