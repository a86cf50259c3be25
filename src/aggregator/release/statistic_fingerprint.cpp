#include "aggregator/release/statistic_fingerprint.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

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

// r / 2^bits mod p for r < p: 2^-bits = 2^(127 - bits), so that the lower bits move to the top.
Uint128 in_units_of(Uint128 r, unsigned bits) {
  if (bits == 0) return r;
  return reduced((r >> bits) + ((r & ((Uint128{1} << bits) - 1)) << (127 - bits)));
}

Uint128 times_2_64(Uint128 x) {
  return product(product(x, std::uint64_t{1} << 32), std::uint64_t{1} << 32);
}

// A sum of up to 2^64 numbers of 128 bits.
struct WideSum {
  Uint128 sum = 0;
  std::uint64_t carries = 0;

  void add(Uint128 x) { carries += __builtin_add_overflow(sum, x, &sum) ? 1 : 0; }
  // 2^128 = 2 mod p
  Uint128 value() const { return reduced(reduced(sum) + 2 * Uint128{carries}); }
};

// sum_e r_e v_e mod p, r_e the next |values| coefficients of 127 bits, one block of the stream each; v_e integers of 64
// bits with sign, reduced mod p at the end: all v are taken 2^63 larger, so that none is below 0, and 2^63 sum_e r_e is
// taken off again.
Uint128 sum_of_products(std::span<const std::int64_t> values, RandomStream& coefficients) {
  std::array<RandomBlock, 1024> blocks;
  // With r = r1 2^64 + r0: of r0 v and r0, and of r1 v and r1.
  WideSum low;
  WideSum high;
  Uint128 low_coefficients = 0;
  Uint128 high_coefficients = 0;
  while (!values.empty()) {
    const std::size_t count = std::min(values.size(), blocks.size());
    coefficients.take_blocks(std::span(blocks).first(count));
    for (std::size_t e = 0; e < count; ++e) {
      std::array<std::uint64_t, 2> words;
      std::memcpy(words.data(), &blocks[e], sizeof words);
      const std::uint64_t v = static_cast<std::uint64_t>(values[e]) ^ (std::uint64_t{1} << 63);
      const std::uint64_t r1 = words[0] & kLow63;
      low.add(Uint128{words[1]} * v);
      high.add(Uint128{r1} * v);
      low_coefficients += words[1];
      high_coefficients += r1;
    }
    values = values.subspan(count);
  }
  cleanse(blocks.data(), sizeof blocks);
  const Uint128 sum = reduced(low.value() + times_2_64(high.value()));
  const Uint128 of_coefficients = reduced(reduced(low_coefficients) + times_2_64(reduced(high_coefficients)));
  return reduced(sum + kPrime - product(of_coefficients, std::uint64_t{1} << 63));
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
    const Uint128 products = sum_of_products(local.block(block), coefficients);
    sum = reduced(sum + in_units_of(products, local.shape()[block].fraction_bits));
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

}  // namespace dpreduce
