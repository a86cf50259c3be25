// Means of bounded losses of probabilities, log loss and Brier score; calibration of the largest probability of each
// row, and the calibration error.
//
//     block               elements    what a row adds
//     calibration         2 B         1 to right or wrong of the bin of the largest probability q; B = 15
//     calibration_gaps    B           floor(2^15 (1 - q)), or of a wrong row -floor(2^15 q), to that bin
//     log_loss            1           floor(2^15 min(loss, L) / L), L = log(10 K)
//     brier               1           floor(2^15 loss / 2)
//
// Gaps are losses of two bins, so an exchange moves them by 2^31, squared; within one bin the probabilities are so near
// that they change by 2^15 (1 + 1 / B) + 1 at most.
#pragma once

#include <cstddef>

namespace dpreduce {

/// Number of bins of the largest probability of a row, for its calibration.
inline constexpr std::size_t kCalibrationBins = 15;

}  // namespace dpreduce
