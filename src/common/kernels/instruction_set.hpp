// Innermost loops that an instruction set provides for products: of tiles, and of rows as they lie in memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/kernels/matrix_view.hpp"

namespace dpreduce {

// The innermost loop of a blocked product: one tile of C, held in registers over a run of row pairs.
//
// Legend: rows are taken in pairs, and a packed panel holds for each pair and column the two values side by side:
//
//     panel[pair][column] = (q[2 pair][column], q[2 pair + 1][column])        two int16, one int32 lane
//
// so that one multiply-add of int16 pairs sums both products of a lane into int32:
//
//     tile[r][j] = sum over pairs of a[pair][r].first * b[pair][j].first + a[pair][r].second * b[pair][j].second
//
// The caller guarantees that every such sum fits in int32 (packed_panels.hpp).

/// The widest tile, in vectors of `lanes` columns.
inline constexpr std::size_t kMaxTileVectors = 3;
inline constexpr std::size_t kMaxTileRows = 8;
inline constexpr std::size_t kMaxLanes = 16;

inline constexpr std::uint32_t kNoEnergy = ~std::uint32_t{0};

// Products of rows as they lie in memory: what an instruction set gives to row_products.cpp.
//
// Legend: a vector has `lanes` int32 sums and takes 2 lanes int16 values, of one row (dots) or of a pair of rows
// (outer). Nothing is packed but a small side, so that a row is read once for all sums it is in:
//
//     dots:   c[r][o] += sum over k of a[r][k] b[o][k]      lane l sums the values 2l, 2l + 1 of each vector;
//             panel[v][o] = vector v of b[o], zeros behind its end, so that others lie side by side in the cache
//     outer:  c[o][j] += sum over row pairs of r[pair][o].first * q[2 pair][j] + r[pair][o].second * q[2 pair + 1][j]
//
// The caller guarantees that every sum of a lane fits in int32 (packed_panels.hpp).

inline constexpr std::size_t kDotRows = 3;
inline constexpr std::size_t kMostDotOthers = 8;
inline constexpr std::size_t kMostOuterSums = 12;
/// Rows of a block of outer products. Where rows go on behind a block, they are its next one's: the first of them come
/// from memory meanwhile.
inline constexpr std::size_t kOuterRows = 256;

/// Loops and sizes that an instruction set provides. A plain struct: no virtual call in the hot loop's neighborhood.
struct MicroKernel {
  /// Overwrites `tile` (tile_rows x (v lanes), row-major) by the sums above over `pairs` pairs. Strides between pairs
  /// are in int16.
  using Multiply = void (*)(const std::int16_t* a, std::size_t a_stride, const std::int16_t* b, std::size_t b_stride,
                            std::size_t pairs, std::int32_t* tile);
  /// packed[2j], packed[2j + 1] = first[j], second[j] for `vectors` vectors.
  using Interleave = void (*)(const std::int16_t* first, const std::int16_t* second, std::size_t vectors,
                              std::int16_t* packed);
  /// The largest energy of a column over `pairs` packed pairs of `vectors` vectors, in the units of
  /// packed_panels.hpp; kNoEnergy where a value is -32768, which no bound covers.
  using Measure = std::uint32_t (*)(const std::int16_t* packed, std::size_t pairs, std::size_t vectors);
  /// c[j] += sums[j] in Z mod 2^64, j < count.
  using Widen = void (*)(const std::int32_t* sums, std::size_t count, std::int64_t* c);
  /// c[r * c_stride + o] += the sums above over `count` values, for a fixed number of rows and others.
  using Dots = void (*)(const std::int16_t* a, std::size_t a_stride, const std::int16_t* panel, std::size_t count,
                        std::int64_t* c, std::size_t c_stride);
  /// c[o * c_stride + j] += the sums over the rows of `q`, at most 2 lanes columns wide; r as packed
  /// (above), r_stride int16 a pair, the last pair's second 0 where the rows are odd.
  using Outer = void (*)(const std::int16_t* r, std::size_t r_stride, const Int16View& q, std::int64_t* c,
                         std::size_t c_stride);
  /// The largest energy of a lane over `count` values of one row, in the units of packed_panels.hpp; kNoEnergy where
  /// a value is -32768. energies[s] becomes at least that of stripe s of `stripe` values, a whole number of vectors.
  using MeasureRow = std::uint32_t (*)(const std::int16_t* row, std::size_t count, std::size_t stripe,
                                       std::uint32_t* energies);
  /// The same of a column over the rows of `q`, at most 2 lanes columns wide.
  using MeasureColumns = std::uint32_t (*)(const Int16View& q);

  std::string_view name;
  std::size_t tile_rows = 0;                         ///< divides `lanes`, at most kMaxTileRows
  std::size_t lanes = 0;                             ///< at most kMaxLanes
  std::array<Multiply, kMaxTileVectors> multiply{};  ///< [v - 1] computes v vectors
  Interleave interleave = nullptr;
  Measure measure = nullptr;
  Widen widen = nullptr;
  std::size_t most_dot_others = 0;                 ///< at most kMostDotOthers
  std::size_t most_outer_sums = 0;                 ///< at most kMostOuterSums
  std::array<Dots, kMostDotOthers> dots_of_row{};  ///< [o - 1]: one row, o others
  std::array<Dots, kMostDotOthers> dots{};         ///< kDotRows rows
  std::array<Dots, kMostDotOthers> dots_again{};   ///< the same of rows that are in the cache already
  std::array<Outer, kMostOuterSums> outer{};
  MeasureRow measure_row = nullptr;
  MeasureColumns measure_columns = nullptr;
};

MicroKernel portable_micro_kernel();
#if defined(__x86_64__)
MicroKernel avx2_micro_kernel();
MicroKernel avx512_vnni_micro_kernel();
#endif

}  // namespace dpreduce
