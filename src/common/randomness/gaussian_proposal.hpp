// The decisions of the bulk sampler on one proposal, by arithmetic of any precision.
#pragma once

#include <cstdint>

#include "common/randomness/exact_rounding.hpp"
#include "common/randomness/gaussian_bins.hpp"
#include "common/randomness/random_stream.hpp"

namespace dpreduce {

// How a proposal stands on the tape. In row 0, its column holds
//
//     first    bits 0-9 the slot, bit 10 the sign, bits 11-63 the leading 53 binary digits of the coin V in [0, 1)
//     second   the leading 64 binary digits of the place U in [0, 1)
//
// Rows 1, 2, ... hold the next 64 digits of V and of U; rows 2^63, ... hold the tail level as a count of zeros.
inline constexpr std::uint64_t kTailRow = std::uint64_t{1} << 63;

inline std::uint64_t slot_of(const RandomBlock& block) {
  return block.first % kSlots;
}
inline bool is_negative(const RandomBlock& block) {
  return ((block.first >> kSlotBits) & 1) != 0;
}
inline std::uint64_t coin_of(const RandomBlock& block) {
  return block.first >> (64 - kCoinBits);
}

/// A proposal x = left + width * U with its coin V, of which more digits are read when a decision needs them.
class GaussianProposal {
 public:
  /// Throws EntropyFailure if the tail level passes 2^9.
  GaussianProposal(RandomStream& stream, std::uint64_t column, const RandomBlock& block);

  /// The entry of gaussian_bins(); its size for a tail level beyond the table.
  std::size_t entry() const { return entry_; }

  /// [V < A(x)]. Throws EntropyFailure after 16 rows without a decision.
  bool accepted();

  /// round(sigma * x). Throws as accepted.
  std::int64_t rounded(const ExactSigma& sigma);

  /// floor(2^fraction_bits sigma * x). Throws as accepted. Precondition: the result is below 2^62.
  std::int64_t floored(const ExactSigma& sigma, unsigned fraction_bits);

 private:
  IntegerBounds magnitude() const;
  unsigned magnitude_bits() const { return kPlaceBits + place_bits_; }
  void read_further_digits();

  RandomStream& stream_;
  std::uint64_t column_;
  std::size_t entry_;
  std::uint64_t left_;   // places; < 2^42
  std::uint64_t width_;  // places
  unsigned doublings_;
  BigInteger coin_;  // V is in [coin, coin + 1) / 2^coin_bits
  unsigned coin_bits_ = kCoinBits;
  BigInteger place_;  // U is in [place, place + 1) / 2^place_bits
  unsigned place_bits_ = 64;
  std::uint64_t row_ = 0;
};

}  // namespace dpreduce
