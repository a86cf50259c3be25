#include "common/kernels/reference_kernel.hpp"

#include <limits>

namespace dpreduce {
namespace {

void require_values(const Operand& operand) {
  for (std::size_t k = 0; k < operand.depth(); ++k) {
    for (std::size_t column = 0; column < operand.columns(); ++column) {
      if (operand.at(k, column) == std::numeric_limits<std::int16_t>::min()) reject_value(operand, k, column);
    }
  }
}

}  // namespace

// One thread, whatever is asked: the result is the same.
void ReferenceKernel::accumulate(const Operand& a, const Operand& b, ProductPart part, const Int64View& c,
                                 unsigned /*threads*/) const {
  require_values(a);
  require_values(b);
  for (std::size_t k = 0; k < a.depth(); ++k) {
    for (std::size_t row = 0; row < a.columns(); ++row) {
      const std::int64_t left = a.at(k, row);
      for (std::size_t column = part == ProductPart::kUpperTriangle ? row : 0; column < b.columns(); ++column) {
        std::int64_t& sum = c.row(row)[column];
        sum = ring_sum(sum, left * b.at(k, column));
      }
    }
  }
}

}  // namespace dpreduce
