// R^2 and RMSE of predicted numbers. With the model's centers c and scales h, y' = (y - c) / h and e = (y - f) / h are
// clipped to length 1 as vectors of m targets; U = 2^15.
//
//     block               elements    what a row adds
//     rows                1           1
//     targets, cubes      m each      U y'_t, U y'_t^3, toward zero
//     squares, fourths    m each      floor(U y'_t^2), floor(U y'_t^4)
//     errors              m           floor(U e_t^2)
//     error_fourths       m           floor(U e_t^4)
//
// A row moves them, squared, by 1 and U^2 each; an exchanged row by 4 U^2 if numbers have a sign, else by 2 U^2. Third
// and fourth powers show how much squares vary from row to row.
#pragma once

#include <span>
#include <vector>

#include "worker/metrics/estimates.hpp"

namespace dpreduce {

struct NumberFigures {
  Estimate r2;    ///< at least kLeastR2
  Estimate rmse;  ///< in units of targets
};

/// Estimates R^2 and RMSE of a target of scale h, from noised n and sums of y', y'^2, y'^3, y'^4, e^2 and e^4, with
/// noise `sigmas`:
///
///     E = sum e^2 / n,   V = sum y'^2 / n - (sum y' / n)^2,   R^2 = 1 - E / V,   RMSE = h sqrt(E)
///
/// Let s_E and s_V be standard deviations by noise and sampling, and z the quantile of the level. The interval of R^2
/// has 1 - r for all r >= 0 with |E - r V| <= z sqrt(s_E^2 + r^2 s_V^2) [fieller1954]. If V may be 0, the interval is
/// the whole range. Sampling follows from the fourth moments about the means, which are taken to be at least those of
/// normal numbers. Precondition (asserted): seven sums and seven sigmas.
NumberFigures estimate_numbers(std::span<const double> sums, std::span<const double> sigmas, double scale,
                               double level);

/// Metrics over several targets: the mean of R^2, and the root of the mean square of RMSE. Errors of a row in several
/// targets are dependent, so the ends of intervals are combined in the same way as the values. Precondition (asserted):
/// at least one target.
NumberFigures over_targets(const std::vector<NumberFigures>& targets);

}  // namespace dpreduce
