// AVX2: vpmaddwd multiplies and adds 8 pairs, vpaddd adds them up; two instructions for 16 multiply-adds.
//
// A tile is 4 rows x 3 vectors: 12 sums, one broadcast and one product in 16 registers; b stays in memory operands.
//
// Products of rows take 3 x 3 dots, or the sums of 4 others with 16 columns, in 16 registers with what they are made
// of.
#if defined(__x86_64__)

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include <immintrin.h>

#include "common/kernels/instruction_set.hpp"
#include "common/kernels/matrix_view.hpp"

#define DPREDUCE_AVX2 __attribute__((target("avx2")))

namespace dpreduce {
namespace {

constexpr std::size_t kRows = 4;
constexpr std::size_t kLanes = 8;

DPREDUCE_AVX2 inline __m256i broadcast_pair(const std::int16_t* pair) {
  std::int32_t both;
  std::memcpy(&both, pair, sizeof both);
  return _mm256_set1_epi32(both);
}

template <std::size_t vectors>
DPREDUCE_AVX2 void multiply(const std::int16_t* a, std::size_t a_stride, const std::int16_t* b, std::size_t b_stride,
                            std::size_t pairs, std::int32_t* tile) {
  __m256i sums[kRows][vectors] = {};
  for (std::size_t pair = 0; pair < pairs; ++pair, a += a_stride, b += b_stride) {
#pragma GCC unroll 8
    for (std::size_t row = 0; row < kRows; ++row) {
      const __m256i left = broadcast_pair(a + 2 * row);
#pragma GCC unroll 8
      for (std::size_t v = 0; v < vectors; ++v) {
        const __m256i right = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + 2 * kLanes * v));
        sums[row][v] = _mm256_add_epi32(sums[row][v], _mm256_madd_epi16(left, right));
      }
    }
  }
#pragma GCC unroll 8
  for (std::size_t row = 0; row < kRows; ++row) {
#pragma GCC unroll 8
    for (std::size_t v = 0; v < vectors; ++v) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(tile + (row * vectors + v) * kLanes), sums[row][v]);
    }
  }
}

DPREDUCE_AVX2 void interleave(const std::int16_t* first, const std::int16_t* second, std::size_t vectors,
                              std::int16_t* packed) {
  for (std::size_t v = 0; v < vectors; ++v, first += kLanes, second += kLanes, packed += 2 * kLanes) {
    const __m256i low = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(first)));
    const __m256i high = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(second)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(packed), _mm256_or_si256(low, _mm256_slli_epi32(high, 16)));
  }
}

DPREDUCE_AVX2 inline std::uint32_t largest_lane(__m256i energy) {
  std::array<std::uint32_t, kLanes> energies;
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(energies.data()), energy);
  return *std::max_element(energies.begin(), energies.end());
}

// The largest lane of energies that lack one unit for each of `terms`.
DPREDUCE_AVX2 inline std::uint32_t largest_energy(__m256i energy, __m256i lowest, std::size_t terms) {
  const __m256i invalid = _mm256_cmpeq_epi16(lowest, _mm256_set1_epi16(std::numeric_limits<std::int16_t>::min()));
  if (_mm256_movemask_epi8(invalid) != 0) return kNoEnergy;
  return largest_lane(energy) + static_cast<std::uint32_t>(terms);
}

DPREDUCE_AVX2 inline __m256i units_of(__m256i both) {
  return _mm256_srli_epi32(_mm256_madd_epi16(both, both), 10);
}

DPREDUCE_AVX2 std::uint32_t measure(const std::int16_t* packed, std::size_t pairs, std::size_t vectors) {
  __m256i largest = _mm256_setzero_si256();
  __m256i lowest = _mm256_setzero_si256();
  for (std::size_t v = 0; v < vectors; ++v) {
    __m256i energy = _mm256_setzero_si256();
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      const std::int16_t* values = packed + (pair * vectors + v) * 2 * kLanes;
      const __m256i both = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values));
      energy = _mm256_add_epi32(energy, units_of(both));
      lowest = _mm256_min_epi16(lowest, both);
    }
    largest = _mm256_max_epu32(largest, energy);
  }
  return largest_energy(largest, lowest, pairs);
}

DPREDUCE_AVX2 void widen(const std::int32_t* sums, std::size_t count, std::int64_t* c) {
  std::size_t column = 0;
  for (; column + 4 <= count; column += 4) {
    const __m256i wide = _mm256_cvtepi32_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(sums + column)));
    __m256i* target = reinterpret_cast<__m256i*>(c + column);
    _mm256_storeu_si256(target, _mm256_add_epi64(_mm256_loadu_si256(target), wide));
  }
  for (; column < count; ++column) c[column] = ring_sum(c[column], sums[column]);
}

