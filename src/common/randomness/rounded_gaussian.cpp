// Why the result is exact. The proposal and its acceptance (gaussian_bins.hpp) make accepted x exactly half normal; the
// sign is a fair bit; what remains is to decide V < A(x) and round(sigma * x) for the reals U and V whose digits stand
// on the tape (gaussian_proposal.hpp). Each of the three ways below of deciding is right whenever it answers:
//
//   1. one word of each, for 99 % of the proposals: V < sure_accept <= A(x) for every x of the strip, and sigma * x to
//      within the error bound of the leading 64 digits of U (ScaledBin);
//   2. series_verdict: the alternating series of exp, term by term until the coin is decided;
//   3. GaussianProposal: further digits, any precision.
//
// So the result is the one function of the tape that the reals define, whichever way finds it. All arithmetic is on
// integers: no rounding mode, compiler or mathematical library has a part in it.
#include "common/randomness/rounded_gaussian.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "common/base/error.hpp"
#include "common/randomness/gaussian_bins.hpp"
#include "common/randomness/gaussian_proposal.hpp"

namespace dpreduce {
namespace {

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
class ScaledBins {
 public:
  explicit ScaledBins(const ExactSigma& sigma) : fraction_bits_(sigma.scale_bits + 7) {
    const GaussianBins& bins = gaussian_bins();
    constexpr unsigned shift = kPlaceBits - 7;  // 2^F * (mantissa / 2^scale_bits) * (left / 2^kPlaceBits)
    for (std::size_t entry = 0; entry < bins.size(); ++entry) {
      const GaussianBin& bin = bins[entry];
      const std::uint64_t half = std::uint64_t{1} << (fraction_bits_ - 1);
      bins_[entry].sure_accept = entry < kStrips ? bin.sure_accept : 0;
      bins_[entry].offset = static_cast<std::uint64_t>((Wide{sigma.mantissa} * bin.left) >> shift) + half;
      bins_[entry].slope = static_cast<std::uint64_t>((Wide{sigma.mantissa} * bin.width) >> shift);
    }
  }

  const ScaledBin& operator[](std::size_t entry) const { return bins_[entry]; }
  std::size_t size() const { return bins_.size(); }
  unsigned fraction_bits() const { return fraction_bits_; }

 private:
  unsigned fraction_bits_;
  std::array<ScaledBin, std::tuple_size_v<GaussianBins>> bins_;
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

// [V < A(x)] as far as 53 digits of V and 64 of U tell.
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
  const bool is_tabled = proposal.entry() < scaled_bins.size();
  std::optional<bool> verdict;
  if (is_tabled) verdict = series_verdict(gaussian_bins()[proposal.entry()], coin_of(block), block.second);
  if (!verdict) verdict = proposal.accepted();
  if (!*verdict) return std::nullopt;
  if (is_tabled) {
    const Estimate estimate(scaled_bins[proposal.entry()], block.second, scaled_bins.fraction_bits());
    if (estimate.is_certain) return estimate.value;
  }
  return proposal.rounded(sigma);
}

}  // namespace

namespace {

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
    if (rejections > kMostRejections) {
      throw EntropyFailure("random stream repeats itself: its bytes are not random; nothing was released");
    }
  }
}

}  // namespace

void fill_rounded_gaussian(RandomStream& stream, double sigma, std::span<std::int64_t> out) {
  const ExactSigma exact = exact_sigma(sigma);
  const ScaledBins bins(exact);
  const unsigned fraction_bits = bins.fraction_bits();
  fill_from_proposals(stream, out, [&](std::uint64_t column, const RandomBlock& block, std::int64_t& sample) {
    const ScaledBin& bin = bins[slot_of(block)];
    const Estimate estimate(bin, block.second, fraction_bits);
    std::int64_t magnitude = estimate.value;
    if (coin_of(block) >= bin.sure_accept || !estimate.is_certain) [[unlikely]] {
      const auto settled = settle(stream, column, block, exact, bins);
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
    // Where y is not an integer, floor(-y) = -floor(y) - 1; a real y is one with probability zero.
    const std::int64_t magnitude = proposal.floored(exact, fraction_bits);
    sample = is_negative(block) ? -magnitude - 1 : magnitude;
    return true;
  });
}

}  // namespace dpreduce
