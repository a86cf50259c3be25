#include "common/randomness/rounded_gaussian.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "common/base/error.hpp"
#include "common/randomness/gaussian_bins.hpp"

namespace dpreduce {

ExactSigma exact_sigma(double sigma) {
  if (!(sigma >= kSmallestSigma && sigma <= kLargestSigma)) {
    throw UsageError("sigma = {} of the rounded Gaussian is not in [{}, {}]: choose another scale of the lattice",
                     sigma, kSmallestSigma, kLargestSigma);
  }
  int exponent = 0;
  const double fraction = std::frexp(sigma, &exponent);  // in [1/2, 1), exact; exponent <= 46
  return {static_cast<std::uint64_t>(std::ldexp(fraction, 53)), static_cast<unsigned>(53 - exponent)};
}

// The floor for the smallest y, and, as y stays below its upper end, ceil(upper end) - 1 for the largest: with upper
// end Y / 2^places this is floor((Y - 1) / 2^places).
std::optional<std::int64_t> floored_product(const ExactSigma& sigma, const BigInteger& lower, const BigInteger& upper,
                                            unsigned scale_bits, unsigned fraction_bits, bool plus_half) {
  DPREDUCE_ASSERT(0 <= lower && lower < upper);
  const unsigned places = sigma.scale_bits + scale_bits;
  const BigInteger half = BigInteger(plus_half ? 1 : 0) << (places - 1);
  const BigInteger smallest = (((sigma.mantissa * lower) << fraction_bits) + half) >> places;
  if (smallest != (((sigma.mantissa * upper) << fraction_bits) + half - 1) >> places) return std::nullopt;
  DPREDUCE_ASSERT(smallest < (BigInteger(1) << 62));
  return static_cast<std::int64_t>(smallest);
}

namespace {

// Layout of a proposal on the tape. In row 0, its column holds
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

// 1024 further digits of each: nothing random is undecided for that long.
constexpr std::uint64_t kMostFurtherRows = 16;

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

/// A proposal x = left + width * U with its coin V, of which more digits are read when a decision needs them.
class GaussianProposal {
 public:
  /// Throws EntropyFailure if the tail level passes 2^9.
  GaussianProposal(RandomStream& stream, std::uint64_t column, const RandomBlock& block)
      : stream_(stream), column_(column), coin_(coin_of(block)), place_(block.second) {
    const GaussianBins& bins = gaussian_bins();
    const std::uint64_t slot = slot_of(block);
    const unsigned level = slot < kStrips ? 0 : tail_level(stream, column);
    entry_ = std::min<std::size_t>(slot + level, bins.size());
    left_ = bins[slot].left + (std::uint64_t{level} << kPlaceBits);
    width_ = bins[slot].width;
    doublings_ = bins[slot].doublings + level;
  }

  /// The entry of gaussian_bins(); its size for a tail level beyond the table.
  std::size_t entry() const { return entry_; }

