// AVX-512 VNNI: vpdpwssd multiplies 16 pairs and adds them into 16 sums; one instruction for 32 multiply-adds.
//
// A tile is 8 rows x 3 vectors: 24 sums, 3 vectors of b and a broadcast in 32 registers. A pair costs 24 vpdpwssd and
// 11 loads, so two vpdpwssd can start every cycle where the processor has two such units.
//
// Products of rows take 3 x 8 dots, or the sums of 12 others with 32 columns, are 24 sums that do not wait for each
// other.
#if defined(__x86_64__)

// GCC 12 takes the undefined lanes of its own header's intrinsics for a mistake of ours (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include <immintrin.h>

#include "common/kernels/instruction_set.hpp"
#include "common/kernels/matrix_view.hpp"

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
  __m512i sums[kRows][vectors] = {};
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

// The largest lane of energies that lack one unit for each of `terms`.
DPREDUCE_AVX512_VNNI inline std::uint32_t largest_energy(__m512i energy, __m512i lowest, std::size_t terms) {
  const __m512i limit = _mm512_set1_epi16(std::numeric_limits<std::int16_t>::min());
  if (_mm512_cmpeq_epi16_mask(lowest, limit) != 0) return kNoEnergy;
  return _mm512_reduce_max_epu32(energy) + static_cast<std::uint32_t>(terms);
}

DPREDUCE_AVX512_VNNI inline __m512i units_of(__m512i both) {
  return _mm512_srli_epi32(_mm512_madd_epi16(both, both), 10);
}

DPREDUCE_AVX512_VNNI std::uint32_t measure(const std::int16_t* packed, std::size_t pairs, std::size_t vectors) {
  __m512i largest = _mm512_setzero_si512();
  __m512i lowest = _mm512_setzero_si512();
  for (std::size_t v = 0; v < vectors; ++v) {
    __m512i energy = _mm512_setzero_si512();
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      const __m512i both = _mm512_loadu_si512(packed + (pair * vectors + v) * 2 * kLanes);
      energy = _mm512_add_epi32(energy, units_of(both));
      lowest = _mm512_min_epi16(lowest, both);
    }
    largest = _mm512_max_epu32(largest, energy);
  }
  return largest_energy(largest, lowest, pairs);
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

constexpr std::size_t kValues = 2 * kLanes;
// Rows of a tall block lie pages apart, so that no processor foresees them.
constexpr std::size_t kRowsAhead = 16;
// Pairs of the next block that an outer product fetches: with its own rows they fit in a second-level cache of 1 MiB.
constexpr std::size_t kPairsFetched = 32;
// Distance by which a dot product looks ahead, in multiples of its own rows, into the second-level cache.
constexpr std::size_t kRowsFromMemory = 8;

DPREDUCE_AVX512_VNNI inline __mmask32 mask_of(std::size_t count) {
  return count >= kValues ? ~__mmask32{0} : static_cast<__mmask32>((std::uint32_t{1} << count) - 1);
}

// Dots begin here, and not at 0: as unsigned numbers their sums then need no signs, which would take three shifts to
// widen instead of one.
constexpr std::int64_t kDotBias = std::int64_t{1} << 31;

// Both halves of each 64 bits, as unsigned numbers, added up in int64.
DPREDUCE_AVX512_VNNI inline __m512i widened(__m512i sums) {
  const __m512i low = _mm512_and_si512(sums, _mm512_set1_epi64(0xffffffff));
  return _mm512_add_epi64(low, _mm512_srli_epi64(sums, 32));
}

// Lane o of the result: the sum of wide[o].
DPREDUCE_AVX512_VNNI inline __m512i sums_across(const __m512i* wide) {
  __m512i two[4];
#pragma GCC unroll 4
  for (std::size_t i = 0; i < 4; ++i) {
    two[i] = _mm512_add_epi64(_mm512_unpacklo_epi64(wide[2 * i], wide[2 * i + 1]),
                              _mm512_unpackhi_epi64(wide[2 * i], wide[2 * i + 1]));
  }
  __m512i four[2];
#pragma GCC unroll 2
  for (std::size_t i = 0; i < 2; ++i) {
    four[i] = _mm512_add_epi64(_mm512_shuffle_i64x2(two[2 * i], two[2 * i + 1], 0x88),
                               _mm512_shuffle_i64x2(two[2 * i], two[2 * i + 1], 0xdd));
  }
  return _mm512_add_epi64(_mm512_shuffle_i64x2(four[0], four[1], 0x88), _mm512_shuffle_i64x2(four[0], four[1], 0xdd));
}

