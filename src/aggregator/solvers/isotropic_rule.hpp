// Choice between class means and rounds, from one small release, and scores by class means.
//
// If rows of every class spread alike in all directions, classes differ only in their means. Scores m_c^T x, without
// another matrix, are then optimal [efron1975], and rounds only add noise. Real features are far longer in some
// directions than in others, and means alone lose much.
//
// Legend: B + N the released Gram matrix of projected rows of length 1 (k x k, worker/statistics/gram.cpp), s its
// noise, n~ = trace(B + N), d features, K classes. A row's squared length is spread over d directions with shares p_j;
// 1 / sum_j p_j^2 is the number of directions that rows take part in (participation ratio), d where all are alike.
//
//     excess = (|B + N - n~ / k I|_F^2 - m s^2) / n~^2,   m = k (k + 1) / 2 - 1,   about sum_j p_j^2
//     deviation of it by noise: v = s^2 sqrt(2 m) / n~^2
//     deviation of an excess that is e without noise: v(e) = sqrt(v^2 + 4 e s^2 / n~^2)
//     class means where   excess < (e0 + e1) / 2 - h v^2 / (e1 - e0),   excess < e2 - z v(e2),   n~ mu <= 50 sqrt(d K)
//
// e0 = 1 / d is usual of isotropic clusters (0.5 to 1.1), e1 = 4 / d the least seen of real features. The second term
// leans towards rounds where noise hides the answer: on real features means may lose 25 points, on clusters rounds lose
// about 10. The third keeps noise from deciding alone: on embeddings, of which e2 = 10 / d is usual, one run of a
// hundred takes means (z = 2.33), where up to nine did. Beyond the last bound rounds are within two points of means on
// clusters, and on other rows ahead.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "common/lattice/row_transform.hpp"
#include "common/ledger/noise_plan.hpp"
#include "common/ledger/released_block.hpp"

namespace dpreduce {

/// Fewest features for which class means are considered.
inline constexpr std::size_t kFewestFeaturesOfMeans = 16;

/// Largest n mu / sqrt(d K) for which class means are considered.
inline constexpr double kLargestSignalOfMeans = 50.0;

/// Estimates from the release of how rows spread.
struct Isotropy {
  double rows;    ///< n~, but at least the noise of it and 1
  double excess;  ///< an estimate of sum_j p_j^2, which noise may take below 0
  double noise;   ///< v
  double sigma;   ///< s, in rows
};

/// Precondition (asserted): `gram` is an upper triangle.
Isotropy isotropy_of(const ReleasedBlock& gram);

/// Returns whether to train by class means, for rows of `dim` features and a release that had `share` of mu^2.
bool wants_means(const Isotropy& isotropy, double share, std::size_t dim, std::size_t classes);

/// Frequency with which runs on about this many rows use class means.
struct MeansForecast {
  double signal;       ///< n mu / sqrt(d K)
  double even_rows;    ///< share of runs, where rows spread as evenly as isotropic clusters do
  double uneven_rows;  ///< where they spread as evenly as the evenest real features that were seen
};

/// Forecast of the choice. `gram` is what the release is planned to hold; the rest as for wants_means.
MeansForecast means_forecast(double rows, const PlannedBlock& gram, double share, std::size_t dim, std::size_t classes);

/// Scores of isotropic classes of one covariance, with class means of one length:
///
///     score_c(v) = t u_c^T v + log(max(n_c, 1) + 2 s_c),   u_c = D_c / |D_c|,   t = L sqrt(r) / (w + (1 - r) L^2 / d)
///
/// D_c is the sum of class c, less 1 / K of all rows, n_c its size, s_c the noise of that; L the length of class means
/// and r = L^2 / (L^2 + d s_m^2) how much of a noised one is no noise, both of all classes together; w = (C^2 - L^2) /
/// d the variance of a row about its mean along each direction. t is the rate at which log odds grow along u_c. Sizes
/// are blurred by their noise, so that they decide nothing where noise made them.
///
/// `gradient`, K x (d + 1), is the mean over rounds of noised softmax gradients at W = 0, in feature units, of rows
/// with the intercept of `rows`; each of its entries has noise `sigma`. `count` is about the number of rows. Returns W,
/// K x (d + 1), in the same coordinates. Preconditions (asserted): shapes; an intercept.
std::vector<double> scores_of_class_means(std::span<const double> gradient, double sigma, double count,
                                          const Preprocessing& rows);

}  // namespace dpreduce
