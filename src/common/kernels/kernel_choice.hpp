// Kernels that this processor can run, and the one that is used.
#pragma once

#include <string_view>
#include <vector>

#include "common/kernels/instruction_set.hpp"
#include "common/kernels/integer_kernel.hpp"

namespace dpreduce {

// The loops around a micro-kernel: which rows are packed, which tiles are computed, where sums are widened.
//
//     for each range of at most 4096 columns of A, of B      (bounds the memory: 16 MiB of packed values an operand)
//       for each block of 2048 rows
//         pack the block, stripe by stripe                   (threads share the stripes)
//         for each panel of A and panel of B                 (threads share these)
//           for each safe segment of the block               (packed_panels.hpp)
//             C tile += micro-kernel(segment), widened to int64
//
// A panel of B stays in the second-level cache while the panels of A pass. Cost of packing: O(n (p + q)), against n p
// q. Where one side is small, or both are summed along their rows, nothing large is packed (row_products.hpp).

class BlockedKernel final : public IntegerKernel {
 public:
  BlockedKernel(const MicroKernel& micro, const RowKernel& rows) : micro_(micro), rows_(rows) {}

  std::string_view name() const override { return micro_.name; }

 protected:
  std::unique_ptr<const RowFactors> make_row_factors(const Int16View& b) const override;
  KnownEnergies measured(const Int16View& a, ThreadTeam& team) const override;

 private:
  void accumulate(const Operand& a, const Operand& b, ProductPart part, const Int64View& c,
                  unsigned threads) const override;

  MicroKernel micro_;
  RowKernel rows_;
};

/// The oracle: runs everywhere.
const IntegerKernel& reference_kernel();

/// The kernels that this processor can run, plainest first; found once, at the first call.
const std::vector<const IntegerKernel*>& supported_kernels();

/// The fastest supported kernel for "auto", else the one of that name: reference, portable, avx2, avx512-vnni.
/// Throws UsageError where the name is unknown or the processor cannot run that kernel.
const IntegerKernel& select_kernel(std::string_view name = "auto");

}  // namespace dpreduce