  /// [V < A(x)]. Throws EntropyFailure after 16 rows without a decision.
  ///
  /// With exp(-x^2/2) between E.lower and E.upper (in 2^-bits) over all x that are left, A = kDensity * width *
  /// 2^doublings * exp(-x^2/2) lies between the same multiples of them, in units of 2^-(bits + kPlaceBits).
  bool accepted() {
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

  /// floored_product of x. Throws as accepted.
  std::int64_t floored(const ExactSigma& sigma, unsigned fraction_bits, bool plus_half) {
    for (;; read_further_digits()) {
      const IntegerBounds x = magnitude();
      const auto value = floored_product(sigma, x.lower, x.upper, magnitude_bits(), fraction_bits, plus_half);
      if (value) return *value;
    }
  }

 private:
  // x = left + width * U is in [lower, upper) / 2^magnitude_bits.
  IntegerBounds magnitude() const {
    const BigInteger lower = (BigInteger(left_) << place_bits_) + width_ * place_;
    return {lower, lower + width_};
  }
  unsigned magnitude_bits() const { return kPlaceBits + place_bits_; }

  void read_further_digits() {
    if (++row_ > kMostFurtherRows) throw_not_random();
    const RandomBlock digits = stream_.further_digits(row_, column_);
    coin_ = (coin_ << 64) + digits.first;
    coin_bits_ += 64;
    place_ = (place_ << 64) + digits.second;
    place_bits_ += 64;
  }

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

__extension__ using Wide = unsigned __int128;

constexpr std::uint64_t high_half(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>((Wide{a} * b) >> 64);
}

// sigma * x + 1/2 for x in a bin, in fixed point with `fraction_bits` = F binary places:
//
//     estimate = offset + floor(slope * u / 2^64)
//     offset   = floor(2^F (sigma * left + 1/2))
//     slope    = floor(2^F sigma * width)
//
// lies at most kSlack below the truth and never above it. offset and slope each lose less than 1, the product less than
// 1 by its floor, and the digits of U that were not read less than slope / 2^64 <= 1/16: together less than 4.
struct ScaledBin {
  std::uint64_t sure_accept;  // 0 in the tail, which has to look up its level first
  std::uint64_t offset;
  std::uint64_t slope;
};
constexpr std::uint64_t kSlack = 4;

// With sigma = mantissa / 2^scale_bits, mantissa < 2^53 and x < 15, F = scale_bits + 7 is the largest F for which
// estimate + kSlack < 2^64 always. As sigma <= 2^45, F >= 14: at most one proposal in 2^12 is uncertain.
struct ScaledBins {
  explicit ScaledBins(const ExactSigma& sigma) : fraction_bits(sigma.scale_bits + 7) {
    const GaussianBins& exact_bins = gaussian_bins();
    constexpr unsigned shift = kPlaceBits - 7;  // 2^F * (mantissa / 2^scale_bits) * (left / 2^kPlaceBits)
    for (std::size_t entry = 0; entry < bins.size(); ++entry) {
      const GaussianBin& bin = exact_bins[entry];
      const std::uint64_t half = std::uint64_t{1} << (fraction_bits - 1);
      bins[entry].sure_accept = entry < kStrips ? bin.sure_accept : 0;
      bins[entry].offset = static_cast<std::uint64_t>((Wide{sigma.mantissa} * bin.left) >> shift) + half;
      bins[entry].slope = static_cast<std::uint64_t>((Wide{sigma.mantissa} * bin.width) >> shift);
    }
  }

  unsigned fraction_bits;
  std::array<ScaledBin, std::tuple_size_v<GaussianBins>> bins;
};

// floor(sigma * x + 1/2), unless an integer lies between the estimate and the estimate + kSlack.
struct Estimate {
  Estimate(const ScaledBin& bin, std::uint64_t place, unsigned fraction_bits) {
    const std::uint64_t one = std::uint64_t{1} << fraction_bits;
    const std::uint64_t estimate = bin.offset + high_half(bin.slope, place);
    value = static_cast<std::int64_t>(estimate >> fraction_bits);
    is_certain = (estimate & (one - 1)) <= one - kSlack;
  }
  std::int64_t value;
  bool is_certain;
};

// [V < A(x)] as far as 53 digits of V and 64 of U decide.
//
// With delta = (x^2 - left^2) / 2 = width U (left + width U / 2), A(x) = A(left) exp(-delta), and for every delta >= 0
// the partial sums of A(left) (1 - delta + delta^2/2 - ...) lie above the truth after an added term and below it after
// a subtracted one. Numbers are in 2^-56 units with a lower and an upper bound each. Terms stay below 2^6: in the last
// strip A(left) <= 0.6 and delta <= 4.3, and at tail level m A(left) exp(left + 1/2) <= 4.
std::optional<bool> series_verdict(const GaussianBin& bin, std::uint64_t coin, std::uint64_t place) {
  constexpr int kMostTerms = 48;
  // width U in 2^-60 and left + width U / 2 in 2^-58: at least these, and less than 2 more.
  const auto step = static_cast<std::uint64_t>((Wide{bin.width} * place) >> (kPlaceBits + 64 - 60));
  const std::uint64_t middle = (bin.left << (58 - kPlaceBits)) + (step >> 3);
  const auto delta_lower = static_cast<std::uint64_t>((Wide{step} * middle) >> (60 + 58 - kPeakBits));
  const auto delta_upper = static_cast<std::uint64_t>((Wide{step + 2} * (middle + 2)) >> (60 + 58 - kPeakBits)) + 1;

  const auto coin_lower = static_cast<std::int64_t>(coin << (kPeakBits - kCoinBits));
  const auto coin_upper = static_cast<std::int64_t>((coin + 1) << (kPeakBits - kCoinBits));
  std::uint64_t term_lower = bin.peak;
  std::uint64_t term_upper = bin.peak + 1;
  std::int64_t sum_lower = 0;
  std::int64_t sum_upper = 0;
  for (std::uint64_t order = 0; order < kMostTerms; ++order) {
    if (order % 2 == 0) {
      sum_lower += static_cast<std::int64_t>(term_lower);
      sum_upper += static_cast<std::int64_t>(term_upper);
      if (coin_lower >= sum_upper) return false;
    } else {
      sum_lower -= static_cast<std::int64_t>(term_upper);
      sum_upper -= static_cast<std::int64_t>(term_lower);
      if (coin_upper <= sum_lower) return true;
    }
    term_lower = static_cast<std::uint64_t>((Wide{term_lower} * delta_lower) >> kPeakBits) / (order + 1);
    term_upper = static_cast<std::uint64_t>((Wide{term_upper} * delta_upper) >> kPeakBits) / (order + 1) + 1;
  }
  return std::nullopt;
}

// Ways 2 and 3: round(sigma |X|) if the proposal is accepted, else nothing. Not inlined: one proposal in a hundred.
[[gnu::noinline]] std::optional<std::int64_t> settle(RandomStream& stream, std::uint64_t column,
                                                     const RandomBlock& block, const ExactSigma& sigma,
                                                     const ScaledBins& scaled_bins) {
  GaussianProposal proposal(stream, column, block);
  const bool is_tabled = proposal.entry() < scaled_bins.bins.size();
  std::optional<bool> verdict;
  if (is_tabled) verdict = series_verdict(gaussian_bins()[proposal.entry()], coin_of(block), block.second);
  if (!verdict) verdict = proposal.accepted();
  if (!*verdict) return std::nullopt;
  if (is_tabled) {
    const Estimate estimate(scaled_bins.bins[proposal.entry()], block.second, scaled_bins.fraction_bits);
    if (estimate.is_certain) return estimate.value;
  }
  return proposal.floored(sigma, 0, true);
}

constexpr std::size_t kChunkBlocks = 2048;    // 32 KiB
constexpr std::size_t kMostRejections = 128;  // in a row: each has probability below 0.005

// Fills `out`: take(column, block, sample) is the sample of a proposal, or false.
template <typename Take>
void fill_from_proposals(RandomStream& stream, std::span<std::int64_t> out, const Take& take) {
  SecretVector<RandomBlock> chunk(std::min(out.size(), kChunkBlocks));
  // A proposal yields one sample or none: as many proposals as samples are missing never yield too many.
  std::size_t rejections = 0;
  for (std::size_t done = 0; done < out.size();) {
    const std::size_t done_before = done;
    const auto proposals = std::span(chunk).first(std::min(chunk.size(), out.size() - done));
    std::uint64_t column = stream.take_blocks(proposals);
    for (const RandomBlock& block : proposals) {
      if (take(column, block, out[done])) ++done;
      ++column;
    }
    rejections = done > done_before ? 0 : rejections + proposals.size();
    if (rejections > kMostRejections) throw_not_random();
  }
}

}  // namespace

void fill_rounded_gaussian(RandomStream& stream, double sigma, std::span<std::int64_t> out) {
  const ExactSigma exact = exact_sigma(sigma);
  const ScaledBins scaled_bins(exact);
  const unsigned fraction_bits = scaled_bins.fraction_bits;
  fill_from_proposals(stream, out, [&](std::uint64_t column, const RandomBlock& block, std::int64_t& sample) {
    const ScaledBin& bin = scaled_bins.bins[slot_of(block)];
    const Estimate estimate(bin, block.second, fraction_bits);
    std::int64_t magnitude = estimate.value;
    if (coin_of(block) >= bin.sure_accept || !estimate.is_certain) [[unlikely]] {
      const auto settled = settle(stream, column, block, exact, scaled_bins);
      if (!settled) return false;
      magnitude = *settled;
    }
    sample = is_negative(block) ? -magnitude : magnitude;
    return true;
  });
}

void fill_floored_gaussian(RandomStream& stream, double sigma, unsigned fraction_bits, std::span<std::int64_t> out) {
  DPREDUCE_ASSERT(fraction_bits >= 1 && fraction_bits <= 30);
  const ExactSigma exact = exact_sigma(sigma);
  DPREDUCE_ASSERT(sigma * static_cast<double>(std::uint64_t{1} << fraction_bits) < 0x1p55);
  fill_from_proposals(stream, out, [&](std::uint64_t column, const RandomBlock& block, std::int64_t& sample) {
    GaussianProposal proposal(stream, column, block);
    if (!proposal.accepted()) return false;
    // If y is not an integer, floor(-y) = -floor(y) - 1; a real y is an integer with probability zero.
    const std::int64_t magnitude = proposal.floored(exact, fraction_bits, false);
    sample = is_negative(block) ? -magnitude - 1 : magnitude;
    return true;
  });
}

}  // namespace dpreduce
