// Products of rows as they lie in memory: what an instruction set gives to RowProducts.
//
// Legend: a vector has `lanes` int32 sums and takes 2 lanes int16 values, of one row (dots) or of a pair of rows
// (outer). Nothing is packed but a small side, so that a row is read once for all sums it is in:
//
//     dots:   c[r][o] += sum over k of a[r][k] b[o][k]      lane l sums the values 2l, 2l + 1 of each vector;
//             panel[v][o] = vector v of b[o], zeros behind its end, so that others lie side by side in the cache
//     outer:  c[o][j] += sum over row pairs of r[pair][o].first * q[2 pair][j] + r[pair][o].second * q[2 pair + 1][j]
//
// The caller guarantees that every sum of a lane fits in int32 (energy_segments.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/kernels/matrix_view.hpp"

namespace dpreduce {

inline constexpr std::size_t kDotRows = 3;
inline constexpr std::size_t kMostDotOthers = 8;
inline constexpr std::size_t kMostOuterSums = 12;
/// Rows of a block of outer products. Where rows go on behind a block, they are its next one's: the first of them come
/// from memory meanwhile.
inline constexpr std::size_t kOuterRows = 256;

struct RowKernel {
  /// c[r * c_stride + o] += the sums above over `count` values, for a fixed number of rows and others.
  using Dots = void (*)(const std::int16_t* a, std::size_t a_stride, const std::int16_t* panel, std::size_t count,
                        std::int64_t* c, std::size_t c_stride);
  /// c[o * c_stride + j] += the sums over the rows of `q`, at most 2 lanes columns wide; r as packed
  /// (micro_kernel.hpp), r_stride int16 a pair, the last pair's second 0 where the rows are odd.
  using Outer = void (*)(const std::int16_t* r, std::size_t r_stride, const Int16View& q, std::int64_t* c,
                         std::size_t c_stride);
  /// The largest energy of a lane over `count` values of one row, in the units of energy_segments.hpp; kNoEnergy where
  /// a value is -32768. energies[s] becomes at least that of stripe s of `stripe` values, a whole number of vectors.
  using MeasureRow = std::uint32_t (*)(const std::int16_t* row, std::size_t count, std::size_t stripe,
                                       std::uint32_t* energies);
  /// The same of a column over the rows of `q`, at most 2 lanes columns wide.
  using MeasureColumns = std::uint32_t (*)(const Int16View& q);

  std::size_t lanes = 0;
  std::size_t most_dot_others = 0;                 ///< at most kMostDotOthers
  std::size_t most_outer_sums = 0;                 ///< at most kMostOuterSums
  std::array<Dots, kMostDotOthers> dots_of_row{};  ///< [o - 1]: one row, o others
  std::array<Dots, kMostDotOthers> dots{};         ///< kDotRows rows
  std::array<Dots, kMostDotOthers> dots_again{};   ///< the same of rows that are in the cache already
  std::array<Outer, kMostOuterSums> outer{};
  MeasureRow measure_row = nullptr;
  MeasureColumns measure_columns = nullptr;
};

RowKernel portable_row_kernel();
#if defined(__x86_64__)
RowKernel avx2_row_kernel();
RowKernel avx512_vnni_row_kernel();
#endif

}  // namespace dpreduce
