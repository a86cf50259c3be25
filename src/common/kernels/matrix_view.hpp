// Views of matrices that own nothing: of lattice values, of exact sums, and of one side of a product.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace dpreduce {

// Row-major views of lattice values and of their exact sums. A view owns nothing.

/// Rows and columns of which one energy is kept (integer_kernel.hpp).
inline constexpr std::size_t kEnergyRows = 64;
inline constexpr std::size_t kEnergyColumns = 16;

/// Energies of a view's values, from its first row on, as KnownEnergies has them. None: kernels measure for themselves.
struct EnergyView {
  const std::uint32_t* rows = nullptr;
  const std::uint32_t* columns = nullptr;
};

/// rows x cols lattice values, row r at data + r * stride. Every value lies in [-32767, 32767].
struct Int16View {
  const std::int16_t* data = nullptr;
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t stride = 0;
  EnergyView energies{};

  const std::int16_t* row(std::size_t index) const { return data + index * stride; }

  /// Rows [first, first + count), with what is known of them: of columns, where `first` begins an energy's rows.
  Int16View part(std::size_t first, std::size_t count) const {
    Int16View view{row(first), count, cols, stride};
    if (energies.rows != nullptr) view.energies.rows = energies.rows + first;
    if (energies.columns != nullptr && first % kEnergyRows == 0) {
      view.energies.columns = energies.columns + first / kEnergyRows * energies_per_stripe();
    }
    return view;
  }
  /// Number of energies that columns have for each kEnergyRows rows.
  std::size_t energies_per_stripe() const { return (cols + kEnergyColumns - 1) / kEnergyColumns; }
  /// Upper bound on the energies of the columns [begin, end) over the kEnergyRows rows from `first_row` on.
  /// Preconditions: energies of columns are known; first_row begins an energy's rows; begin < end.
  std::uint32_t known_energy(std::size_t first_row, std::size_t begin, std::size_t end) const {
    const std::uint32_t* const of_rows = energies.columns + first_row / kEnergyRows * energies_per_stripe();
    return *std::max_element(of_rows + begin / kEnergyColumns, of_rows + (end + kEnergyColumns - 1) / kEnergyColumns);
  }
};

/// rows x cols exact sums in Z mod 2^64, row r at data + r * stride.
struct Int64View {
  std::int64_t* data = nullptr;
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t stride = 0;

  std::int64_t* row(std::size_t index) const { return data + index * stride; }
};

/// Returns whether the view's rows do not overlap, and there are values.
template <typename View>
bool is_whole(const View& view) {
  return view.stride >= view.cols && (view.data != nullptr || view.rows * view.cols == 0);
}

/// a + b in Z mod 2^64.
inline std::int64_t ring_sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

// Side of a product, seen by the direction in which it is summed.
//
// Every product here is C(i, j) += sum_k A(k, i) B(k, j): k is the depth, i and j are columns. A matrix that is summed
// over its rows has depth = rows; one that is summed along its rows (a row product) has depth = cols, and its rows play
// the columns.

enum class SummedOver { kRows, kColumns };

struct Operand {
  Int16View view;
  SummedOver summed_over = SummedOver::kRows;

  std::size_t depth() const { return summed_over == SummedOver::kRows ? view.rows : view.cols; }
  std::size_t columns() const { return summed_over == SummedOver::kRows ? view.cols : view.rows; }
  /// Returns whether the energies of its columns are known; the columns then contain no -32768.
  bool has_known_energies() const { return summed_over == SummedOver::kRows && view.energies.columns != nullptr; }
};

/// The half-open range [begin, end) of columns, of depth, or of the steps of a sum: pairs of a block, or vectors of a
/// row (row_products.cpp).
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;

  std::size_t size() const { return end - begin; }
  bool operator==(const Range&) const = default;
};

}  // namespace dpreduce
