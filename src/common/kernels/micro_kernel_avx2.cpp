// AVX2: vpmaddwd multiplies and adds 8 pairs, vpaddd adds them up; two instructions for 16 multiply-adds.
//
// A tile is 4 rows x 3 vectors: 12 sums, one broadcast and one product in 16 registers; b stays in memory operands.
#if defined(__x86_64__)

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include <immintrin.h>

#include "common/kernels/matrix_view.hpp"
#include "common/kernels/micro_kernel.hpp"

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
  __m256i sums[kRows][vectors];
#pragma GCC unroll 8
  for (std::size_t row = 0; row < kRows; ++row) {
#pragma GCC unroll 8
    for (std::size_t v = 0; v < vectors; ++v) sums[row][v] = _mm256_setzero_si256();
  }
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

DPREDUCE_AVX2 std::uint32_t measure(const std::int16_t* packed, std::size_t pairs, std::size_t vectors) {
  const __m256i one = _mm256_set1_epi32(1);
  __m256i largest = _mm256_setzero_si256();
  __m256i lowest = _mm256_setzero_si256();
  for (std::size_t v = 0; v < vectors; ++v) {
    __m256i energy = _mm256_setzero_si256();
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      const std::int16_t* values = packed + (pair * vectors + v) * 2 * kLanes;
      const __m256i both = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values));
      const __m256i units = _mm256_add_epi32(_mm256_srli_epi32(_mm256_madd_epi16(both, both), 10), one);
      energy = _mm256_add_epi32(energy, units);
      lowest = _mm256_min_epi16(lowest, both);
    }
    largest = _mm256_max_epu32(largest, energy);
  }
  const __m256i invalid = _mm256_cmpeq_epi16(lowest, _mm256_set1_epi16(std::numeric_limits<std::int16_t>::min()));
  if (_mm256_movemask_epi8(invalid) != 0) return kNoEnergy;
  std::array<std::uint32_t, kLanes> energies;
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(energies.data()), largest);
  return *std::max_element(energies.begin(), energies.end());
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

}  // namespace

MicroKernel avx2_micro_kernel() {
  return {"avx2", kRows, kLanes, {multiply<1>, multiply<2>, multiply<3>}, interleave, measure, widen};
}

}  // namespace dpreduce

#endif