template <bool first_time, std::size_t rows, std::size_t others>
DPREDUCE_AVX512_VNNI inline void add_vector(__m512i (&sums)[rows][others], const std::int16_t* a, std::size_t a_stride,
                                            const std::int16_t* panel, __mmask32 mask) {
  __m512i left[rows];
#pragma GCC unroll 8
  for (std::size_t r = 0; r < rows; ++r) {
    left[r] = _mm512_maskz_loadu_epi16(mask, a + r * a_stride);
    if constexpr (!first_time) continue;
    // The rows that are next, and those that come from memory meanwhile.
    _mm_prefetch(reinterpret_cast<const char*>(a + (rows + r) * a_stride), _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(a + (kRowsFromMemory * rows + r) * a_stride), _MM_HINT_T1);
  }
#pragma GCC unroll 8
  for (std::size_t o = 0; o < others; ++o) {
    const __m512i right = _mm512_loadu_si512(panel + o * kValues);
#pragma GCC unroll 8
    for (std::size_t r = 0; r < rows; ++r) multiply_add(sums[r][o], left[r], right);
  }
}

template <bool first_time, std::size_t rows, std::size_t others>
DPREDUCE_AVX512_VNNI void dots(const std::int16_t* a, std::size_t a_stride, const std::int16_t* panel,
                               std::size_t count, std::int64_t* c, std::size_t c_stride) {
  __m512i sums[rows][others];
#pragma GCC unroll 8
  for (std::size_t r = 0; r < rows; ++r) {
#pragma GCC unroll 8
    for (std::size_t o = 0; o < others; ++o) {
      sums[r][o] = _mm512_set1_epi32(std::numeric_limits<std::int32_t>::min());
    }
  }
  std::size_t k = 0;
  for (; k + kValues <= count; k += kValues, panel += others * kValues) {
    add_vector<first_time, rows, others>(sums, a + k, a_stride, panel, ~0U);
  }
  if (k < count) add_vector<first_time, rows, others>(sums, a + k, a_stride, panel, mask_of(count - k));
  constexpr auto kMask = static_cast<__mmask8>((1U << others) - 1);
#pragma GCC unroll 8
  for (std::size_t r = 0; r < rows; ++r) {
    __m512i wide[kMostDotOthers];
#pragma GCC unroll 8
    for (std::size_t o = 0; o < kMostDotOthers; ++o) {
      wide[o] = o < others ? widened(sums[r][o < others ? o : 0]) : _mm512_setzero_si512();
    }
    std::int64_t* const target = c + r * c_stride;
    const __m512i before =
        _mm512_sub_epi64(_mm512_maskz_loadu_epi64(kMask, target), _mm512_set1_epi64(kLanes * kDotBias));
    _mm512_mask_storeu_epi64(target, kMask, _mm512_add_epi64(before, sums_across(wide)));
  }
}

template <std::size_t others>
DPREDUCE_AVX512_VNNI inline void add_pair(__m512i (&sums)[others][2], const std::int16_t* r, __m512i first,
                                          __m512i second) {
  const __m512i low = _mm512_unpacklo_epi16(first, second);
  const __m512i high = _mm512_unpackhi_epi16(first, second);
#pragma GCC unroll 16
  for (std::size_t o = 0; o < others; ++o) {
    const __m512i both = broadcast_pair(r + 2 * o);
    multiply_add(sums[o][0], both, low);
    multiply_add(sums[o][1], both, high);
  }
}

// c[j] += sums[j], j < count <= 16; as a whole most of the time, since masks cost a store its time.
DPREDUCE_AVX512_VNNI inline void add_wide(__m512i sums, std::size_t count, std::int64_t* c) {
  constexpr std::size_t kHalf = kLanes / 2;
  const __m512i low = _mm512_cvtepi32_epi64(_mm512_castsi512_si256(sums));
  const __m512i high = _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(sums, 1));
  if (count >= kLanes) {
    _mm512_storeu_si512(c, _mm512_add_epi64(_mm512_loadu_si512(c), low));
    _mm512_storeu_si512(c + kHalf, _mm512_add_epi64(_mm512_loadu_si512(c + kHalf), high));
    return;
  }
  const auto mask = static_cast<std::uint32_t>(mask_of(count));
  const auto first = static_cast<__mmask8>(mask);
  const auto second = static_cast<__mmask8>(mask >> kHalf);
  _mm512_mask_storeu_epi64(c, first, _mm512_add_epi64(_mm512_maskz_loadu_epi64(first, c), low));
  _mm512_mask_storeu_epi64(c + kHalf, second, _mm512_add_epi64(_mm512_maskz_loadu_epi64(second, c + kHalf), high));
}

