// Rows whose Gram matrices are the Hessians of a linear classifier's loss, class by class.
//
//     H_c = sum_i w_ic q_i q_i^T = sum_i v_ic v_ic^T + rounding        v_ic = round(f_ic q_i),  f_ic = t_i sqrt(w_ic)
//     w_ic = p_ic (1 - p_ic), held to sum_c w_ic^2 <= B / S^4           B = hessian_bound
//     with a prior u (residuals.hpp):  w_ic = s_i p_ic (1 - p_ic),  s_i = p_iy / (p_iy + u_iy)
//
// -log((p_y + u_y) / 2) has a curvature of both signs: s (diag p - p p^T) - s (1 - s) (p - onehot(y)) (p -
// onehot(y))^T. The first term alone is the curvature of the loss's bound -s log p_y + constant, which touches the loss
// at W with the same gradient (Jensen's inequality, as in expectation-maximization). No sum of such terms is
// indefinite, and 0 <= s <= 1 keeps the bound B.
//
// t_i = 1, or the largest (1023 / 1024)^k, k < 8, for which sum_c |v_ic|^4 <= B, checked in integers; if there is none,
// the row counts in no Hessian. The v of a row has the same bits whatever other rows are processed with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/ledger/loss.hpp"

namespace dpreduce {

/// Bound B on one row's sum_c |v_c|^4, checked in integers, row by row.
///
/// Softmax: sum_c w_c^2 <= max_c p_c (1 - p_c)^2 = 4 / 27, reached by three equal classes; two classes reach 1 / 8.
/// Sigmoid: each w_c <= 1 / 4, so that K / 16 bounds the sum; above K = 4 rows are held to 1 / 4, so that nothing grows
/// with the number of classes. B = floor of that times S^4.
/// Preconditions (asserted): classes >= 2; loss is not kSquare, whose curvature is 1 everywhere: its Hessian is the
/// Gram matrix.
std::uint64_t hessian_bound(Loss loss, std::size_t classes);

/// Writes f (K entries) of lattice row `q` with exact products <q, w_c>. For softmax and a row without a class, whose
/// loss is 0, f is zeros. `prior` is empty or, with Loss::kSoftmax, has K entries. Cost: K d roundings. Preconditions:
/// products, weight_factors and f have K >= 2 entries; loss is not kSquare.
void hessian_factors(std::span<const std::int16_t> q, std::span<const std::int64_t> products,
                     std::span<const double> weight_factors, std::span<const std::int32_t> classes, Loss loss,
                     std::span<double> f, std::span<const double> prior = {});

/// v = round(factor q), to nearest, ties to even. Preconditions: equal sizes; 0 <= factor <= 1.
void scale_row(std::span<const std::int16_t> q, double factor, std::span<std::int16_t> v);

}  // namespace dpreduce
