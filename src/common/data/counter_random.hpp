// Repeatable random numbers for synthetic data: never for privacy.
//
// Number k of a stream is a function of (seed, stream, k) alone, so that any row can be made without those before it.
// Everything is integer arithmetic and + - * / sqrt of doubles, which IEEE 754 fixes to the last bit: the same bytes
// everywhere, which the standard library's distributions and the mathematical library's log and cos do not promise.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

namespace dpreduce {

/// SplitMix64's finalizer, a bijection of 64 bits [steele2014].
constexpr std::uint64_t mix_bits(std::uint64_t z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/// Returns log(u) for 0 < u <= 1, u normal: with u = m 2^e, 1/sqrt(2) <= m < sqrt(2) and t = (m - 1) / (m + 1),
/// e log 2 + 2 (t + t^3/3 + ... + t^19/19). |t| < 0.172, so the first term left out is below 2^-53 relative.
inline double portable_log(double u) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(u);
  constexpr std::uint64_t kHalfSqrtBits = 0x3fe6a09e667f3bcdu;  // 1 / sqrt(2)
  const auto exponent = static_cast<std::int64_t>(bits - kHalfSqrtBits) >> 52;
  const double m = std::bit_cast<double>(bits - (static_cast<std::uint64_t>(exponent) << 52));
  const double t = (m - 1.0) / (m + 1.0);
  const double s = t * t;
  double series = 1.0 / 19;
  for (int odd = 17; odd >= 1; odd -= 2) series = series * s + 1.0 / odd;
  return static_cast<double>(exponent) * 0.6931471805599453 + 2.0 * t * series;
}

/// Returns exp(y) for -745 <= y <= 0, to about 2e-13 relative: Taylor's series at y / 1024, squared ten times.
inline double portable_exp(double y) {
  const double x = y / 1024.0;  // |x| < 0.73
  double power = 1.0;
  for (int k = 16; k >= 1; --k) power = 1.0 + x / k * power;
  for (int squaring = 0; squaring < 10; ++squaring) power *= power;
  return power;
}

/// Returns (cos, sin)(2 pi u) for 0 <= u < 1: Taylor's series on the nearest quarter turn, |x| <= pi / 4.
inline std::pair<double, double> portable_cos_sin_turn(double u) {
  const auto quarter = static_cast<int>(4.0 * u + 0.5);
  const double x = (u - 0.25 * quarter) * 6.283185307179586;
  const double s = x * x;
  double cosine = 1.0;
  double sine = 1.0;
  for (int k = 16; k >= 2; k -= 2) {
    cosine = 1.0 - s / (k * (k - 1)) * cosine;
    sine = 1.0 - s / (k * (k + 1)) * sine;
  }
  sine *= x;
  const std::pair<double, double> turned[] = {{cosine, sine}, {-sine, cosine}, {-cosine, -sine}, {sine, -cosine}};
  return turned[quarter & 3];
}

class CounterRandom {
 public:
  CounterRandom(std::uint64_t seed, std::uint64_t stream)
      : key_(mix_bits(mix_bits(seed + kGolden) ^ mix_bits(stream * kGolden + 1))) {}

  /// 64 uniform bits.
  std::uint64_t bits(std::uint64_t k) const { return mix_bits(key_ + (k + 1) * kGolden); }

  /// Two independent standard normals [box1958]; |z| <= sqrt(2 * 53 log 2) = 8.6.
  std::pair<double, double> normals(std::uint64_t k) const {
    const double radius_uniform = (static_cast<double>(bits(2 * k) >> 11) + 1.0) * 0x1p-53;  // in (0, 1]
    const double turn = static_cast<double>(bits(2 * k + 1) >> 11) * 0x1p-53;                // in [0, 1)
    const double radius = std::sqrt(-2.0 * portable_log(radius_uniform));
    const auto [cosine, sine] = portable_cos_sin_turn(turn);
    return {radius * cosine, radius * sine};
  }

 private:
  static constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15u;
  std::uint64_t key_;
};

/// A pseudo-random permutation of 0 .. size - 1: a four-round Feistel network on the next even number of bits, walked
/// along its cycle until it is back inside [black2002]. O(1) memory, at most 4 steps on average.
class IndexPermutation {
 public:
  IndexPermutation(std::uint64_t size, std::uint64_t seed, std::uint64_t stream)
      : size_(size),
        half_bits_((static_cast<unsigned>(std::bit_width(size - (size > 0))) + 1) / 2),
        keys_(seed, stream) {
    if (half_bits_ == 0) half_bits_ = 1;
  }

  /// Precondition: index < size.
  std::uint64_t operator()(std::uint64_t index) const {
    do {
      index = round_trip(index);
    } while (index >= size_);
    return index;
  }

 private:
  std::uint64_t round_trip(std::uint64_t index) const {
    const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
    std::uint64_t left = index >> half_bits_;
    std::uint64_t right = index & mask;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const std::uint64_t mixed = left ^ (mix_bits(right ^ keys_.bits(round)) & mask);
      left = right;
      right = mixed;
    }
    return left << half_bits_ | right;
  }

  std::uint64_t size_;
  unsigned half_bits_;
  CounterRandom keys_;
};

}  // namespace dpreduce
