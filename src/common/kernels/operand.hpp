// One side of a product, seen by the direction in which it is summed.
//
// Every product here is C(i, j) += sum_k A(k, i) B(k, j): k is the depth, i and j are columns. A matrix that is summed
// over its rows has depth = rows; one that is summed along its rows (a row product) has depth = cols, and its rows play
// the columns.
#pragma once

#include "common/kernels/matrix_view.hpp"

namespace dpreduce {

enum class SummedOver { kRows, kColumns };

struct Operand {
  Int16View view;
  SummedOver summed_over = SummedOver::kRows;

  std::size_t depth() const { return summed_over == SummedOver::kRows ? view.rows : view.cols; }
  std::size_t columns() const { return summed_over == SummedOver::kRows ? view.cols : view.rows; }
  /// Whether the energies of its columns are known; they then hold no -32768.
  bool has_known_energies() const { return summed_over == SummedOver::kRows && view.energies.columns != nullptr; }
  std::int16_t at(std::size_t k, std::size_t column) const {
    return summed_over == SummedOver::kRows ? view.row(k)[column] : view.row(column)[k];
  }
};

/// The half-open range [begin, end) of columns or of depth.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;

  std::size_t size() const { return end - begin; }
};

/// Ends the call: the operand holds -32768 at (k, column), which no lattice row does and no int32 pair sum allows.
/// Throws UsageError.
[[noreturn]] void reject_value(const Operand& operand, std::size_t k, std::size_t column);

/// The same for the first such value of a part of the operand, if there is one.
void reject_first(const Operand& operand, const Range& depth, const Range& columns);

}  // namespace dpreduce
