// Classifier from released sums: post-processing, so no privacy is spent here.
//
// Legend: v_c = released class sum c (d), n_c = released class count, s = its noise, scale = lattice units per feature
// unit, C the clip norm.
#pragma once

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

}  // namespace dpreduce
