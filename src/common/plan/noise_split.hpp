// The optimal division of one release's mu^2 among its blocks, before rounding.
#pragma once

#include <span>
#include <vector>

#include "common/accounting/high_precision.hpp"
#include "common/plan/sensitivity.hpp"

namespace dpreduce {

/// Noise precisions x_b = 1 / s_b^2 that minimize sum_b W_b / x_b subject to sum_b D_pb^2 x_b <= squared_mu for every
/// profile p: feasible up to the rounding of 50 digits, its loss optimal up to a relative 1e-25 (one profile: exact).
///
/// By Lagrange, x_b is proportional to sqrt(W_b / c_b), c_b = sum_p theta_p D_pb^2, theta >= 0 with sum 1; the dual
/// function is A(theta)^2 / squared_mu with A(theta) = sum_b sqrt(W_b c_b), concave, and its slope in theta_p is half
/// of u_p = sum_b D_pb^2 sqrt(W_b / c_b), what profile p uses. A is maximal when no u_p exceeds A. The search moves
/// weight from the profile that uses least to the one that uses most, each time as far as is best.
///
/// Preconditions: weights positive; profiles not empty, one entry a weight; every block has D_pb > 0 for some p;
/// squared_mu > 0.
///      The caller has checked all of it.
/// Cost: one step for up to two profiles; each step takes about 150 x blocks square roots.
std::vector<HighPrecision> split_precision(std::span<const double> weights,
                                           const std::vector<SensitivityProfile>& profiles,
                                           const HighPrecision& squared_mu);

}  // namespace dpreduce
