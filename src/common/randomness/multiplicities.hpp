// Numbers of equally good outcomes of each candidate of a private selection, as exact integers of any size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/randomness/certified_exp.hpp"

namespace dpreduce {

/// m_i >= 0, with the leading digits of each beside it. Made once, used for many selections.
class Multiplicities {
 public:
  /// Throws UsageError if one is negative or has more than 2^20 binary digits.
  explicit Multiplicities(std::vector<BigInteger> counts);
  explicit Multiplicities(std::span<const std::uint64_t> counts);

  /// m_j = C(j, subset_size - 1), j = 0, ..., candidates - 1: so many sets of `subset_size` candidates have candidate j
  /// as their worst, when candidates come in falling order of utility. About 32 bytes and a product each.
  ///
  /// Preconditions: subset_size >= 1. Throws UsageError. Source: [wahdany2025], DPPL-PublicK; its printed multiplicity
  /// C(rank, subset_size) is that of "worst or better" and not private.
  static Multiplicities of_subsets_by_worst(std::size_t candidates, std::size_t subset_size);

  std::size_t size() const { return counts_.size(); }
  const BigInteger& operator[](std::size_t candidate) const { return counts_[candidate]; }

  /// m_i = leading(i) * 2^exponent(i) * (1 + theta), 0 <= theta < 2^-52, 1 <= leading(i) < 2.
  /// For m_i = 0 leading is 0 and exponent -infinity.
  double leading(std::size_t candidate) const { return leading_[candidate]; }
  double exponent(std::size_t candidate) const { return exponents_[candidate]; }
  /// The largest exponent; 0 if there is none.
  unsigned most_exponent() const { return most_exponent_; }

 private:
  std::vector<BigInteger> counts_;
  std::vector<double> leading_;
  std::vector<double> exponents_;
  unsigned most_exponent_ = 0;
};

}  // namespace dpreduce
