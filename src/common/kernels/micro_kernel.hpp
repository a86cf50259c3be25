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
// The caller guarantees that every such sum fits in int32 (energy_segments.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dpreduce {

/// The widest tile, in vectors of `lanes` columns.
inline constexpr std::size_t kMaxTileVectors = 3;
inline constexpr std::size_t kMaxTileRows = 8;
inline constexpr std::size_t kMaxLanes = 16;

inline constexpr std::uint32_t kNoEnergy = ~std::uint32_t{0};

/// What an instruction set gives to BlockedKernel. A plain struct: no virtual call in the hot loop's neighborhood.
struct MicroKernel {
  /// Overwrites `tile` (tile_rows x (v lanes), row-major) by the sums above over `pairs` pairs. Strides between pairs
  /// are in int16.
  using Multiply = void (*)(const std::int16_t* a, std::size_t a_stride, const std::int16_t* b, std::size_t b_stride,
                            std::size_t pairs, std::int32_t* tile);
  /// packed[2j], packed[2j + 1] = first[j], second[j] for `vectors` vectors.
  using Interleave = void (*)(const std::int16_t* first, const std::int16_t* second, std::size_t vectors,
                              std::int16_t* packed);
  /// The largest energy of a column over `pairs` packed pairs of `vectors` vectors, in the units of
  /// energy_segments.hpp; kNoEnergy where a value is -32768, which no bound covers.
  using Measure = std::uint32_t (*)(const std::int16_t* packed, std::size_t pairs, std::size_t vectors);
  /// c[j] += sums[j] in Z mod 2^64, j < count.
  using Widen = void (*)(const std::int32_t* sums, std::size_t count, std::int64_t* c);

  std::string_view name;
  std::size_t tile_rows = 0;                         ///< divides `lanes`, at most kMaxTileRows
  std::size_t lanes = 0;                             ///< at most kMaxLanes
  std::array<Multiply, kMaxTileVectors> multiply{};  ///< [v - 1] computes v vectors
  Interleave interleave = nullptr;
  Measure measure = nullptr;
  Widen widen = nullptr;
};

MicroKernel portable_micro_kernel();
#if defined(__x86_64__)
MicroKernel avx2_micro_kernel();
MicroKernel avx512_vnni_micro_kernel();
#endif

}  // namespace dpreduce
