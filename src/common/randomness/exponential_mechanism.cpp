#include "common/randomness/exponential_mechanism.hpp"

#include <algorithm>
#include <cfenv>
#include <cfloat>
#include <cmath>
#include <optional>
#include <utility>

#include "common/base/error.hpp"

namespace dpreduce {

Multiplicities::Multiplicities(std::vector<BigInteger> counts) : counts_(std::move(counts)) {
  constexpr unsigned kMostExponent = (1u << 20) - 1;
  leading_.reserve(counts_.size());
  exponents_.reserve(counts_.size());
  for (const BigInteger& count : counts_) {
    DPREDUCE_ASSERT(count >= 0);
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

Multiplicities Multiplicities::of_subsets_by_worst(std::size_t candidates, std::size_t subset_size) {
  DPREDUCE_ASSERT(subset_size >= 1);
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

SelectionRate selection_rate(double epsilon, std::uint64_t sensitivity, ScoreChange change) {
  DPREDUCE_ASSERT(epsilon >= kSmallestSelectionEpsilon && epsilon <= kLargestSelectionEpsilon && sensitivity >= 1);
  // epsilon = odd * 2^exponent with odd < 2^53 and -112 <= exponent <= 20.
  int exponent = 0;
  auto odd = static_cast<std::uint64_t>(std::ldexp(std::frexp(epsilon, &exponent), 53));
  exponent -= 53;
  const int zeros = std::countr_zero(odd);
  odd >>= zeros;
  exponent += zeros;
  if (change == ScoreChange::kGeneral) --exponent;
  if (exponent >= 0) return {odd << exponent, sensitivity, 0};  // <= 2^20
  return {odd, sensitivity, static_cast<unsigned>(-exponent)};
}

static_assert(FLT_EVAL_METHOD == 0, "doubles must be rounded to doubles after each operation");

bool can_decide_by_doubles() {
  return std::fegetround() == FE_TONEAREST;
}

ExponentialDecay::ExponentialDecay(const SelectionRate& rate) {
  constexpr double kLog2E = 0x1.71547652b82fep0;
  DPREDUCE_ASSERT(rate.numerator >= 1 && rate.denominator >= 1 && rate.scale_bits <= kMostRateScaleBits);
  slope_ = std::ldexp(static_cast<double>(rate.numerator) / static_cast<double>(rate.denominator) * kLog2E,
                      -static_cast<int>(rate.scale_bits));
  numerator_ = rate.numerator;
  denominator_ = BigInteger(rate.denominator) << rate.scale_bits;
}

// With t = gamma d and T = floor(2^bits t) / 2^bits, exp(-T) - 2^-bits <= exp(-t) <= exp(-T), since exp(-.) has a slope
// of at most 1.
IntegerBounds ExponentialDecay::bounds(std::uint64_t distance, unsigned bits) const {
  const BigInteger scaled = ((numerator_ * distance) << bits) / denominator_;
  IntegerBounds bounds = exp_of_minus(scaled, bits, bits);
  if (distance != 0 && bounds.lower > 0) bounds.lower -= 1;
  return bounds;
}

// Two ways of finding S_i <= U S_n < S_{i+1}, each right whenever it answers:
//
//   1. quick_choice: sums of doubles with a proven bound on their error, and 53 digits of U;
//   2. exact_choice: sums of integer intervals, with ever more digits until one candidate remains.
//
// The first leaves it to the second if U S_n lies within about 2^-41 S_n of some S_i: for a million candidates once in
// some 2^19 selections at the worst. Both keep one sum a block of candidates and weigh one block again, so that their
// memory is n / 1024 sums.

namespace {

constexpr std::size_t kBlock = 1024;

// Candidates as both ways need them: distances u_max - u_i, and m_i, 1 where there are no multiplicities. Candidates
// with m_i = 0 do not count for u_max; their distances mean nothing and are multiplied by 0.
class Candidates {
 public:
  Candidates(std::span<const std::int64_t> utilities, const Multiplicities* multiplicities, const SelectionRate& rate)
      : decay_(rate), utilities_(utilities), multiplicities_(multiplicities) {
    DPREDUCE_ASSERT(multiplicities == nullptr || utilities.size() == multiplicities->size());
    bool is_empty = true;
    for (std::size_t candidate = 0; candidate < utilities.size(); ++candidate) {
      if (multiplicities != nullptr && (*multiplicities)[candidate] == 0) continue;
      best_ = is_empty ? utilities[candidate] : std::max(best_, utilities[candidate]);
      is_empty = false;
    }
    DPREDUCE_ASSERT(!is_empty);
  }
  std::size_t size() const { return utilities_.size(); }
  std::uint64_t distance(std::size_t candidate) const {
    return static_cast<std::uint64_t>(best_) - static_cast<std::uint64_t>(utilities_[candidate]);
  }
  const ExponentialDecay& decay() const { return decay_; }
  const Multiplicities* multiplicities() const { return multiplicities_; }
  unsigned most_exponent() const { return multiplicities_ == nullptr ? 0 : multiplicities_->most_exponent(); }
  // z_i.
  double halvings(std::size_t candidate) const {
    const double z = decay_.halvings(distance(candidate));
    return multiplicities_ == nullptr ? z : z - multiplicities_->exponent(candidate);
  }

 private:
  ExponentialDecay decay_;
  std::span<const std::int64_t> utilities_;
  const Multiplicities* multiplicities_;
  std::int64_t best_ = 0;
};

// The weights in units of 2^-z, z the least z_i = halvings(d_i) - exponent_i:
//
//     estimate_i = leading_i 2^-min(z_i - z, 100),      one of them >= 1
//
// u = 2^-53, E the largest exponent. z <= 0, since d = 0 occurs: where z_i - z <= 100, |z_i| <= 100 + E and
// halvings(d_i)
// <= 100 + E, so that z_i - z is known to 7u (100 + E) of the halvings and 2u (100 + E) of two subtractions. With
// 10u of the power, 2u of the leading digits and u of the product, the estimate is right to ln 2 * 9u (100 + E) + 13u <
// 8u (100 + E), relatively. Where z_i - z > 100, weight and estimate are both in [0, 2^-98]. A sum in any order of one
// block after the sums of b blocks has (1024 + b) u more, and up to n 2^-98 absolutely. That is
//
//     |estimate - truth| <= relative * truth + absolute        for every S_i and S_n;
//
// `relative` has (1024 + 64)u to spare, for second-order terms and for the few operations that compare.
class WeightEstimates {
 public:
  explicit WeightEstimates(const Candidates& candidates) : candidates_(candidates) {
    if (candidates.multiplicities() == nullptr) return;  // 0, that of the best candidate
    least_ = std::numeric_limits<double>::infinity();
    for (std::size_t candidate = 0; candidate < candidates.size(); ++candidate) {
      least_ = std::min(least_, candidates.halvings(candidate));
    }
  }

  // |out| weights from candidate `first` on. Several loops: of one, GCC 12 makes branches instead of vectors.
  void weigh(std::size_t first, std::span<double> out) const {
    const Multiplicities* const counts = candidates_.multiplicities();
    for (std::size_t place = 0; place < out.size(); ++place) out[place] = candidates_.halvings(first + place);
    for (double& z : out) {
      const double beyond = z - least_;
      z = beyond < kMostHalvings ? beyond : kMostHalvings;
    }
    for (std::size_t place = 0; place < out.size(); ++place) {
      const double power = power_of_half(out[place]);
      out[place] = counts == nullptr ? power : counts->leading(first + place) * power;
    }
  }

  double relative_error() const {
    const auto blocks = static_cast<double>(candidates_.size() / kBlock + 1);
    return kUnitRoundoff * (8 * (kMostHalvings + candidates_.most_exponent()) + 2 * kBlock + 64 + blocks);
  }
  double absolute_error() const { return static_cast<double>(candidates_.size()) * 0x1p-98; }

 private:
  const Candidates& candidates_;
  double least_ = 0;
};

double sum(std::span<const double> weights) {
  std::array<double, 8> lanes{};  // for speed; any order will do
  std::size_t place = 0;
  for (; place + lanes.size() <= weights.size(); place += lanes.size()) {
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) lanes[lane] += weights[place + lane];
  }
  double total = 0;
  for (; place < weights.size(); ++place) total += weights[place];
  for (const double lane : lanes) total += lane;
  return total;
}

// The choice, if the leading 53 digits of U and sums of doubles are sure of it.
std::optional<std::size_t> quick_choice(const Candidates& candidates, std::uint64_t leading_digits) {
  const WeightEstimates estimates(candidates);
  const double relative = estimates.relative_error();
  const double absolute = estimates.absolute_error();
  if (!can_decide_by_doubles() || relative > 0x1p-20) return std::nullopt;

  std::array<double, kBlock> memory;
  const auto weigh_block = [&](std::size_t first) {
    const auto weights = std::span(memory).first(std::min(kBlock, candidates.size() - first));
    estimates.weigh(first, weights);
    return weights;
  };
  std::vector<double> sums_before;
  double total = 0;
  for (std::size_t first = 0; first < candidates.size(); first += kBlock) {
    sums_before.push_back(total);
    total += sum(weigh_block(first));
  }

  // target_lower <= U S_n < target_upper
  const auto digits = static_cast<double>(leading_digits >> 11);
  const double target_lower = digits * 0x1p-53 * (total * (1 - 2 * relative) - absolute);
  const double target_upper = (digits + 1) * 0x1p-53 * (total * (1 + 2 * relative) + absolute);

  // The only block that can be sure of U is the last one that begins below it. The first sum is 0.
  const auto after = std::upper_bound(sums_before.begin(), sums_before.end(), target_lower);
  const auto block = static_cast<std::size_t>(after - sums_before.begin()) - 1;
  double before = sums_before[block];
  const auto weights = weigh_block(block * kBlock);
  for (std::size_t place = 0; place < weights.size(); ++place) {
    const double through = before + weights[place];
    if (through * (1 - 2 * relative) - absolute >= target_upper) {
      if (before * (1 + 2 * relative) + absolute > target_lower) return std::nullopt;
      return block * kBlock + place;
    }
    before = through;
  }
  return std::nullopt;
}

// U in [digits, digits + 1) / 2^bits.
struct UniformDigits {
  BigInteger digits = 0;
  unsigned bits = 0;

  void append(const RandomBlock& block) {
    digits = (((digits << 64) + block.first) << 64) + block.second;
    bits += 128;
  }
};

// The choice, if `uniform` and weights to 2^-precision are sure of it.
//
// With q = uniform.bits, a = uniform.digits and A <= 2^precision S <= B for each sum, candidate i is certain when
// 2^q B_i <= a A_n and (a + 1) B_n <= 2^q A_{i+1}. The last candidate needs only the first, as U < 1.
std::optional<std::size_t> certain_choice(const Candidates& candidates, const UniformDigits& uniform,
                                          unsigned precision) {
  const ExponentialDecay& decay = candidates.decay();
  auto add_weight = [&, known_distance = std::uint64_t{0}, known = decay.bounds(0, precision)](
                        IntegerBounds& sum, std::size_t candidate) mutable {
    const std::uint64_t distance = candidates.distance(candidate);
    if (distance != known_distance) known = decay.bounds(known_distance = distance, precision);
    const Multiplicities* const counts = candidates.multiplicities();
    sum.lower += counts == nullptr ? known.lower : known.lower * (*counts)[candidate];
    sum.upper += counts == nullptr ? known.upper : known.upper * (*counts)[candidate];
  };
  std::vector<IntegerBounds> sums_before;
  IntegerBounds total{0, 0};
  for (std::size_t candidate = 0; candidate < candidates.size(); ++candidate) {
    if (candidate % kBlock == 0) sums_before.push_back(total);
    add_weight(total, candidate);
  }

  const BigInteger target_lower = uniform.digits * total.lower;
  const BigInteger target_upper = uniform.digits * total.upper + total.upper;
  const auto begins_below = [&](const IntegerBounds& before) { return (before.upper << uniform.bits) <= target_lower; };
  const auto after = std::partition_point(sums_before.begin(), sums_before.end(), begins_below);
  const auto block = static_cast<std::size_t>(after - sums_before.begin()) - 1;  // the first sum is 0
  IntegerBounds before = sums_before[block];
  const std::size_t end = std::min(candidates.size(), (block + 1) * kBlock);
  for (std::size_t candidate = block * kBlock; candidate < end && begins_below(before); ++candidate) {
    add_weight(before, candidate);
    const bool is_last = candidate + 1 == candidates.size();
    if (is_last || target_upper <= (before.lower << uniform.bits)) return candidate;
  }
  return std::nullopt;
}

// Weights are known to 64 digits more than U, the largest m_i and the number of candidates have not counted: what
// stays undecided is for want of digits of U, of which there are twice as many each time. Throws EntropyFailure once
// there are 2^12: `leading` and the rows below it in the same column.
std::size_t exact_choice(const Candidates& candidates, RandomStream& stream, std::uint64_t column,
                         const RandomBlock& leading) {
  constexpr std::uint64_t kMostRows = 32;
  UniformDigits uniform;
  uniform.append(leading);
  for (std::uint64_t row = 1;;) {
    const unsigned precision = uniform.bits + candidates.most_exponent() + 64;
    if (const auto choice = certain_choice(candidates, uniform, precision)) return *choice;
    if (row >= kMostRows) {
      throw EntropyFailure("random digits of a private selection repeat: they are not random; nothing was selected");
    }
    for (const std::uint64_t end = 2 * row; row < end; ++row) uniform.append(stream.further_digits(row, column));
  }
}

}  // namespace

std::size_t select_exponential(RandomStream& stream, std::span<const std::int64_t> utilities, const SelectionRate& rate,
                               const Multiplicities* multiplicities) {
  const Candidates candidates(utilities, multiplicities, rate);
  SecretVector<RandomBlock> leading(1);
  const std::uint64_t column = stream.take_blocks(leading);
  if (const auto choice = quick_choice(candidates, leading[0].first)) return *choice;
  return exact_choice(candidates, stream, column, leading[0]);
}

}  // namespace dpreduce
