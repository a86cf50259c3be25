// Rows whose Gram matrices are the Hessians of a linear classifier's loss, class by class.
//
//     H_c = sum_i w_ic q_i q_i^T = sum_i v_ic v_ic^T + rounding        v_ic = round(f_ic q_i),  f_ic = t_i sqrt(w_ic)
//     w_ic = p_ic (1 - p_ic), held to sum_c w_ic^2 <= B / S^4           B = hessian_bound (declared_releases.hpp)
//
// t_i = 1, or the largest (1023 / 1024)^k, k < 8, for which sum_c |v_ic|^4 <= B, checked in integers; where none does,
// the row counts in no Hessian. A row's v has the same bits whatever rows stand beside it.
#pragma once

#include <cstdint>
#include <span>

#include "dpreduce/config/choices.hpp"

namespace dpreduce {

/// Writes f (K entries) of lattice row `q` with exact products <q, w_c>; zeros for softmax without a class, whose loss
/// is 0. Cost: K d roundings. Preconditions: products, weight_factors and f have K >= 2 entries; loss is not kSquare.
void hessian_factors(std::span<const std::int16_t> q, std::span<const std::int64_t> products,
                     std::span<const double> weight_factors, std::span<const std::int32_t> classes, Loss loss,
                     std::span<double> f);

/// v = round(factor q), to nearest, ties to even. Preconditions: equal sizes; 0 <= factor <= 1.
void scale_row(std::span<const std::int16_t> q, double factor, std::span<std::int16_t> v);

}  // namespace dpreduce
