#include "aggregator/release/statistic_fingerprint.hpp"

#include <fmt/format.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

__extension__ using Uint128 = unsigned __int128;

constexpr Uint128 kPrime = (Uint128{1} << 127) - 1;
constexpr std::uint64_t kLow63 = (std::uint64_t{1} << 63) - 1;
constexpr std::uint64_t kLow32 = (std::uint64_t{1} << 32) - 1;

// x mod p: 2^127 = 1 mod p.
Uint128 reduced(Uint128 x) {
  x = (x & kPrime) + (x >> 127);
  return x >= kPrime ? x - kPrime : x;
}

// r v mod p for r < p. With r = r1 2^64 + r0 and A = r1 v = a1 2^63 + a0, A 2^64 = a1 + a0 2^64 mod p.
Uint128 product(Uint128 r, std::uint64_t v) {
  const Uint128 a = (r >> 64) * v;
  const Uint128 shifted = (a >> 63) + (Uint128{static_cast<std::uint64_t>(a) & kLow63} << 64);
  return reduced(reduced(shifted) + reduced(Uint128{static_cast<std::uint64_t>(r)} * v));
}

Uint128 signed_product(Uint128 r, std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  if (value >= 0) return product(r, bits);
  return reduced(kPrime - product(r, std::uint64_t{0} - bits));
}

// r / 2^bits mod p for r < p: 2^-bits = 2^(127 - bits), so that the lower bits move to the top.
Uint128 in_units_of(Uint128 r, unsigned bits) {
  if (bits == 0) return r;
  return reduced((r >> bits) + ((r & ((Uint128{1} << bits) - 1)) << (127 - bits)));
}

// sum + r v / 2^fraction_bits mod p, r the next coefficient: one block of the stream.
Uint128 with_product(Uint128 sum, std::int64_t value, RandomStream& coefficients, unsigned fraction_bits = 0) {
  const Uint128 high = coefficients.next_u64() & kLow63;
  const Uint128 coefficient = reduced((high << 64) + coefficients.next_u64());
  return reduced(sum + signed_product(in_units_of(coefficient, fraction_bits), value));
}

FingerprintPart digits_of(Uint128 sum) {
  FingerprintPart part{};
  for (std::size_t digit = 0; digit < part.size(); ++digit) {
    part[digit] = static_cast<std::uint64_t>(sum >> (32 * digit)) & kLow32;
  }
  return part;
}

}  // namespace

FingerprintPart fingerprint_part(const Statistic& local, RandomStream& coefficients) {
  Uint128 sum = 0;
  for (std::size_t block = 0; block < local.shape().size(); ++block) {
    const unsigned fraction_bits = local.shape()[block].fraction_bits;
    for (const std::int64_t word : local.block(block)) sum = with_product(sum, word, coefficients, fraction_bits);
  }
  return digits_of(sum);
}

FingerprintPart fingerprint_part_of_columns(std::span<const std::int64_t> part, std::uint64_t groups,
                                            std::uint64_t first, std::uint64_t columns, RandomStream& coefficients) {
  const std::uint64_t width = part.size() / groups;
  DPREDUCE_ASSERT(first + width <= columns);
  Uint128 sum = 0;
  for (std::uint64_t group = 0; group < groups; ++group) {
    coefficients.skip_blocks(first);
    for (const std::int64_t word : part.subspan(group * width, width)) sum = with_product(sum, word, coefficients);
    coefficients.skip_blocks(columns - first - width);
  }
  return digits_of(sum);
}

std::string fingerprint_of(const FingerprintPart& summed) {
  Uint128 whole = 0;
  for (std::size_t digit = 0; digit < summed.size(); ++digit) {
    whole = reduced(whole + product(Uint128{1} << (32 * digit), summed[digit]));
  }
  return fmt::format("{:016x}{:016x}", static_cast<std::uint64_t>(whole >> 64), static_cast<std::uint64_t>(whole));
}

std::string hex_words(std::span<const std::uint64_t> words) {
  std::string text;
  for (const std::uint64_t word : words) text += fmt::format("{:016x}", word);
  return text;
}

}  // namespace dpreduce
