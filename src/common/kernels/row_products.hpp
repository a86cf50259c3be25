// Products with a small side, or along rows, without packing the large one: the rounds of training.
//
//     dots:   pack B, which is small                         (panels of instruction_set.hpp)
//             for each 48 rows of A                          (they stay in the second-level cache)
//               for each 8 rows of B, each 3 rows of A       (tiles of instruction_set.hpp)
//                 C tile += each safe segment of the columns
//     outer:  for each 256 rows of A and of B                (read twice, from the second-level cache)
//               pack A, which is small                       (packed_panels.hpp)
//               for each 2 lanes columns of B, each tile of A's columns
//                 C tile += each safe segment of the rows
//
// Energies are measured on the way where they are not known, of lanes for dots: stripes of 8 vectors, whose sums bound
// what a lane holds.
#pragma once

#include <vector>

#include "common/kernels/instruction_set.hpp"
#include "common/kernels/integer_kernel.hpp"
#include "common/kernels/matrix_view.hpp"
#include "common/kernels/thread_team.hpp"

namespace dpreduce {

class RowDots;

/// B of products along rows: packed once.
class DotFactors final : public RowFactors {
 public:
  /// `kernel` and the values of `b` outlive it. Precondition (asserted): no value is -32768.
  DotFactors(const RowKernel& kernel, const Int16View& b);
  ~DotFactors() override;

  /// C += A B^T, blocks of rows on the threads of the team. Cost: n m d multiply-adds, and one more reading of A.
  void accumulate_on(ThreadTeam& team, const Int16View& a, const Int64View& c) const;

 private:
  void add(const Int16View& a, const Range& rows, const Int64View& c) const override;

  std::vector<RowDots> parts_;  // of the columns, in order
};

/// C += A^T B: both summed over their rows, A of few columns.
void accumulate_outer(const RowKernel& kernel, const MicroKernel& micro, ThreadTeam& team, const Operand& a,
                      const Operand& b, const Int64View& c);

/// Energies of all rows and columns. Precondition (asserted): no value is -32768.
KnownEnergies known_energies(const RowKernel& kernel, ThreadTeam& team, const Int16View& rows);

}  // namespace dpreduce
