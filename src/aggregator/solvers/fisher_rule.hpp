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
#pragma once

#include "aggregator/solvers/linear_scores.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "common/ledger/metric.hpp"
#include "common/ledger/released_block.hpp"

namespace dpreduce {

/// W and b of the scores above. With select = m > 0 the sums over features in score_c are over m of them: those with
/// the largest sum over pairs of classes of |m_ca - m_ea|, or (SelectBy::kT) that divided by sqrt(D_a), which ranks two
/// classes as the t-statistic with pooled variance does.
/// Preconditions: `release` has class_sums (K x d), second_moments (d) and class_counts (K); select <= d.
LinearScores solve_fisher_rule(const Release& release, const Lattice& lattice, std::size_t select, SelectBy select_by);

}  // namespace dpreduce
