// An exponential of our own: one fixed sequence of IEEE double operations, the same bits at every width of vectors.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "common/kernels/vector_width.hpp"

namespace dpreduce {

/// x <- exp(x) for entries <= 0, within 4e-16 relative; 0 below -700. No branch, no table, no library call.
///
/// x = k ln 2 + r, |r| <= ln(2)/2, and exp(r) by its Taylor polynomial of degree 13: remainder below 2^-57.
inline void exponential(EightDoubles& x) {
  using EightBits [[gnu::vector_size(8 * sizeof(std::uint64_t))]] = std::uint64_t;
  constexpr double kInverseLn2 = 1.4426950408889634074;
  constexpr double kLn2High = 0x1.62e42feep-1;  // 33 bits: k kLn2High is exact for |k| < 2^20
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  constexpr double kRoundToInteger = 6755399441055744.0;
  constexpr std::array<double, 14> kTaylor = {
      1.0,        1.0,         1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,       1.0 / 720,
      1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
  constexpr EightDoubles kSmallest = EightDoubles{} - 700.0;
  const EightDoubles bounded = x < kSmallest ? kSmallest : x;
  const EightDoubles shifted = bounded * kInverseLn2 + kRoundToInteger;
  const EightDoubles k = shifted - kRoundToInteger;
  const EightDoubles r = (bounded - k * kLn2High) - k * kLn2Low;
  EightDoubles sum = EightDoubles{} + kTaylor[13];
  for (std::size_t degree = 13; degree-- > 0;) sum = sum * r + kTaylor[degree];
  // The low bits of `shifted` hold k as an integer: 2^k has k + 1023 as its exponent.
  EightBits bits;
  std::memcpy(&bits, &shifted, sizeof(bits));
  bits = (bits + 1023) << 52;
  EightDoubles power;
  std::memcpy(&power, &bits, sizeof(power));
  const EightDoubles scaled = sum * power;
  x = x < kSmallest ? EightDoubles{} : scaled;
}

/// x <- 1 / (1 + exp(-x)), from the exponential of -|x|.
inline void logistic(EightDoubles& x) {
  EightDoubles small = x < 0.0 ? x : -x;
  exponential(small);
  x = (x < 0.0 ? small : EightDoubles{} + 1.0) / (1.0 + small);
}

}  // namespace dpreduce
