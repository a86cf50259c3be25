// The bulk sampler once more, from its definition and with long reals: no table, no shortcut, no interval.
#pragma once

#include <boost/multiprecision/cpp_bin_float.hpp>

#include "common/randomness/random_stream.hpp"
#include "tests/testing.hpp"

namespace dpreduce::oracle {

template <unsigned bits>
using RealOf =
    boost::multiprecision::number<boost::multiprecision::cpp_bin_float<bits, boost::multiprecision::digit_base_2>,
                                  boost::multiprecision::et_off>;

using Real = RealOf<320>;       // for samples
using LongReal = RealOf<1200>;  // for digits of one number over many rows

inline constexpr double kOracleDensity = 813;
inline constexpr std::size_t kOracleSlots = 1024;
inline constexpr int kOracleRows = 3;  // further rows of digits that the oracle reads

/// left_0, ..., left_1023 = T in units of 2^-32: the widest strips with 813 * width * exp(-left^2/2) <= 1, width <= 1.
inline const std::vector<std::uint64_t>& oracle_lefts() {
  static const std::vector<std::uint64_t> lefts = [] {
    std::vector<std::uint64_t> all{0};
    while (all.size() < kOracleSlots) {
      const Real left = ldexp(Real(all.back()), -32);
      const Real widest = ldexp(exp(left * left / 2) / kOracleDensity, 32);
      const Real width = widest < ldexp(Real(1), 32) ? Real(floor(widest)) : ldexp(Real(1), 32);
      all.push_back(all.back() + static_cast<std::uint64_t>(width));
    }
    return all;
  }();
  return lefts;
}

template <class Number>
struct OracleProposal {
  Number left;
  Number width;
  Number tail_factor = 1;  // 2^(m+1) at tail level m
  Number place;            // U
  Number coin;             // V
  bool is_negative = false;

  Number x() const { return left + width * place; }
  Number acceptance() const { return kOracleDensity * width * tail_factor * exp(-x() * x() / 2); }
};

template <class Number>
OracleProposal<Number> oracle_proposal(BlockSource& tape, std::uint64_t column) {
  const auto block = [&tape, column](std::uint64_t row) {
    RandomBlock out;
    tape.read(row, column, std::span(&out, 1));
    return out;
  };
  OracleProposal<Number> proposal;
  const RandomBlock head = block(0);
  const std::size_t slot = head.first & 1023;
  proposal.is_negative = (head.first >> 10 & 1) != 0;
  proposal.coin = ldexp(Number(head.first >> 11), -53);
  proposal.place = ldexp(Number(head.second), -64);
  for (int row = 1; row <= kOracleRows; ++row) {
    const RandomBlock digits = block(static_cast<std::uint64_t>(row));
    proposal.coin += ldexp(Number(digits.first), -53 - 64 * row);
    proposal.place += ldexp(Number(digits.second), -64 - 64 * row);
  }
  proposal.left = ldexp(Number(oracle_lefts()[slot]), -32);
  if (slot + 1 < kOracleSlots) {
    proposal.width = ldexp(Number(oracle_lefts()[slot + 1] - oracle_lefts()[slot]), -32);
    return proposal;
  }
  proposal.width = 1;
  proposal.tail_factor = 2;
  for (std::uint64_t place = 0;; ++place) {
    const RandomBlock zeros = block((std::uint64_t{1} << 63) + place / 128);
    const std::uint64_t word = place / 64 % 2 == 0 ? zeros.first : zeros.second;
    if ((word >> place % 64 & 1) != 0) return proposal;
    proposal.left += 1;
    proposal.tail_factor *= 2;
  }
}

/// Throws if a decision hangs on digits that the oracle did not read; on a random tape one sample in 2^150 does.
inline std::vector<std::int64_t> oracle_samples(BlockSource& tape, double sigma, std::size_t count) {
  const Real too_close = ldexp(Real(1), -220);  // digits end at 2^-245; the largest x * sigma is below 2^50
  std::vector<std::int64_t> samples;
  for (std::uint64_t column = 0; samples.size() < count; ++column) {
    const OracleProposal<Real> proposal = oracle_proposal<Real>(tape, column);
    const Real margin = proposal.acceptance() - proposal.coin;
    if (abs(margin) < too_close) throw std::runtime_error("undecided coin");
    if (margin < 0) continue;
    const Real shifted = Real(sigma) * proposal.x() + Real(0.5);
    const Real whole = floor(shifted);
    if (whole + 1 - shifted < ldexp(too_close, 50)) throw std::runtime_error("undecided rounding");
    const auto magnitude = static_cast<std::int64_t>(whole);
    samples.push_back(proposal.is_negative ? -magnitude : magnitude);
  }
  return samples;
}

}  // namespace dpreduce::oracle
