// What the methods release: every block of every method, with its exact sensitivity. Workers make their statistic from
// it, the noise plan its noise, the ledger its line; a statistic that is not declared here cannot be released.
//
// Legend: a lattice row q has ||q||_2 <= S (kLatticeNorm) and a set Y of at most k of the K classes (most_labels; 1
// where every row has one class); d features (an intercept is one of them).
//
// Rows of several classes. One row more or less moves the sums, counts and Gram matrices of the classes in Y, each by
// what a row of one class moves: k times the square. A row exchanged for another with m classes in common moves these m
// by |q - q'|^2 and t others, t <= 2 (k - m) and t <= K - m, by |q|^2 or |q'|^2. With t at its bound 2 (k - m) squares
// are linear in m, so that the worst is m = k, k times "the same class", or m = 0, k times "another class".
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/base/choices.hpp"
#include "common/lattice/cosine_clip.hpp"
#include "common/plan/noise_plan.hpp"
#include "common/plan/statistic.hpp"

namespace dpreduce {

/// Release "center": row_sum = sum_i q_i (d) and row_count = n (1), for the mean of all rows.
///
/// Sensitivity, squared: add-remove {S^2, 1}. Replace-one {4 S^2, 0}; so that the released count keeps n a secret there
/// too, the change of one row more is protected as well, {S^2, 1}, which costs nothing. Loss weights: an error e of the
/// count moves the mean by |mean| e / n, and |mean| <= S. `share` of mu^2 goes to it. Preconditions: dim >= 1; 0 <
/// share.
ReleaseRequest center_release(std::size_t dim, Adjacency adjacency, double share);

/// Release "class_means": class_sums = sum_{i : c in Y_i} q_i (K x d, row-major) and, for Metric::kEuclidean only,
/// class_counts = #{i : c in Y_i} (K).
///
/// Sensitivity, squared: add-remove {k S^2, k}. Replace-one, m and t as above: {(4 m + t) S^2, t}, a polygon of (m, t)
/// with the corners m = k, t = 0: {4 k S^2, 0}; m = 0, t = min(2 k, K); and, where 2 k > K, the corner between these,
/// m = 2 k - K, t = 2 (K - k). With one class a row: {4 S^2, 0} within a class and {2 S^2, 2} across two. A direction
/// needs no count, so that the cosine rule spends nothing on one.
/// Source: PRIVACY section 1.1; departs from paper 000 (Theorem 2.1), which is false as printed.
/// Preconditions: classes >= 2; dim >= 1; 0 < share; 1 <= most_labels <= classes.
ReleaseRequest class_means_release(std::size_t classes, std::size_t dim, Metric metric, Adjacency adjacency,
                                   double share, std::size_t most_labels = 1);

/// Release "class_sizes": class_counts = #{i : y_i = c} (K), for rows of at most one class. Sensitivity, squared:
/// add-remove 1, replace-one 2. Preconditions: classes >= 2; 0 < share.
ReleaseRequest class_sizes_release(std::size_t classes, Adjacency adjacency, double share);

/// Release "centred_sums", `rounds` times: sums of rows about a public centre of their class, clipped to a public ball
/// and scaled to norm S at most (centred_sums.hpp), and class_counts, for rows of at most one class.
///
/// Sensitivity, squared, whatever the centres and radii: that of class_means_release with counts and one class a row,
/// since a row adds to its own class a vector of norm at most S, and 1. Source: Biswas et al. 2020.
/// Preconditions: classes >= 2; dim >= 1; rounds >= 1; 0 < share.
ReleaseRequest centred_sums_release(std::size_t classes, std::size_t dim, std::uint64_t rounds, Adjacency adjacency,
                                    double share);

/// Release "gram": the upper triangle of G = sum_i q_i q_i^T, with symmetric noise.
///
/// Sensitivity, squared, in the Frobenius norm: add-remove S^4; replace-one |q q^T - q' q'^T|_F^2 <= 2 S^4.
/// Source: PRIVACY section 3.2. Preconditions: dim >= 1; 0 < share.
ReleaseRequest gram_release(std::size_t dim, Adjacency adjacency, double share);

/// Release "least_squares": gram as above, and class_sums (K x d). `gram_share` of the release's mu^2 goes to the Gram
/// matrix.
///
/// Sensitivity, squared: add-remove {S^4, S^2}. Replace-one, t = <q, q'> / S^2: within a class {2 S^4 (1 - t^2),
/// 2 S^2 (1 - t)}, a curve below the tangents at t = 0 and t = -1, whose corners are {2 S^4, 3 S^2} and {0, 4 S^2}; no
/// noise costs more on the curve than at the worse of the corners. Across two classes {2 S^4, 2 S^2}, below the first.
/// With k classes a row the squares of the sums are k times these, the Gram matrix moves as before.
/// Preconditions: classes >= 2; dim >= 1; 0 < gram_share < 1; 0 < share; 1 <= most_labels <= classes.
ReleaseRequest least_squares_release(std::size_t classes, std::size_t dim, double gram_share, Adjacency adjacency,
                                     double share, std::size_t most_labels = 1);

/// Release "pca": gram_release under a name of its own, for a method that releases a Gram matrix too.
ReleaseRequest pca_release(std::size_t dim, Adjacency adjacency, double share);

/// Release "feature_sums": the class sums of class_means_release (Metric::kCosine) under a name of its own, to select
/// features by before the method's own releases.
ReleaseRequest feature_sums_release(std::size_t classes, std::size_t dim, Adjacency adjacency, double share,
                                    std::size_t most_labels = 1);

/// Release "fisher": class_sums (K x d), second_moments = (sum_i q_ia^2)_a over all classes (d), class_counts (K), for
/// rows of at most one class: variances within classes come from moments of rows that are counted once.
///
/// Sensitivity, squared: sum_a q_a^4 <= (sum_a q_a^2)^2 <= S^4, so add-remove {S^2, S^4, 1}. Second moments are the
/// diagonal of a Gram matrix and never move further than it does, so that replace-one within a class has the corners of
/// least_squares_release, {3 S^2, 2 S^4, 0} and {4 S^2, 0, 0}. Across two classes sums move by |q|^2 + |q'|^2, moments
/// by at most |q|^4 + |q'|^4 (both are vectors without negative entries): {2 S^2, 2 S^4, 2}.
///
/// Loss weights: what noise of variance s_b^2 adds to the variance of a row's scores, for rows whose energy is spread
/// evenly over features and classes of equal size with Mahalanobis separation D: shares of mu^2 in the ratio
/// 1 : D / K : D / sqrt(d), D = 2; more than D / d for counts, so that classes of some tens of rows have one.
/// Preconditions: classes >= 2; dim >= 1; 0 < share.
ReleaseRequest fisher_release(std::size_t classes, std::size_t dim, Adjacency adjacency, double share);

/// Release "class_least_squares", made in parts: class_grams, the upper triangles of A_j = sum_{i : j in Y_i} q_i
/// q_i^T, class after class (K triangles, symmetric noise); for alpha > 0 also gram, that of G = sum_i q_i q_i^T;
/// class_sums (K x d). `gram_share` of the release's mu^2 goes to the Gram matrices, split so that A_j + alpha G has
/// the least noise: s_G^2 / s_A^2 = 1 / (alpha sqrt(k)), sqrt(k) / (sqrt(k) + alpha) of the share for A and the rest
/// for G. The variance of A_j + alpha G is then (sqrt(k) + alpha)^2 times that of a single Gram matrix at the same
/// budget, whatever K. Where every row has exactly one class, G = sum_j A_j, and the generalised least-squares step
/// (PRIVACY 3.4c) has nothing left to do:
///
///     Cov(A_j + alpha G, G - sum_i A_i) = alpha s_G^2 - s_A^2 = 0
///
/// With rows of several classes, or of none, G is no sum of the A_j, and there is no such step.
///
/// Sensitivity, squared: K does not appear. Add-remove {k S^4, S^4, k S^2}. Replace-one, t = <q, q'> / S^2: with the
/// same k classes {2 k S^4 (1 - t^2), 2 S^4 (1 - t^2), 2 k S^2 (1 - t)}, below the corners {2 k S^4, 2 S^4, 3 k S^2}
/// and {0, 0, 4 k S^2} as in least_squares_release; with others {2 k S^4, 2 S^4 (1 - t^2), 2 k S^2}, below the first
/// corner. Source: PRIVACY section 3.4. Preconditions: classes >= 2; dim >= 1; 0 <= alpha < infinity; 0 < gram_share <
/// 1; 0 < share; 1 <= most_labels <= classes. Throws UsageError where most_labels >
/// most_labels_of_class_grams(adjacency).
ReleaseRequest class_least_squares_release(std::size_t classes, std::size_t dim, double alpha, double gram_share,
                                           Adjacency adjacency, double share, std::size_t most_labels = 1);

/// The most classes a row may have there, 16, or 8 under replace-one: squares are kept in 64 bits, and S^4 < 2^60.
std::size_t most_labels_of_class_grams(Adjacency adjacency);

/// Release "gradient", `rounds` times: gradient = sum_i r_i q_i^T (K x d) of residuals r_i on the lattice, |r_i| <= S.
///
/// Sensitivity, squared: |r q^T|_F^2 = |r|^2 |q|^2 <= S^4; replace-one 4 S^4. Whatever the loss, the number of classes
/// and the classes of a row: residuals are clipped as vectors. Preconditions: classes >= 2; dim >= 1; rounds >= 1; 0 <
/// share.
ReleaseRequest gradient_release(std::size_t classes, std::size_t dim, std::uint64_t rounds, Adjacency adjacency,
                                double share);

/// Release "adaptive_gradient", `rounds` times: gradient as above, of residuals scaled by a public bound, and sides
/// (2): how many rows' residuals were within that bound, and how many beyond. 2 % of the release's mu^2 goes to the
/// counts.
///
/// Sensitivity, squared: add-remove {S^4, 1}; replace-one {4 S^4, 2}. Source: Esipova et al. 2023, whose batch size is
/// public where ours is counted. Preconditions: as gradient_release.
ReleaseRequest adaptive_gradient_release(std::size_t classes, std::size_t dim, std::uint64_t rounds,
                                         Adjacency adjacency, double share);

/// B: one row's sum_c |v_c|^4 <= B in a "newton" release, v_c = round(sqrt(w_c) q), w_c the curvature of its loss in
/// its score of class c. Checked in integers, row by row.
///
/// w_c = p_c (1 - p_c). Softmax: sum_c w_c^2 <= max_c p_c (1 - p_c)^2 = 4 / 27, reached by three equal classes; two
/// classes reach 1 / 8. Sigmoid: each w_c <= 1 / 4, so that K / 16 holds them all; above K = 4 rows are held to 1 / 4,
/// so that nothing grows with the number of classes. B = floor of that times S^4.
/// Preconditions: classes >= 2; loss is not kSquare, whose curvature is 1 everywhere: its Hessian is the Gram matrix.
std::uint64_t hessian_bound(Loss loss, std::size_t classes);

/// Release "newton", `rounds` times: gradient = sum_i r_i q_i^T (K x d) as above, and hessians: for each class c in
/// turn the upper triangle of H_c = sum_i v_ic v_ic^T, with symmetric noise. `hessian_share` of the release's mu^2 goes
/// to the Hessians.
///
/// Sensitivity, squared: the K matrices of one row together sum_c |v_c v_c^T|_F^2 = sum_c |v_c|^4 <= B. Add-remove
/// {S^4, B}. Replace-one {4 S^4, 2 B}, since |v v^T - v' v'^T|_F^2 <= |v|^4 + |v'|^4.
/// Source: paper 002, Algorithm 1, with the bounds of PRIVACY section 3.1: its sqrt(K) is waste.
/// Preconditions: as hessian_bound; dim >= 1; rounds >= 1; 0 < hessian_share < 1; 0 < share.
ReleaseRequest newton_release(std::size_t classes, std::size_t dim, Loss loss, double hessian_share,
                              std::uint64_t rounds, Adjacency adjacency, double share);

/// Release "sanitised_row": one lattice row, features = q (d), made for every record by itself.
///
/// Sensitivity, squared: the record's features exchanged for any others, |q - q'|^2 <= (2 S)^2. What is protected is
/// the features of each record against whoever sees its row; neither its label nor its presence. Source: paper 001,
/// equation 4, corrected: a public clip norm, the L2 norm, and noise that is calibrated exactly. Preconditions: dim
/// >= 1.
ReleaseRequest sanitised_row_release(std::size_t dim);

/// Selection "prototypes": for every class `chosen` of `candidates` public rows, by u_cz = sum_{i : y_i = c} u(q_i, z),
/// u as cosine_clip.hpp has it.
///
/// Sensitivity: a row adds to the utilities of its own class alone, and between 0 and upper - lower to each candidate:
/// what it adds differs between two candidates by at most clip.range(). (Without n_c S^2, as prototype_utilities.hpp
/// leaves it out, it adds <q, z> in [-S^2, S^2], which is as wide.) With `chosen` > 1 a set is as good as its worst
/// member, and moves no further. Source: paper 003, DPPL-Public and C.3, with the number of sets of PRIVACY section 4.6
/// and without its factor 2. `epsilon` 0 stands for a run without noise. Preconditions: none beyond fault_of.
PlannedSelection prototype_selection(std::size_t classes, std::uint64_t candidates, std::uint64_t chosen,
                                     const CosineClip& clip, double epsilon);

/// An all-zero statistic with the blocks of `request`.
Statistic empty_statistic(const ReleaseRequest& request);

/// Zeros for a selection's utilities: one block "utilities", groups x candidates, row g holds group g.
/// @pre fault_of(selection.terms) is empty.
Statistic empty_utilities(const PlannedSelection& selection);

}  // namespace dpreduce
