// How large a share is, where both counts that it is made of were noised: an interval that holds the noise, which is
// known, and the sampling of rows.
//
// Legend: R of n rows are right, R ~ Bin(n, p); r = R + N(0, s^2) and w = n - R + N(0, s^2) were released. For the true
// p, whatever it is,
//
//     T(p) = (1 - p) r - p w = R - n p + N(0, s^2 (p^2 + (1 - p)^2))
//
// has mean 0, and a law that depends on p and n alone. The interval is of all p for which T is neither too large nor
// too small, with probability alpha together, n taken to be r + w: exact but for that, and continuous, as noise is.
// Where noise hides whether p is at an end of [0, 1], nothing is beyond it, and alpha goes to the other side: so that
// no interval is empty, and none holds p more often than it says. Value +- z deviation fails where counts are few or
// noise leaves [0, 1]. Sources: Fieller's pivot of a ratio; [feldman1998] for the sides.
#pragma once

namespace dpreduce {

struct NoisedCounts {
  double right;  ///< r
  double wrong;  ///< w
  double sigma;  ///< s
};

/// A figure with the interval that holds the true one, of the population that rows were drawn from, with the
/// probability that was asked for.
struct Estimate {
  double value;
  double low;
  double high;
  double noise;      ///< standard deviation of `value` by noise alone
  double deviation;  ///< by noise and sampling

  /// Whether the interval leaves out next to nothing of what the figure may be: then the data say nothing.
  bool says_nothing(double range = 1.0) const { return high - low > 0.8 * range; }
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

}  // namespace dpreduce
