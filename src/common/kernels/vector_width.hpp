// Loops over doubles, at the width of this processor's vectors.
//
// The program is compiled for the least that its processors have, and runs on all of them. A loop that takes long is
// compiled for every width beside that, and the widest that this processor has is what runs. Operations stay those of
// the source, in its order: nothing is contracted (CMakeLists.txt) or reassociated, so that every width has the same
// bits.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>

namespace dpreduce {

/// What a loop takes at a time, in as many registers as that needs; sums that must not depend on anything are kept in
/// such lanes.
using EightDoubles [[gnu::vector_size(8 * sizeof(double))]] = double;

/// The next eight, from anywhere.
inline void load(const double* from, EightDoubles& lanes) {
  std::memcpy(&lanes, from, sizeof(lanes));
}

/// Sums of a row's entries by their place mod 8, added up pairwise.
inline double sum_of_lanes(const EightDoubles& sums) {
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

/// How many doubles a vector holds, for the compiler.
template <std::size_t count>
using Doubles = std::integral_constant<std::size_t, count>;

/// The widths that this processor has, ascending: 2, 4 with AVX2, 8 with AVX-512 (F, BW, DQ, VL).
std::span<const std::size_t> vector_widths();

namespace vector_width {

template <typename Work>
[[gnu::flatten]] void run_plain(const Work& work) {
  work(Doubles<2>{});
}

#if defined(__x86_64__)
template <typename Work>
[[gnu::flatten, gnu::target("avx2")]] void run_avx2(const Work& work) {
  work(Doubles<4>{});
}

template <typename Work>
[[gnu::flatten, gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] void run_avx512(const Work& work) {
  work(Doubles<8>{});
}
#endif

}  // namespace vector_width

/// Calls work(Doubles<width>) as compiled for that width. Only what is inlined gains: loops of the lambda, and
/// functions whose bodies its file has. Preconditions: `width` is one of vector_widths().
template <typename Work>
void run_at_width(std::size_t width, const Work& work) {
#if defined(__x86_64__)
  if (width == 8) return vector_width::run_avx512(work);
  if (width == 4) return vector_width::run_avx2(work);
#endif
  vector_width::run_plain(work);
}

/// The widest.
template <typename Work>
void run_at_full_width(const Work& work) {
  run_at_width(vector_widths().back(), work);
}

}  // namespace dpreduce
