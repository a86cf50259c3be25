// The plainest products: three loops in int64. The oracle of the kernels.
#pragma once

#include "common/base/error.hpp"
#include "common/kernels/matrix_view.hpp"

namespace dpreduce {

/// Its functions are those of IntegerKernel. Throw std::logic_error if a value that a product reads is -32768.
class ReferenceKernel {
 public:
  void accumulate_product(const Int16View& a, const Int16View& b, const Int64View& c) const {
    accumulate({a, SummedOver::kRows}, {b, SummedOver::kRows}, false, c);
  }
  void accumulate_gram(const Int16View& a, const Int64View& c) const {
    accumulate({a, SummedOver::kRows}, {a, SummedOver::kRows}, true, c);
  }
  void accumulate_row_products(const Int16View& a, const Int16View& b, const Int64View& c) const {
    accumulate({a, SummedOver::kColumns}, {b, SummedOver::kColumns}, false, c);
  }

 private:
  static void accumulate(const Operand& a, const Operand& b, bool is_upper, const Int64View& c) {
    for (std::size_t k = 0; k < a.depth(); ++k) {
      for (std::size_t row = 0; row < a.columns(); ++row) {
        for (std::size_t column = is_upper ? row : 0; column < b.columns(); ++column) {
          std::int64_t& sum = c.row(row)[column];
          sum = ring_sum(sum, value_at(a, k, row) * value_at(b, k, column));
        }
      }
    }
  }

  static std::int64_t value_at(const Operand& operand, std::size_t k, std::size_t column) {
    const bool over_rows = operand.summed_over == SummedOver::kRows;
    const std::int64_t value = over_rows ? operand.view.row(k)[column] : operand.view.row(column)[k];
    DPREDUCE_ASSERT(value >= -32767);
    return value;
  }
};

}  // namespace dpreduce
