// R^2 and RMSE of noised sums, each with an interval that holds the noise and the sampling of test rows.
#pragma once

#include <span>
#include <vector>

#include "evaluate/share_interval.hpp"

namespace dpreduce {

struct NumberFigures {
  Estimate r2;    ///< from kLeastR2
  Estimate rmse;  ///< in units of targets
};

/// R^2 and RMSE of a target of scale h, from noised n, sums of y', y'^2, y'^3, y'^4, e^2 and e^4, with noise `sigmas`:
///
///     E = sum e^2 / n,   V = sum y'^2 / n - (sum y' / n)^2,   R^2 = 1 - E / V,   RMSE = h sqrt(E)
///
/// With standard deviations s_E and s_V, by noise and sampling, and z of the level, R^2 is 1 - r for all r >= 0 with
/// |E - r V| <= z sqrt(s_E^2 + r^2 s_V^2) [fieller1954]; nothing is said where V may be 0. Sampling follows from the
/// fourth moments about the means, which are taken to be those of normal numbers at least. Preconditions (asserted):
/// seven each.
NumberFigures estimate_numbers(std::span<const double> sums, std::span<const double> sigmas, double scale,
                               double level);

/// Of several targets: the mean of R^2, and the root of the mean square of RMSE. Rows err in all of them together, so
/// ends of intervals are those of all. Precondition (asserted): there is one.
NumberFigures over_targets(const std::vector<NumberFigures>& targets);

}  // namespace dpreduce