constexpr std::size_t kValues = 2 * kLanes;
constexpr std::size_t kDotOthers = 3;
constexpr std::size_t kOuterSums = 4;
constexpr std::size_t kRowsAhead = 16;

// `count` values, then zeros: AVX2 has no masks for int16.
DPREDUCE_AVX2 inline __m256i load_values(const std::int16_t* values, std::size_t count) {
  if (count >= kValues) return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values));
  alignas(32) std::array<std::int16_t, kValues> padded{};
  std::memcpy(padded.data(), values, count * sizeof(std::int16_t));
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(padded.data()));
}

DPREDUCE_AVX2 inline std::int64_t sum_across(__m256i sums) {
  const __m256i wide = _mm256_add_epi64(_mm256_cvtepi32_epi64(_mm256_castsi256_si128(sums)),
                                        _mm256_cvtepi32_epi64(_mm256_extracti128_si256(sums, 1)));
  const __m128i two = _mm_add_epi64(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
  return ring_sum(_mm_cvtsi128_si64(two), _mm_extract_epi64(two, 1));
}

// The sums over whole vectors. What is left is not added here: with it GCC (12) keeps sums in memory.
template <std::size_t rows, std::size_t others>
DPREDUCE_AVX2 inline void add_dots(const std::int16_t* a, std::size_t a_stride, const std::int16_t* panel,
                                   std::size_t vectors, std::int64_t* c, std::size_t c_stride) {
  __m256i sums[rows][others] = {};
  for (; vectors > 0; --vectors, a += kValues, panel += others * kValues) {
    __m256i left[rows];
#pragma GCC unroll 8
    for (std::size_t r = 0; r < rows; ++r) left[r] = load_values(a + r * a_stride, kValues);
#pragma GCC unroll 8
    for (std::size_t o = 0; o < others; ++o) {
      const __m256i right = load_values(panel + o * kValues, kValues);
#pragma GCC unroll 8
      for (std::size_t r = 0; r < rows; ++r) {
        sums[r][o] = _mm256_add_epi32(sums[r][o], _mm256_madd_epi16(left[r], right));
      }
    }
  }
  alignas(32) std::array<std::int32_t, rows * others * kLanes> totals;
#pragma GCC unroll 8
  for (std::size_t r = 0; r < rows; ++r) {
#pragma GCC unroll 8
    for (std::size_t o = 0; o < others; ++o) {
      _mm256_store_si256(reinterpret_cast<__m256i*>(&totals[(r * others + o) * kLanes]), sums[r][o]);
    }
  }
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t o = 0; o < others; ++o) {
      std::int64_t& target = c[r * c_stride + o];
      target = ring_sum(
          target, sum_across(_mm256_load_si256(reinterpret_cast<const __m256i*>(&totals[(r * others + o) * kLanes]))));
    }
  }
}

template <std::size_t rows, std::size_t others>
DPREDUCE_AVX2 void dots(const std::int16_t* a, std::size_t a_stride, const std::int16_t* panel, std::size_t count,
                        std::int64_t* c, std::size_t c_stride) {
  const std::size_t vectors = count / kValues;
  add_dots<rows, others>(a, a_stride, panel, vectors, c, c_stride);
  const std::size_t done = vectors * kValues;
  if (done == count) return;
  std::array<std::int16_t, rows * kValues> rest{};
  for (std::size_t r = 0; r < rows; ++r) std::copy_n(a + r * a_stride + done, count - done, &rest[r * kValues]);
  add_dots<rows, others>(rest.data(), kValues, panel + done * others, 1, c, c_stride);
}

template <std::size_t others>
DPREDUCE_AVX2 inline void add_pair(__m256i (&sums)[others][2], const std::int16_t* r, __m256i first, __m256i second) {
  const __m256i low = _mm256_unpacklo_epi16(first, second);
  const __m256i high = _mm256_unpackhi_epi16(first, second);
#pragma GCC unroll 8
  for (std::size_t o = 0; o < others; ++o) {
    const __m256i both = broadcast_pair(r + 2 * o);
    sums[o][0] = _mm256_add_epi32(sums[o][0], _mm256_madd_epi16(both, low));
    sums[o][1] = _mm256_add_epi32(sums[o][1], _mm256_madd_epi16(both, high));
  }
}

// c[j] += sums[j], j < count <= 8.
DPREDUCE_AVX2 inline void add_wide(__m256i sums, std::size_t count, std::int64_t* c) {
  if (count >= kLanes) {
    auto* const target = reinterpret_cast<__m256i*>(c);
    const __m256i low = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(sums));
    const __m256i high = _mm256_cvtepi32_epi64(_mm256_extracti128_si256(sums, 1));
    _mm256_storeu_si256(target, _mm256_add_epi64(_mm256_loadu_si256(target), low));
    _mm256_storeu_si256(target + 1, _mm256_add_epi64(_mm256_loadu_si256(target + 1), high));
    return;
  }
  std::array<std::int32_t, kLanes> values;
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(values.data()), sums);
  for (std::size_t column = 0; column < count; ++column) c[column] = ring_sum(c[column], values[column]);
}

