// Loops over doubles, at the width of this processor's vectors.
//
// The program is compiled for the oldest supported processors. A long loop is also compiled for every vector width, and
// the widest that this processor has is used. Operations stay those of the source, in its order: nothing is contracted
// (CMakeLists.txt) or reassociated, so that every width has the same bits.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace dpreduce {

/// Eight doubles in vectors of `width`: what a loop takes at a time. Sums whose bits must not depend on the width are
/// kept in such lanes. One vector of eight would be slow where registers hold less: GCC (12) keeps it in memory, and
/// compares one entry after the other.
template <std::size_t width>
struct EightDoubles {
  using Part [[gnu::vector_size(width * sizeof(double))]] = double;
  static constexpr std::size_t kParts = 8 / width;

  EightDoubles() = default;
  [[gnu::always_inline]] EightDoubles(double value) {  // NOLINT(google-explicit-constructor): as any arithmetic type
    for_each_part([&](std::size_t p) { parts[p] = Part{} + value; });
  }
  /// The next eight, from anywhere.
  [[gnu::always_inline]] explicit EightDoubles(const double* from) {
    for_each_part([&](std::size_t p) { std::memcpy(&parts[p], from + p * width, sizeof(Part)); });
  }
  [[gnu::always_inline]] void store(double* to) const {
    for_each_part([&](std::size_t p) { std::memcpy(to + p * width, &parts[p], sizeof(Part)); });
  }

  [[gnu::always_inline]] double operator[](std::size_t lane) const { return parts[lane / width][lane % width]; }
  [[gnu::always_inline]] void set(std::size_t lane, double value) { parts[lane / width][lane % width] = value; }

  /// work(p) for each part, unrolled.
  template <typename Work>
  [[gnu::always_inline]] static void for_each_part(const Work& work) {
#pragma GCC unroll 4
    for (std::size_t p = 0; p < kParts; ++p) work(p);
  }

  template <typename Other>
  [[gnu::always_inline]] friend EightDoubles operator+(const EightDoubles& a, const Other& b) {
    EightDoubles c;
    for_each_part([&](std::size_t p) { c.parts[p] = a.parts[p] + part_of(b, p); });
    return c;
  }
  template <typename Other>
  [[gnu::always_inline]] EightDoubles& operator+=(const Other& b) {
    return *this = *this + b;
  }
  template <typename Other>
  [[gnu::always_inline]] friend EightDoubles operator-(const EightDoubles& a, const Other& b) {
    EightDoubles c;
    for_each_part([&](std::size_t p) { c.parts[p] = a.parts[p] - part_of(b, p); });
    return c;
  }
  template <typename Other>
  [[gnu::always_inline]] friend EightDoubles operator*(const EightDoubles& a, const Other& b) {
    EightDoubles c;
    for_each_part([&](std::size_t p) { c.parts[p] = a.parts[p] * part_of(b, p); });
    return c;
  }
  template <typename Other>
  [[gnu::always_inline]] friend EightDoubles operator/(const EightDoubles& a, const Other& b) {
    EightDoubles c;
    for_each_part([&](std::size_t p) { c.parts[p] = a.parts[p] / part_of(b, p); });
    return c;
  }

  /// In each lane a < b ? x : y.
  [[gnu::always_inline]] static EightDoubles where_less(const EightDoubles& a, const EightDoubles& b,
                                                        const EightDoubles& x, const EightDoubles& y) {
    EightDoubles chosen;
    for_each_part([&](std::size_t p) { chosen.parts[p] = a.parts[p] < b.parts[p] ? x.parts[p] : y.parts[p]; });
    return chosen;
  }
  [[gnu::always_inline]] EightDoubles at_least(const EightDoubles& b) const {
    return where_less(*this, b, b, *this);
  }
  [[gnu::always_inline]] EightDoubles at_most(const EightDoubles& b) const {
    return where_less(b, *this, b, *this);
  }

  /// Rounded to integers, ties to even, for |entries| < 2^51: adding and subtracting 1.5 * 2^52 rounds.
  [[gnu::always_inline]] EightDoubles rounded() const {
    constexpr double kRoundToInteger = 6755399441055744.0;
    return (*this + kRoundToInteger) - kRoundToInteger;
  }

  /// Sums of a row's entries by their place mod 8, added up pairwise.
  [[gnu::always_inline]] double sum() const {
    const EightDoubles& s = *this;
    return ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));
  }

  Part parts[kParts];

 private:
  static const Part& part_of(const EightDoubles& eight, std::size_t p) {
    return eight.parts[p];
  }
  static const double& part_of(const double& value, std::size_t) {
    return value;
  }
};

/// The double next to `value`, ties to even, as a conversion has it. Vectors of fewer than eight doubles have no such
/// conversion (AVX-512 DQ is the first that does): they add halves that are exact doubles, and round once.
template <std::size_t width>
[[gnu::always_inline]] inline double to_double(std::int64_t value) {
  if constexpr (width == 8) return static_cast<double>(value);
  constexpr std::uint64_t kBitsOf2To52 = 0x4330000000000000;  // the lowest bit of its fraction counts 1
  constexpr std::uint64_t kBitsOf2To84 = 0x4530000000000000;  // and that of this one 2^32
  const auto bits = static_cast<std::uint64_t>(value);
  const auto low = std::bit_cast<double>((bits & 0xffffffff) | kBitsOf2To52);
  const auto high = std::bit_cast<double>((bits >> 32) ^ (kBitsOf2To84 | 0x80000000));  // 2^84 + 2^63 too large
  return (high - (0x1p84 + 0x1p63 + 0x1p52)) + low;
}

/// Number of doubles that a vector holds, for the compiler.
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
void run_at_width([[maybe_unused]] std::size_t width, const Work& work) {
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
