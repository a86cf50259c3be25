// How large a share is, where both counts that it is made of were noised: an interval that holds the noise, which is
// known, and the sampling of rows.
//
// Legend: R of n rows are right, R ~ Bin(n, p); r = R + N(0, s^2) and w = n - R + N(0, s^2) were released. n is
// unknown, with a flat prior; p has Jeffreys' prior, which is flat in theta = asin(sqrt(p)). The posterior of theta is
//
//     f(theta) ~ sum_{R, W} C(R + W, R) p^R (1 - p)^W exp(-((r - R)^2 + (w - W)^2) / (2 s^2)),
//
// over R and W within 6 s of what was released. Its quantiles are the interval's ends. Intervals of the form value +-
// z deviation fail where counts are few or noise leaves [0, 1]. Where both counts are large, value +- z deviation
// is the same. Source: [brown2001], Jeffreys' interval; the noise is integrated out.
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

/// p, from 0 to 1, at that level (0.95). Cost: up to some 10^6 exponentials, 20 ms; of large counts none.
Estimate estimate_share(const NoisedCounts& counts, double level);

/// The mean of a loss in [0, most]: `sum` of it, with noise `sum_sigma`, over about `rows` rows, with noise
/// `rows_sigma`. The variance of a row's loss is at most m (most - m), m the mean, so that the interval is rather too
/// wide.
Estimate estimate_mean(double sum, double sum_sigma, double rows, double rows_sigma, double most, double level);

/// z of that level: the standard normal distribution is within -z and z with that probability.
double two_sided_quantile(double level);

}  // namespace dpreduce
