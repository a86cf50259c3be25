#include "common/randomness/gaussian_proposal.hpp"

#include <algorithm>
#include <bit>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr std::uint64_t kMostFurtherRows =
    16;  // 1024 further digits of each: nothing random is undecided for that long

// m with probability 2^-(m+1): the number of zeros before the first one.
unsigned tail_level(RandomStream& stream, std::uint64_t column) {
  unsigned zeros = 0;
  for (std::uint64_t row = kTailRow; row < kTailRow + 4; ++row) {
    const RandomBlock block = stream.further_digits(row, column);
    for (const std::uint64_t word : {block.first, block.second}) {
      zeros += static_cast<unsigned>(std::countr_zero(word));
      if (word != 0) return zeros;
    }
  }
  throw_not_random();
}

}  // namespace

GaussianProposal::GaussianProposal(RandomStream& stream, std::uint64_t column, const RandomBlock& block)
    : stream_(stream), column_(column), coin_(coin_of(block)), place_(block.second) {
  const GaussianBins& bins = gaussian_bins();
  const std::uint64_t slot = slot_of(block);
  const unsigned level = slot < kStrips ? 0 : tail_level(stream, column);
  entry_ = std::min<std::size_t>(slot + level, bins.size());
  left_ = bins[slot].left + (std::uint64_t{level} << kPlaceBits);
  width_ = bins[slot].width;
  doublings_ = bins[slot].doublings + level;
}

// With exp(-x^2/2) between E.lower and E.upper (in 2^-bits) over all x that are left, A = kDensity * width *
// 2^doublings
// * exp(-x^2/2) lies between the same multiples of them, in units of 2^-(bits + kPlaceBits).
bool GaussianProposal::accepted() {
  for (;; read_further_digits()) {
    const IntegerBounds x = magnitude();
    const unsigned square_bits = 2 * magnitude_bits() + 1;
    const unsigned bits = coin_bits_ + doublings_ + 64;
    const BigInteger factor = BigInteger(kDensity * width_) << doublings_;
    const BigInteger least = factor * exp_of_minus(x.upper * x.upper, square_bits, bits).lower;
    const BigInteger most = factor * exp_of_minus(x.lower * x.lower, square_bits, bits).upper;
    const unsigned coin_shift = bits + kPlaceBits - coin_bits_;
    if (((coin_ + 1) << coin_shift) <= least) return true;
    if ((coin_ << coin_shift) >= most) return false;
  }
}

std::int64_t GaussianProposal::rounded(const ExactSigma& sigma) {
  for (;; read_further_digits()) {
    const IntegerBounds x = magnitude();
    if (const auto value = round_product(sigma, x.lower, x.upper, magnitude_bits())) return *value;
  }
}

std::int64_t GaussianProposal::floored(const ExactSigma& sigma, unsigned fraction_bits) {
  for (;; read_further_digits()) {
    const IntegerBounds x = magnitude();
    if (const auto value = floor_product(sigma, x.lower, x.upper, magnitude_bits(), fraction_bits)) return *value;
  }
}

// x = left + width * U is in [lower, upper) / 2^magnitude_bits.
IntegerBounds GaussianProposal::magnitude() const {
  const BigInteger lower = (BigInteger(left_) << place_bits_) + width_ * place_;
  return {lower, lower + width_};
}

void GaussianProposal::read_further_digits() {
  if (++row_ > kMostFurtherRows) throw_not_random();
  const RandomBlock digits = stream_.further_digits(row_, column_);
  coin_ = (coin_ << 64) + digits.first;
  coin_bits_ += 64;
  place_ = (place_ << 64) + digits.second;
  place_bits_ += 64;
}

}  // namespace dpreduce
