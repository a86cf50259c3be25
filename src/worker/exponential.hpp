// An exponential of our own: one fixed sequence of IEEE double operations, the same bits at every width of vectors.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "common/kernels/vector_width.hpp"

namespace dpreduce {

using EightBits [[gnu::vector_size(8 * sizeof(std::uint64_t))]] = std::uint64_t;

/// How many vectors go through exponentials() together at the best: a step of one waits for the step before.
template <std::size_t width>
inline constexpr std::size_t kVectorsTogether = width / 2;

/// x_v <- exp(x_v) for entries <= 0, within 4e-16 relative; 0 below -700. No branch, no table, no library call. The
/// same bits for any number of vectors.
///
/// x = k ln 2 + r, |r| <= ln(2)/2, and exp(r) by its Taylor polynomial of degree 13: remainder below 2^-57.
template <std::size_t vectors>
inline void exponentials(EightDoubles* x) {
  constexpr double kInverseLn2 = 1.4426950408889634074;
  constexpr double kLn2High = 0x1.62e42feep-1;  // 33 bits: k kLn2High is exact for |k| < 2^20
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  constexpr double kRoundToInteger = 6755399441055744.0;
  constexpr std::array<double, 14> kTaylor = {
      1.0,        1.0,         1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,       1.0 / 720,
      1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
  const EightDoubles smallest = EightDoubles{} - 700.0;
  EightDoubles shifted[vectors];
  EightDoubles r[vectors];
  EightDoubles sum[vectors];
#pragma GCC unroll 4
  for (std::size_t v = 0; v < vectors; ++v) {
    const EightDoubles bounded = x[v] < smallest ? smallest : x[v];
    shifted[v] = bounded * kInverseLn2 + kRoundToInteger;
    const EightDoubles k = shifted[v] - kRoundToInteger;
    r[v] = (bounded - k * kLn2High) - k * kLn2Low;
    sum[v] = EightDoubles{} + kTaylor[13];
  }
  for (std::size_t degree = 13; degree-- > 0;) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < vectors; ++v) sum[v] = sum[v] * r[v] + kTaylor[degree];
  }
#pragma GCC unroll 4
  for (std::size_t v = 0; v < vectors; ++v) {
    // The low bits of `shifted` hold k as an integer: 2^k has k + 1023 as its exponent.
    EightBits bits;
    std::memcpy(&bits, &shifted[v], sizeof(bits));
    bits = (bits + 1023) << 52;
    EightDoubles power;
    std::memcpy(&power, &bits, sizeof(power));
    const EightDoubles scaled = sum[v] * power;
    x[v] = x[v] < smallest ? EightDoubles{} : scaled;
  }
}

/// x_v <- 1 / (1 + exp(-x_v)), from the exponential of -|x_v|.
template <std::size_t vectors>
inline void logistics(EightDoubles* x) {
  EightDoubles small[vectors];
  for (std::size_t v = 0; v < vectors; ++v) small[v] = x[v] < 0.0 ? x[v] : -x[v];
  exponentials<vectors>(small);
  for (std::size_t v = 0; v < vectors; ++v) {
    x[v] = (x[v] < 0.0 ? small[v] : EightDoubles{} + 1.0) / (1.0 + small[v]);
  }
}

}  // namespace dpreduce
