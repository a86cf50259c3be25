// Products with a small side, or along rows, without packing the large one: the rounds of training.
//
//     dots:   pack B, which is small                         (panels of row_kernel.hpp)
//             for each 48 rows of A                          (they stay in the second-level cache)
//               for each 8 rows of B, each 3 rows of A       (tiles of row_kernel.hpp)
//                 C tile += each safe segment of the columns
//     outer:  for each 256 rows of A and of B                (read twice, from the second-level cache)
//               pack A, which is small                       (packed_panels.hpp)
//               for each 2 lanes columns of B, each tile of A's columns
//                 C tile += each safe segment of the rows
//
// Energies are measured on the way, of lanes for dots: stripes of 8 vectors, whose sums bound what a lane holds.
#pragma once

#include "common/kernels/integer_kernel.hpp"
#include "common/kernels/micro_kernel.hpp"
#include "common/kernels/operand.hpp"
#include "common/kernels/row_kernel.hpp"
#include "common/kernels/thread_team.hpp"

namespace dpreduce {

/// C(i, j) += sum_k A(i, k) B(j, k): both operands summed over their columns. Cost: n m d multiply-adds, and one more
/// reading of each.
void accumulate_dots(const RowKernel& kernel, ThreadTeam& team, const Operand& a, const Operand& b, const Int64View& c);

/// Whether rows of so many columns are summed at once.
bool fits_dots(std::size_t columns);

/// The same, 48 rows of A at a time, which `visit` takes (IntegerKernel::for_each_row_products). Precondition
/// (asserted): fits_dots.
void visit_dots(const RowKernel& kernel, ThreadTeam& team, const Operand& a, const Operand& b,
                const VisitProducts& visit);

/// C += A^T B: both summed over their rows, A of few columns.
void accumulate_outer(const RowKernel& kernel, const MicroKernel& micro, ThreadTeam& team, const Operand& a,
                      const Operand& b, const Int64View& c);

}  // namespace dpreduce