template <std::size_t others>
DPREDUCE_AVX2 void outer(const std::int16_t* r, std::size_t r_stride, const Int16View& q, std::int64_t* c,
                         std::size_t c_stride) {
  __m256i sums[others][2] = {};
  const std::int16_t* row = q.data;
  std::size_t pair = 0;
  for (; 2 * pair + 1 < q.rows; ++pair, r += r_stride, row += 2 * q.stride) {
    add_pair<others>(sums, r, load_values(row, q.cols), load_values(row + q.stride, q.cols));
  }
  if (2 * pair < q.rows) add_pair<others>(sums, r, load_values(row, q.cols), _mm256_setzero_si256());
    // Columns 0 to 3 and 8 to 11 lie in the low sums, 4 to 7 and 12 to 15 in the high ones.
#pragma GCC unroll 8
  for (std::size_t o = 0; o < others; ++o) {
    std::int64_t* const target = c + o * c_stride;
    add_wide(_mm256_permute2x128_si256(sums[o][0], sums[o][1], 0x20), q.cols, target);
    if (q.cols <= kLanes) continue;
    add_wide(_mm256_permute2x128_si256(sums[o][0], sums[o][1], 0x31), q.cols - kLanes, target + kLanes);
  }
}

DPREDUCE_AVX2 std::uint32_t measure_row(const std::int16_t* row, std::size_t count, std::size_t stripe,
                                        std::uint32_t* energies) {
  __m256i whole = _mm256_setzero_si256();
  __m256i lowest = _mm256_setzero_si256();
  for (std::size_t first = 0; first < count; first += stripe, ++energies) {
    const std::size_t end = std::min(first + stripe, count);
    __m256i energy = _mm256_setzero_si256();
    for (std::size_t k = first; k < end; k += kValues) {
      const __m256i both = load_values(row + k, end - k);
      energy = _mm256_add_epi32(energy, units_of(both));
      lowest = _mm256_min_epi16(lowest, both);
    }
    whole = _mm256_add_epi32(whole, energy);
    const auto terms = static_cast<std::uint32_t>((end - first + kValues - 1) / kValues);
    *energies = std::max(*energies, largest_lane(energy) + terms);
  }
  return largest_energy(whole, lowest, (count + kValues - 1) / kValues);
}

DPREDUCE_AVX2 std::uint32_t measure_columns(const Int16View& q) {
  __m256i low = _mm256_setzero_si256();
  __m256i high = _mm256_setzero_si256();
  __m256i lowest = _mm256_setzero_si256();
  for (std::size_t k = 0; k < q.rows; k += 2) {
    const std::int16_t* const row = q.row(k);
    _mm_prefetch(reinterpret_cast<const char*>(row + kRowsAhead * q.stride), _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(row + (kRowsAhead + 1) * q.stride), _MM_HINT_T0);
    const __m256i first = load_values(row, q.cols);
    const __m256i second = k + 1 < q.rows ? load_values(row + q.stride, q.cols) : _mm256_setzero_si256();
    low = _mm256_add_epi32(low, units_of(_mm256_unpacklo_epi16(first, second)));
    high = _mm256_add_epi32(high, units_of(_mm256_unpackhi_epi16(first, second)));
    lowest = _mm256_min_epi16(lowest, _mm256_min_epi16(first, second));
  }
  return largest_energy(_mm256_max_epu32(low, high), lowest, (q.rows + 1) / 2);
}

}  // namespace

MicroKernel avx2_micro_kernel() {
  return {.name = "avx2",
          .tile_rows = kRows,
          .lanes = kLanes,
          .multiply = {multiply<1>, multiply<2>, multiply<3>},
          .interleave = interleave,
          .measure = measure,
          .widen = widen,
          .most_dot_others = kDotOthers,
          .most_outer_sums = kOuterSums,
          .dots_of_row = {dots<1, 1>, dots<1, 2>, dots<1, 3>},
          .dots = {dots<kDotRows, 1>, dots<kDotRows, 2>, dots<kDotRows, 3>},
          .dots_again = {dots<kDotRows, 1>, dots<kDotRows, 2>, dots<kDotRows, 3>},
          .outer = {outer<1>, outer<2>, outer<3>, outer<4>},
          .measure_row = measure_row,
          .measure_columns = measure_columns};
}

}  // namespace dpreduce

#endif