template <std::size_t others>
DPREDUCE_AVX512_VNNI void outer(const std::int16_t* r, std::size_t r_stride, const Int16View& q, std::int64_t* c,
                                std::size_t c_stride) {
  __m512i sums[others][2] = {};
  const __mmask32 mask = mask_of(q.cols);
  const std::int16_t* row = q.data;
  std::size_t pair = 0;
  for (; 2 * pair + 1 < q.rows; ++pair, r += r_stride, row += 2 * q.stride) {
    const __m512i first = _mm512_maskz_loadu_epi16(mask, row);
    const __m512i second = _mm512_maskz_loadu_epi16(mask, row + q.stride);
    if (pair < kPairsFetched) {
      _mm_prefetch(reinterpret_cast<const char*>(row + kOuterRows * q.stride), _MM_HINT_T1);
      _mm_prefetch(reinterpret_cast<const char*>(row + (kOuterRows + 1) * q.stride), _MM_HINT_T1);
    }
    add_pair<others>(sums, r, first, second);
  }
  if (2 * pair < q.rows) {
    add_pair<others>(sums, r, _mm512_maskz_loadu_epi16(mask, row), _mm512_setzero_si512());
  }
  // Columns 8 L + e lie in lane 4 L + e of the low sums, columns 8 L + 4 + e in that of the high ones.
  const __m512i order = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
  const __m512i next = _mm512_setr_epi32(8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
#pragma GCC unroll 16
  for (std::size_t o = 0; o < others; ++o) {
    std::int64_t* const target = c + o * c_stride;
    add_wide(_mm512_permutex2var_epi32(sums[o][0], order, sums[o][1]), q.cols, target);
    if (q.cols <= kLanes) continue;
    add_wide(_mm512_permutex2var_epi32(sums[o][0], next, sums[o][1]), q.cols - kLanes, target + kLanes);
  }
}

DPREDUCE_AVX512_VNNI std::uint32_t measure_row(const std::int16_t* row, std::size_t count, std::size_t stripe,
                                               std::uint32_t* energies) {
  __m512i whole = _mm512_setzero_si512();
  __m512i lowest = _mm512_setzero_si512();
  for (std::size_t first = 0; first < count; first += stripe, ++energies) {
    const std::size_t end = std::min(first + stripe, count);
    __m512i energy = _mm512_setzero_si512();
    for (std::size_t k = first; k < end; k += kValues) {
      const __m512i both = _mm512_maskz_loadu_epi16(mask_of(end - k), row + k);
      energy = _mm512_add_epi32(energy, units_of(both));
      lowest = _mm512_min_epi16(lowest, both);
    }
    whole = _mm512_add_epi32(whole, energy);
    const auto terms = static_cast<std::uint32_t>((end - first + kValues - 1) / kValues);
    *energies = std::max(*energies, _mm512_reduce_max_epu32(energy) + terms);
  }
  return largest_energy(whole, lowest, (count + kValues - 1) / kValues);
}

DPREDUCE_AVX512_VNNI std::uint32_t measure_columns(const Int16View& q) {
  const __mmask32 mask = mask_of(q.cols);
  __m512i low = _mm512_setzero_si512();
  __m512i high = _mm512_setzero_si512();
  __m512i lowest = _mm512_setzero_si512();
  for (std::size_t k = 0; k < q.rows; k += 2) {
    const std::int16_t* const row = q.row(k);
    _mm_prefetch(reinterpret_cast<const char*>(row + kRowsAhead * q.stride), _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(row + (kRowsAhead + 1) * q.stride), _MM_HINT_T0);
    const __m512i first = _mm512_maskz_loadu_epi16(mask, row);
    const __m512i second = k + 1 < q.rows ? _mm512_maskz_loadu_epi16(mask, row + q.stride) : _mm512_setzero_si512();
    low = _mm512_add_epi32(low, units_of(_mm512_unpacklo_epi16(first, second)));
    high = _mm512_add_epi32(high, units_of(_mm512_unpackhi_epi16(first, second)));
    lowest = _mm512_min_epi16(lowest, _mm512_min_epi16(first, second));
  }
  return largest_energy(_mm512_max_epu32(low, high), lowest, (q.rows + 1) / 2);
}

template <bool first_time, std::size_t rows, std::size_t... others>
std::array<MicroKernel::Dots, kMostDotOthers> all_dots(std::index_sequence<others...>) {
  return {dots<first_time, rows, others + 1>...};
}

template <std::size_t... others>
std::array<MicroKernel::Outer, kMostOuterSums> all_outers(std::index_sequence<others...>) {
  return {outer<others + 1>...};
}

}  // namespace

MicroKernel avx512_vnni_micro_kernel() {
  constexpr std::make_index_sequence<kMostDotOthers> kOthers;
  return {.name = "avx512-vnni",
          .tile_rows = kRows,
          .lanes = kLanes,
          .multiply = {multiply<1>, multiply<2>, multiply<3>},
          .interleave = interleave,
          .measure = measure,
          .widen = widen,
          .most_dot_others = kMostDotOthers,
          .most_outer_sums = kMostOuterSums,
          .dots_of_row = all_dots<true, 1>(kOthers),
          .dots = all_dots<true, kDotRows>(kOthers),
          .dots_again = all_dots<false, kDotRows>(kOthers),
          .outer = all_outers(std::make_index_sequence<kMostOuterSums>()),
          .measure_row = measure_row,
          .measure_columns = measure_columns};
}

}  // namespace dpreduce

#endif
