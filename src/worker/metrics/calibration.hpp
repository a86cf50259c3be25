// Calibration of the largest probability of each row, and the calibration error.
//
//     block               elements    what a row adds
//     calibration         2 B         1 to right or wrong of the bin of the largest probability q; B = 15
//     calibration_gaps    B           floor(2^15 (1 - q)), or of a wrong row -floor(2^15 q), to that bin
//
// Gaps are losses of two bins, so an exchange moves them by 2^31, squared; within one bin the probabilities are so near
// that they change by 2^15 (1 + 1 / B) + 1 at most.
#pragma once

#include <cstddef>
#include <vector>

#include "worker/metrics/estimates.hpp"

namespace dpreduce {

inline constexpr std::size_t kCalibrationBins = 15;

/// Estimates the calibration error sum_b |d_b| / n. `gaps` has the noised sums d_b of (1 if right, else 0) minus
/// probability over the rows of each bin, with noise `sigma` each. There are about `rows` rows, `bin_rows` of them in
/// each bin. Noise and sampling of variance v^2 make |d_b| larger by
///
///     bias(d) = v sqrt(2 / pi) exp(-d^2 / 2 v^2) - |d| erfc(|d| / (v sqrt(2))),
///
/// which is subtracted. The value is the e for which bins of n_b rows, off by e n_b each, give the observed sum on
/// average; or 0. The lower end of the interval subtracts the largest bias, that of d = 0. The upper end subtracts the
/// bias at the released d_b, which is smaller.
Estimate estimate_calibration_error(const std::vector<double>& gaps, double sigma, const std::vector<double>& bin_rows,
                                    double rows, double level);

}  // namespace dpreduce
