#include "common/randomness/multiplicities.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/base/error.hpp"

namespace dpreduce {

Multiplicities::Multiplicities(std::vector<BigInteger> counts) : counts_(std::move(counts)) {
  constexpr unsigned kMostExponent = (1u << 20) - 1;
  leading_.reserve(counts_.size());
  exponents_.reserve(counts_.size());
  for (const BigInteger& count : counts_) {
    if (count < 0) {
      throw UsageError("multiplicity of candidate {} is negative: it counts outcomes", leading_.size());
    }
    if (count == 0) {
      leading_.push_back(0);
      exponents_.push_back(-std::numeric_limits<double>::infinity());
      continue;
    }
    const auto exponent = static_cast<unsigned>(msb(count));
    if (exponent > kMostExponent) {
      throw UsageError("multiplicity of candidate {} has {} binary digits: at most {} are allowed", leading_.size(),
                       exponent + 1, kMostExponent + 1);
    }
    const BigInteger digits =
        exponent > 52 ? BigInteger(count >> (exponent - 52)) : BigInteger(count << (52 - exponent));
    leading_.push_back(static_cast<double>(static_cast<std::uint64_t>(digits)) * 0x1p-52);
    exponents_.push_back(exponent);
    most_exponent_ = std::max(most_exponent_, exponent);
  }
}

Multiplicities::Multiplicities(std::span<const std::uint64_t> counts)
    : Multiplicities(std::vector<BigInteger>(counts.begin(), counts.end())) {}

Multiplicities Multiplicities::of_subsets_by_worst(std::size_t candidates, std::size_t subset_size) {
  if (subset_size == 0) throw UsageError("subset_size = 0 of a private selection of sets: it must be >= 1");
  const std::size_t others = subset_size - 1;
  std::vector<BigInteger> counts(candidates);
  BigInteger count = 1;
  for (std::size_t candidate = others; candidate < candidates; ++candidate) {
    counts[candidate] = count;
    // C(j + 1, k) = C(j, k) (j + 1) / (j + 1 - k)
    count = count * static_cast<std::uint64_t>(candidate + 1) / static_cast<std::uint64_t>(candidate + 1 - others);
  }
  return Multiplicities(std::move(counts));
}

}  // namespace dpreduce
