// Private selection once more, from its definition and with reals of 300 digits: no interval, no fallback.
#pragma once

#include <boost/multiprecision/cpp_bin_float.hpp>

#include "common/randomness/certified_exp.hpp"
#include "common/randomness/exponential_mechanism.hpp"
#include "common/randomness/random_stream.hpp"
#include "tests/testing.hpp"

namespace dpreduce::oracle {

using SelectionReal =
    boost::multiprecision::number<boost::multiprecision::cpp_bin_float<300>, boost::multiprecision::et_off>;

inline SelectionReal oracle_gamma(const SelectionRate& rate) {
  return ldexp(SelectionReal(rate.numerator) / SelectionReal(rate.denominator), -static_cast<int>(rate.scale_bits));
}

/// exp(-gamma (u_max - u_i)), each different one computed once.
inline std::vector<SelectionReal> oracle_decays(std::span<const std::int64_t> utilities, const SelectionRate& rate) {
  const SelectionReal gamma = oracle_gamma(rate);
  const std::int64_t best = *std::max_element(utilities.begin(), utilities.end());
  std::map<std::int64_t, SelectionReal> known;
  std::vector<SelectionReal> decays;
  for (const std::int64_t utility : utilities) {
    auto found = known.find(utility);
    if (found == known.end()) {
      const SelectionReal decay = exp(-gamma * (SelectionReal(best) - SelectionReal(utility)));
      found = known.emplace(utility, decay).first;
    }
    decays.push_back(found->second);
  }
  return decays;
}

/// W_i; empty multiplicities stand for ones.
inline std::vector<SelectionReal> oracle_weights(std::span<const std::int64_t> utilities,
                                                 std::span<const BigInteger> multiplicities,
                                                 const SelectionRate& rate) {
  std::vector<SelectionReal> weights = oracle_decays(utilities, rate);
  for (std::size_t candidate = 0; candidate < multiplicities.size(); ++candidate) {
    weights[candidate] *= SelectionReal(multiplicities[candidate]);
  }
  return weights;
}

inline SelectionReal oracle_digits(BlockSource& tape, std::uint64_t column, std::uint64_t rows) {
  SelectionReal uniform = 0;
  for (std::uint64_t row = 0; row < rows; ++row) {
    RandomBlock block;
    tape.read(row, column, std::span(&block, 1));
    const int place = -128 * static_cast<int>(row);
    uniform += ldexp(SelectionReal(block.first), place - 64) + ldexp(SelectionReal(block.second), place - 128);
  }
  return uniform;
}

/// i with S_i <= U S_n < S_{i+1}. Throws if U, of which 6 rows are read, is too near to a boundary.
inline std::size_t oracle_selection(BlockSource& tape, std::uint64_t column, std::span<const SelectionReal> weights) {
  SelectionReal total = 0;
  for (const SelectionReal& weight : weights) total += weight;
  const SelectionReal target = oracle_digits(tape, column, 6) * total;
  SelectionReal sum = 0;
  for (std::size_t candidate = 0; candidate < weights.size(); ++candidate) {
    sum += weights[candidate];
    if (abs(sum - target) < total * ldexp(SelectionReal(1), -700)) throw std::runtime_error("undecided choice");
    if (target < sum) return candidate;
  }
  throw std::runtime_error("U is not below 1");
}

}  // namespace dpreduce::oracle
