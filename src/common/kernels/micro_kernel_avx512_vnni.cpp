// AVX-512 VNNI: vpdpwssd multiplies 16 pairs and adds them into 16 sums; one instruction for 32 multiply-adds.
//
// A tile is 8 rows x 3 vectors: 24 sums, 3 vectors of b and a broadcast in 32 registers. A pair costs 24 vpdpwssd and
// 11 loads, so two vpdpwssd can start every cycle where the processor has two such units.
#if defined(__x86_64__)

// GCC 12 takes the undefined lanes of its own header's intrinsics for a mistake of ours (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include <immintrin.h>

#include "common/kernels/matrix_view.hpp"
#include "common/kernels/micro_kernel.hpp"

#define DPREDUCE_AVX512_VNNI __attribute__((target("avx512f,avx512bw,avx512vnni")))

namespace dpreduce {
namespace {

constexpr std::size_t kRows = 8;
constexpr std::size_t kLanes = 16;
// The packed panels stream from the second-level cache: ask for them this many pairs ahead.
constexpr std::size_t kPairsAhead = 32;

// sums += left.first * right.first + left.second * right.second, in every lane. Written as an instruction because GCC
// 12 copies the sums of the intrinsic to and from the stack, at half the speed.
DPREDUCE_AVX512_VNNI inline void multiply_add(__m512i& sums, __m512i left, __m512i right) {
  asm("vpdpwssd %2, %1, %0" : "+v"(sums) : "v"(left), "v"(right));
}

DPREDUCE_AVX512_VNNI inline __m512i broadcast_pair(const std::int16_t* pair) {
  std::int32_t both;
  std::memcpy(&both, pair, sizeof both);
  return _mm512_set1_epi32(both);
}

template <std::size_t vectors>
DPREDUCE_AVX512_VNNI void multiply(const std::int16_t* a, std::size_t a_stride, const std::int16_t* b,
                                   std::size_t b_stride, std::size_t pairs, std::int32_t* tile) {
  __m512i sums[kRows][vectors];
#pragma GCC unroll 8
  for (std::size_t row = 0; row < kRows; ++row) {
#pragma GCC unroll 8
    for (std::size_t v = 0; v < vectors; ++v) sums[row][v] = _mm512_setzero_si512();
  }
  for (std::size_t pair = 0; pair < pairs; ++pair, a += a_stride, b += b_stride) {
    __m512i right[vectors];
#pragma GCC unroll 8
    for (std::size_t v = 0; v < vectors; ++v) {
      right[v] = _mm512_loadu_si512(b + 2 * kLanes * v);
      _mm_prefetch(reinterpret_cast<const char*>(b + 2 * kLanes * v + kPairsAhead * b_stride), _MM_HINT_T0);
    }
    _mm_prefetch(reinterpret_cast<const char*>(a + kPairsAhead * a_stride), _MM_HINT_T0);
#pragma GCC unroll 8
    for (std::size_t row = 0; row < kRows; ++row) {
      const __m512i left = broadcast_pair(a + 2 * row);
#pragma GCC unroll 8
      for (std::size_t v = 0; v < vectors; ++v) multiply_add(sums[row][v], left, right[v]);
    }
  }
#pragma GCC unroll 8
  for (std::size_t row = 0; row < kRows; ++row) {
#pragma GCC unroll 8
    for (std::size_t v = 0; v < vectors; ++v) {
      _mm512_storeu_si512(tile + (row * vectors + v) * kLanes, sums[row][v]);
    }
  }
}

DPREDUCE_AVX512_VNNI void interleave(const std::int16_t* first, const std::int16_t* second, std::size_t vectors,
                                     std::int16_t* packed) {
  for (std::size_t v = 0; v < vectors; ++v, first += kLanes, second += kLanes, packed += 2 * kLanes) {
    const __m512i low = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(first)));
    const __m512i high = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(second)));
    _mm512_storeu_si512(packed, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
  }
}

DPREDUCE_AVX512_VNNI std::uint32_t measure(const std::int16_t* packed, std::size_t pairs, std::size_t vectors) {
  const __m512i one = _mm512_set1_epi32(1);
  __m512i largest = _mm512_setzero_si512();
  __m512i lowest = _mm512_setzero_si512();
  for (std::size_t v = 0; v < vectors; ++v) {
    __m512i energy = _mm512_setzero_si512();
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      const __m512i both = _mm512_loadu_si512(packed + (pair * vectors + v) * 2 * kLanes);
      const __m512i units = _mm512_srli_epi32(_mm512_madd_epi16(both, both), 10);
      energy = _mm512_add_epi32(energy, _mm512_add_epi32(units, one));
      lowest = _mm512_min_epi16(lowest, both);
    }
    largest = _mm512_max_epu32(largest, energy);
  }
  const __m512i limit = _mm512_set1_epi16(std::numeric_limits<std::int16_t>::min());
  if (_mm512_cmpeq_epi16_mask(lowest, limit) != 0) return kNoEnergy;
  std::array<std::uint32_t, kLanes> energies;
  _mm512_storeu_si512(energies.data(), largest);
  return *std::max_element(energies.begin(), energies.end());
}

DPREDUCE_AVX512_VNNI void widen(const std::int32_t* sums, std::size_t count, std::int64_t* c) {
  std::size_t column = 0;
  for (; column + 8 <= count; column += 8) {
    const __m256i narrow = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums + column));
    const __m512i wide = _mm512_cvtepi32_epi64(narrow);
    _mm512_storeu_si512(c + column, _mm512_add_epi64(_mm512_loadu_si512(c + column), wide));
  }
  for (; column < count; ++column) c[column] = ring_sum(c[column], sums[column]);
}

}  // namespace

MicroKernel avx512_vnni_micro_kernel() {
  return {"avx512-vnni", kRows, kLanes, {multiply<1>, multiply<2>, multiply<3>}, interleave, measure, widen};
}

}  // namespace dpreduce

#endif
