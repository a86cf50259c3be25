// ROC curve and AUC of one class against the rest, and the best F1 over thresholds.
//
//     block               elements    what a row adds
//     scores (ROC)        2 B         1 to positive or negative of the bin of its score (score_bin)
//     negatives (AUC)     B           of negatives alone: 1 to the bin of its score; if block scores is absent
//
// For AUC a second release, "positives", is taken at the curve F given by the negatives' counts: F_b is the share of
// negatives with scores below those of bin b, plus half of those in it. Only positives count: a row of bin b adds 2^15
// F_b to the first sum of its block "above_negatives" and 2^15 (1 - F_b) to the second, and the AUC is the share of the
// first. The sensitivity, squared, is 2^30; under replace-one 2^31, between two positives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/ledger/evaluation_terms.hpp"
#include "common/ledger/released_block.hpp"
#include "worker/metrics/metric_entry.hpp"

namespace dpreduce {

/// Number B of bins of scores for AUC and ROC. `expected_rows` is the approximate number of rows, 0 if unknown. Pairs
/// within a bin count half. Measured on 10,000 rows of two even classes at epsilon 8 and 1: intervals of AUC with 16
/// bins covered the true value in 84 and 93 %, those with 32 bins in 96 and 98 % and at most a quarter wider. On 200
/// rows at epsilon 1 they are a third wider.
constexpr std::size_t score_bins_for(double expected_rows) {
  constexpr double kManyRows = 10000.0;
  return expected_rows > kManyRows ? 64 : 32;
}

/// Bin, of 0 .. bins - 1, of a probability p with log-odds z. The bins are equally wide in asinh(z), for z from -8 to
/// 8, so that they are narrow in the middle and separate small probabilities of rare classes.
std::size_t score_bin(double probability, std::size_t bins);
/// Smallest probability whose score is in that bin.
double lower_edge_of_bin(std::size_t bin, std::size_t bins);

/// Noised counts of negatives by bins of their scores, from the release "evaluation".
std::vector<double> negatives_of(const Release& release, const EvaluationTerms& terms);

/// Curve F from noised counts of negatives; one half if there are none.
std::vector<double> curve_of_negatives(std::span<const double> negatives);

/// Blocks of the release "positives" at a curve in units of 2^-15; of their declaration alone if the curve is empty.
MetricBlocks blocks_of_positives(const EvaluationTerms& terms, const std::vector<std::int64_t>& curve);

/// Counts of negatives by bins of their scores.
struct NoisedNegatives {
  double rows;
  double sigma;  ///< of each bin's count
  std::size_t bins;
};

/// Estimates the area under the ROC curve, from noised sums r and w over positives of F and 1 - F, in rows.
///
///     A = r / P, P = r + w;   noise of positives s hypot(A, 1 - A) / P,   of negatives s' sqrt(B / 3) / N;
///     sampling as of two histograms
Estimate estimate_auc(const NoisedCounts& positives, const NoisedNegatives& negatives, double level);

/// Estimates the area under the ROC curve from two histograms of noised counts, from low scores to high. Pairs of a
/// positive and a negative in one bin count half.
///
///     noise s sqrt(B / 3) sqrt(1 / P^2 + 1 / N^2);   sampling [hanley1982], formula of negative exponentials
Estimate estimate_auc(const std::vector<double>& positives, const std::vector<double>& negatives, double sigma,
                      double level);

}  // namespace dpreduce
