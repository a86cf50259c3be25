// Classifiers by class means, from released sums: post-processing, so no privacy is spent here.
//
// Legend: v_c = released class sum c (d), n_c = released class count, s = its noise, scale = lattice units per feature
// unit, C the clip norm.
#pragma once

#include <cstddef>
#include <vector>

#include "aggregator/solvers/linear_scores.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "common/ledger/metric.hpp"
#include "common/ledger/released_block.hpp"

namespace dpreduce {

/// Metric::kCosine:    W_c = v_c / ||v_c||, b_c = 0: the nearest direction (rows of any length).
/// Metric::kEuclidean: m_c = v_c / (scale max(n_c, 1)), pulled into the ball ||m_c|| <= C where every true mean lies;
///                     W_c = m_c, b_c = -max(0, ||m_c||^2 - d (s / (scale max(n_c, 1)))^2) / 2: the nearest center,
///                     with the noise's known share of ||m_c||^2 taken out.
/// With select = m > 0 the weights of the m features in which those W_c are farthest apart (class_distances) are
/// computed again from these features alone; those of the others are 0.
/// Preconditions: `release` has class_sums with K x d elements, and class_counts for kEuclidean; select <= d.
/// Source: [zhu2024], Algorithm 1; [shen2021], Algorithm 1, for the selection.
LinearScores solve_mean_classifier(const Release& release, const Lattice& lattice, Metric metric,
                                   std::size_t select = 0);

/// The `count` features in which the directions of released class sums are farthest apart, ascending.
std::vector<std::size_t> select_features(const Release& release, const Lattice& lattice, std::size_t count);

// The diagonal Fisher rule for any number of classes, from released sums: post-processing.
//
// Legend, in lattice units: v_c = released class sum c, n_c = released count (at least 1), n = sum n_c, M_a = released
// second moment, s and s_M the noise of sums and moments, C the clip norm as a row's largest norm. All are public.
//
//     m_c = v_c / n_c, pulled into the ball of radius C
//     b_c = max(0, 1 - d s^2 / |v_c|^2)                                 how much of v_c is no noise
//     D_a = (M_a - sum_c b_c v_ca^2 / n_c) / n                          variance within classes
//     nu_a^2 = (s_M^2 + sum_c b_c (4 (m_ca s)^2 + 2 s^4 / n_c^2)) / n^2       the noise in D_a
//
// D_a is drawn to the mean of all D by as much as noise explains their differences (empirical Bayes: by the factor
// t / (t + nu_a^2), t the variance of D over features less that of the noise), and is not below nu_a, where a variance
// could not be told from noise; the noise (K s / n)^2 in a class mean is added to it, as it is as good as variance.
// Then
//
//     m = sum_c n_c m_c / n,   E_c = max(0, sum_a (m_ca - m_a)^2 / D_a less what noise adds to it)
//     score_c(x) = (m_c - m)^T D^-1 (x - m) - E_c / 2 + ln(n_c / n)
//
// Up to a term that all classes share this is, without noise, m_c^T D^-1 x - m_c^T D^-1 m_c / 2 + ln(n_c / n); the
// difference of two classes of equal size is (x - (m_1 + m_2) / 2)^T D^-1 (m_1 - m_2): [shen2021], Definition 4.

/// W and b of the scores above. With select = m > 0 the sums over features in score_c are over m of them: those with
/// the largest sum over pairs of classes of |m_ca - m_ea|, or (SelectBy::kT) that divided by sqrt(D_a), which ranks two
/// classes as the t-statistic with pooled variance does.
/// Preconditions: `release` has class_sums (K x d), second_moments (d) and class_counts (K); select <= d.
LinearScores solve_fisher_rule(const Release& release, const Lattice& lattice, std::size_t select, SelectBy select_by);

}  // namespace dpreduce
