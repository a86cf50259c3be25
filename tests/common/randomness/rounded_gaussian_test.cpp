#include "common/randomness/rounded_gaussian.hpp"

#include <boost/multiprecision/cpp_bin_float.hpp>

#include "common/base/error.hpp"
#include "common/randomness/gaussian_bins.hpp"
#include "tests/common/randomness/tapes.hpp"
#include "tests/common/special_values.hpp"

namespace dpreduce::rounded_gaussian_test {

using namespace oracle;

// The bulk sampler once more, from its definition and with long reals: no table, no shortcut, no interval.

template <unsigned bits>
using RealOf =
    boost::multiprecision::number<boost::multiprecision::cpp_bin_float<bits, boost::multiprecision::digit_base_2>,
                                  boost::multiprecision::et_off>;

using Real = RealOf<320>;       // for samples
using LongReal = RealOf<1200>;  // for digits of one number over many rows

constexpr double kOracleDensity = 813;
constexpr std::size_t kOracleSlots = 1024;
constexpr int kOracleRows = 3;  // further rows of digits that the oracle reads

// left_0, ..., left_1023 = T in units of 2^-32: the widest strips with 813 * width * exp(-left^2/2) <= 1, width <= 1.
const std::vector<std::uint64_t>& oracle_lefts() {
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

RandomBlock block_at(BlockSource& tape, std::uint64_t row, std::uint64_t column) {
  RandomBlock block;
  tape.read(row, column, std::span(&block, 1));
  return block;
}

template <class Number>
OracleProposal<Number> oracle_proposal(BlockSource& tape, std::uint64_t column) {
  const auto block = [&](std::uint64_t row) { return block_at(tape, row, column); };
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

// Throws if a decision hangs on digits that the oracle did not read; on a random tape one sample in 2^150 does.
std::vector<std::int64_t> oracle_samples(BlockSource& tape, double sigma, std::size_t count) {
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

constexpr std::uint64_t kOne = std::uint64_t{1} << kPlaceBits;

// A(x) = kDensity * width * 2^doublings * exp(-x^2/2)
Real acceptance(const GaussianBin& bin, std::uint64_t at) {
  const Real x = ldexp(Real(at), -32);
  return ldexp(Real(kDensity * bin.width), static_cast<int>(bin.doublings) - 32) * exp(-x * x / 2);
}

TEST(GaussianBins, AreTheWidestStripsAndTheLevelsOfTheTail) {
  const GaussianBins& bins = gaussian_bins();
  for (std::uint64_t slot = 0; slot < kSlots; ++slot) EXPECT_EQ(bins[slot].left, oracle_lefts()[slot]);
  for (std::uint64_t strip = 0; strip < kStrips; ++strip) {
    EXPECT_EQ(bins[strip].left + bins[strip].width, bins[strip + 1].left);
    EXPECT_GT(bins[strip].width, 0u);
    EXPECT_LE(bins[strip].width, kOne);
    EXPECT_EQ(bins[strip].doublings, 0u);
  }
  for (std::uint64_t level = 0; level < kTabledTailLevels; ++level) {
    EXPECT_EQ(bins[kStrips + level].left, bins[kStrips].left + level * kOne);
    EXPECT_EQ(bins[kStrips + level].width, kOne);
    EXPECT_EQ(bins[kStrips + level].doublings, level + 1);
  }
}

// The one condition on which exactness rests.
TEST(GaussianBins, NoAcceptanceProbabilityExceedsOne) {
  for (const GaussianBin& bin : gaussian_bins()) EXPECT_LE(acceptance(bin, bin.left), 1);
  for (unsigned level = 0; level < 1000; ++level) {
    const Real left = ldexp(Real(gaussian_bins()[kStrips].left), -32) + level;
    EXPECT_LE(kDensity * ldexp(Real(1), static_cast<int>(level) + 1) * exp(-left * left / 2), 1);
  }
}

TEST(GaussianBins, TabledAcceptancesAreLowerBounds) {
  for (const GaussianBin& bin : gaussian_bins()) {
    const Real peak = ldexp(acceptance(bin, bin.left), static_cast<int>(kPeakBits));
    EXPECT_LE(Real(bin.peak), peak);
    EXPECT_GT(Real(bin.peak + 1), peak);
    const Real sure = ldexp(acceptance(bin, bin.left + bin.width), static_cast<int>(kCoinBits));
    EXPECT_LE(Real(bin.sure_accept), sure);
    EXPECT_GT(Real(bin.sure_accept + 1), sure);
  }
}

TEST(GaussianBins, SeriesTermsFitTheirFixedPoint) {
  for (const GaussianBin& bin : gaussian_bins()) {
    const Real left = ldexp(Real(bin.left), -32);
    const Real width = ldexp(Real(bin.width), -32);
    EXPECT_LT(acceptance(bin, bin.left) * exp(width * (left + width / 2)), 64) << "sum of the terms' magnitudes";
  }
}

// Written blocks where there are any, elsewhere those of seeded_tape(1).
using WrittenBlocks = std::map<std::pair<std::uint64_t, std::uint64_t>, RandomBlock>;

FunctionTape::Function written_tape(WrittenBlocks written) {
  auto background = std::make_shared<AesBlockSource>(seeded_tape(1));
  return [written = std::move(written), background](std::uint64_t row, std::uint64_t column) {
    const auto found = written.find({row, column});
    return found != written.end() ? found->second : block_at(*background, row, column);
  };
}

constexpr std::uint64_t kTail = 1023;
constexpr std::uint64_t kTailRow = std::uint64_t{1} << 63;

std::uint64_t head(std::uint64_t slot, bool is_negative, std::uint64_t coin) {
  return slot | std::uint64_t{is_negative} << 10 | coin << 11;
}

std::vector<std::int64_t> samples(RandomStream stream, double sigma, std::size_t count) {
  std::vector<std::int64_t> out(count);
  fill_rounded_gaussian(stream, sigma, out);
  return out;
}

// The blocks of seeded_tape(1), those of row 0 changed by a function of block and column.
FunctionTape::Function with_heads(const std::function<void(RandomBlock&, std::uint64_t)>& change) {
  return [background = written_tape({}), change](std::uint64_t row, std::uint64_t column) {
    RandomBlock block = background(row, column);
    if (row == 0) change(block, column);
    return block;
  };
}

void expect_equals_oracle(const FunctionTape::Function& function, double sigma, std::size_t count) {
  FunctionTape tape(function);
  EXPECT_EQ(samples(stream_of(function), sigma, count), oracle_samples(tape, sigma, count)) << "sigma = " << sigma;
}

const std::vector<double> kSigmas{0.5, 1.0, 1.7320508075688772, 10.0, 4096.0, 1048576.25, 0x1.23456789abcdep40, 0x1p45};

TEST(RoundedGaussian, EqualsTheOracleOnRandomTapes) {
  unsigned char seed = 10;
  for (const double sigma : kSigmas) {
    AesBlockSource tape = seeded_tape(++seed);
    EXPECT_EQ(samples(seeded_stream(seed), sigma, 5000), oracle_samples(tape, sigma, 5000)) << "sigma = " << sigma;
  }
}

// The same reals, told more finely.
TEST(RoundedGaussian, FractionsRoundToTheSamplesOfTheSameStream) {
  unsigned char seed = 40;
  for (const double sigma : {0.5, 1.7320508075688772, 4096.0, 0x1.23456789abcdep29}) {
    for (const unsigned fraction_bits : {1u, 24u}) {
      ++seed;
      const std::vector<std::int64_t> rounded = samples(seeded_stream(seed), sigma, 3000);
      std::vector<std::int64_t> floored(rounded.size());
      RandomStream stream = seeded_stream(seed);
      fill_floored_gaussian(stream, sigma, fraction_bits, floored);
      std::size_t odd = 0;
      for (std::size_t sample = 0; sample < rounded.size(); ++sample) {
        const std::int64_t half = std::int64_t{1} << (fraction_bits - 1);
        EXPECT_EQ((floored[sample] + half) >> fraction_bits, rounded[sample]) << sigma;
        odd += static_cast<std::size_t>(floored[sample] & 1);
      }
      // Half of them are odd where a bin is fine: 8 standard deviations.
      EXPECT_NEAR(static_cast<double>(odd), 1500.0, 8 * 27.4);
    }
  }
}

// 7 standard deviations.
TEST(RoundedGaussian, FractionsAreUniformWithinABinOfAWideGaussian) {
  std::vector<std::int64_t> floored(20000);
  RandomStream stream = seeded_stream(99);
  fill_floored_gaussian(stream, 1000.0, 4, floored);
  std::vector<int> found(16, 0);
  for (const std::int64_t sample : floored) ++found[static_cast<std::size_t>(sample & 15)];
  for (const int count : found) EXPECT_NEAR(count, 1250, 7 * 34.3);
}

// Every coin lies above sure_accept, so that the series decides each proposal.
TEST(RoundedGaussian, EqualsTheOracleWhereTheFirstWordDoesNotDecide) {
  const auto close = with_heads([](RandomBlock& block, std::uint64_t) {
    const GaussianBin& bin = gaussian_bins()[block.first % kSlots];
    const std::uint64_t range = (bin.peak >> (kPeakBits - kCoinBits)) + 2 - bin.sure_accept;
    block.first = head(block.first % kSlots, (block.first >> 10 & 1) != 0,
                       std::min(bin.sure_accept + (block.first >> 11) % range, (std::uint64_t{1} << 53) - 1));
  });
  for (const double sigma : kSigmas) expect_equals_oracle(close, sigma, 1000);
}

// The strips before the tail are wide, and every level of the tail has its own peak.
TEST(RoundedGaussian, EqualsTheOracleInTheTailAndTheWidestStrips) {
  for (const std::uint64_t slot : {std::uint64_t{0}, kTail - 3, kTail - 2, kTail - 1, kTail}) {
    const auto far = with_heads([slot](RandomBlock& block, std::uint64_t column) {
      block.first = head(slot, (block.first >> 10 & 1) != 0, block.first >> 11 >> column % 12);
    });
    for (const double sigma : kSigmas) expect_equals_oracle(far, sigma, 200);
  }
}

// Levels 0 to 40 with coins so small that they are accepted, and so the table's last level and those beyond it.
TEST(RoundedGaussian, EqualsTheOracleAtEveryTailLevel) {
  for (unsigned level = 0; level < 14; ++level) {
    WrittenBlocks blocks;
    blocks[{0, 0}] = {head(kTail, false, 0), 0x123456789abcdef0};
    blocks[{kTailRow, 0}] = {std::uint64_t{1} << level, 0};
    for (std::uint64_t row = 1; row <= 3; ++row) blocks[{row, 0}] = {0, 0x0123456789abcdef};
    for (const double sigma : kSigmas) expect_equals_oracle(written_tape(blocks), sigma, 3);
  }
}

TEST(RoundedGaussian, TailLevelCountsZerosOverWordsAndRows) {
  // At level 200, A is about exp(-20000): a coin of zeros for 16 rows is still above it or cannot be decided.
  WrittenBlocks blocks;
  blocks[{0, 0}] = {head(kTail, false, 0), 0};
  blocks[{kTailRow, 0}] = {0, 0};
  blocks[{kTailRow + 1, 0}] = {0, 256};
  for (std::uint64_t row = 1; row <= 16; ++row) blocks[{row, 0}] = {0, 0};
  EXPECT_THROW(samples(stream_of(written_tape(blocks)), 1.0, 1), EntropyFailure);
  blocks[{1, 0}] = {1, 0};  // now the coin is 2^-117, far above A: rejected, and the next column gives the sample
  blocks[{0, 1}] = {head(0, true, 0), 0};
  EXPECT_EQ(samples(stream_of(written_tape(blocks)), 1.0, 1), std::vector<std::int64_t>{0});
}

// floor(value * 2^(64 (rows + 1))) as the words of rows 0 to `rows`
std::vector<std::uint64_t> digits_of(LongReal value, std::size_t first_bits, std::size_t rows) {
  std::vector<std::uint64_t> words;
  for (std::size_t row = 0; row <= rows; ++row) {
    value = ldexp(value, row == 0 ? static_cast<int>(first_bits) : 64);
    const LongReal whole = floor(value);
    words.push_back(static_cast<std::uint64_t>(whole));
    value -= whole;
  }
  return words;
}

// A half that a proposal's sigma * x may be: where in the slot, and the integer below it.
struct Tie {
  LongReal place;
  std::int64_t below;
};

Tie tie_of(const WrittenBlocks& blocks, double sigma) {
  FunctionTape tape(written_tape(blocks));
  const auto proposal = oracle_proposal<LongReal>(tape, 0);
  const LongReal below = floor(LongReal(sigma) * (proposal.left + proposal.width / 2));
  return {((below + LongReal(0.5)) / LongReal(sigma) - proposal.left) / proposal.width,
          static_cast<std::int64_t>(below)};
}

// sigma * x agrees with a half in all digits of rows 0 to `rows` - 1 and differs in the last digit of row `rows`.
TEST(RoundedGaussian, RoundingNearATieReadsAsManyRowsAsItNeeds) {
  for (const double sigma : kSigmas) {
    if (sigma < 4096) continue;  // a strip shall contain a tie
    for (const std::uint64_t slot : {std::uint64_t{7}, std::uint64_t{500}, std::uint64_t{1000}, kTail}) {
      WrittenBlocks blocks;
      blocks[{0, 0}] = {head(slot, true, 0), 0};
      blocks[{kTailRow, 0}] = {4, 0};  // level 2
      const Tie tie = tie_of(blocks, sigma);
      for (std::size_t rows = 0; rows <= 6; ++rows) {
        const auto words = digits_of(tie.place, 64, rows);
        if (words[rows] == 0) continue;  // a binary fraction: the next test's
        for (const int side : {-1, 1}) {
          for (std::size_t row = 0; row <= rows; ++row) {
            const std::uint64_t nudge = row == rows ? static_cast<std::uint64_t>(side) : 0;
            const std::uint64_t coin = row == 0 ? head(slot, true, 0) : 0;
            blocks[{row, 0}] = {coin, words[row] + nudge};
          }
          const std::int64_t expected = side > 0 ? -(tie.below + 1) : -tie.below;
          EXPECT_EQ(samples(stream_of(written_tape(blocks)), sigma, 1)[0], expected)
              << "sigma = " << sigma << ", slot " << slot << ", rows " << rows << ", side " << side;
        }
      }
    }
  }
}

// In the tail at sigma = 2^k the tie is a binary fraction: x exactly on it rounds up, and with digits 0111...  x stays
// below it for ever, which the open end of the interval tells at once.
TEST(RoundedGaussian, TieThatIsABinaryFractionRoundsUp) {
  constexpr double kSigma = 0x1p45;
  WrittenBlocks blocks;
  blocks[{kTailRow, 0}] = {1, 0};
  const std::uint64_t left = gaussian_bins()[kTail].left;  // places of 2^-32: sigma * left = left * 2^13
  const std::uint64_t one_half = std::uint64_t{1} << (64 - 46);
  blocks[{0, 0}] = {head(kTail, false, 0), one_half};
  for (std::uint64_t row = 1; row <= 16; ++row) blocks[{row, 0}] = {0, 0};
  EXPECT_EQ(samples(stream_of(written_tape(blocks)), kSigma, 1)[0], static_cast<std::int64_t>(left << 13) + 1);
  blocks[{0, 0}].second = one_half - 1;
  for (std::uint64_t row = 1; row <= 16; ++row) blocks[{row, 0}] = {0, ~std::uint64_t{0}};
  EXPECT_EQ(samples(stream_of(written_tape(blocks)), kSigma, 1)[0], static_cast<std::int64_t>(left << 13));
}

// V agrees with A(x) in all digits of rows 0 to `rows` - 1 and differs by one unit in row `rows`.
TEST(RoundedGaussian, CoinNearItsProbabilityReadsAsManyRowsAsItNeeds) {
  constexpr double kSigma = 1048576.25;
  for (const std::uint64_t slot : {std::uint64_t{7}, std::uint64_t{500}, std::uint64_t{1000}, kTail - 1, kTail}) {
    WrittenBlocks blocks;
    for (std::uint64_t row = 0; row <= 17; ++row) blocks[{row, 0}] = {head(slot, false, 0), 0};
    blocks[{0, 0}].second = 0xfedcba9876543210;
    blocks[{kTailRow, 0}] = {2, 0};           // level 1
    blocks[{0, 1}] = {head(0, false, 0), 0};  // the sample 0, if column 0 is rejected
    FunctionTape plain(written_tape(blocks));
    const auto proposal = oracle_proposal<LongReal>(plain, 0);
    const auto accepted = static_cast<std::int64_t>(floor(LongReal(kSigma) * proposal.x() + LongReal(0.5)));
    for (std::size_t rows = 0; rows <= 15; ++rows) {
      const auto words = digits_of(proposal.acceptance(), 53, rows);
      for (const int side : {-1, 1}) {
        WrittenBlocks near = blocks;
        for (std::size_t row = 0; row <= rows; ++row) {
          const std::uint64_t word = words[row] + (row == rows ? static_cast<std::uint64_t>(side) : 0);
          near[{row, 0}].first = row == 0 ? head(slot, false, word) : word;
        }
        EXPECT_EQ(samples(stream_of(written_tape(near)), kSigma, 1)[0], side < 0 ? accepted : 0)
            << "slot " << slot << ", rows " << rows << ", side " << side;
      }
    }
  }
}

// V is A(x) to 53 digits, or one unit beside it, and goes on with zeros or with ones: a bound in the series that is
// wrong by an eighth of that unit decides some of them wrongly.
TEST(RoundedGaussian, EqualsTheOracleWhereTheCoinMeetsTheCurve) {
  const auto background = written_tape({});
  const auto meeting = [background](std::uint64_t row, std::uint64_t column) {
    RandomBlock block = background(row, column);
    const std::uint64_t slot = column * 37 % kSlots;
    if (row == 0) {
      FunctionTape moved([&](std::uint64_t of_row, std::uint64_t of_column) {
        RandomBlock other = background(of_row, of_column);
        if (of_row == 0) other.first = head(slot, false, 0);
        return other;
      });
      const Real acceptance = oracle_proposal<Real>(moved, column).acceptance();
      const std::uint64_t coin = static_cast<std::uint64_t>(floor(ldexp(acceptance, 53))) + column % 3 - 1;
      block.first = head(slot, false, std::min(coin, (std::uint64_t{1} << 53) - 1));
    } else if (row < kTailRow) {
      block.first = column % 2 == 0 ? 0 : ~std::uint64_t{0};
    }
    return block;
  };
  expect_equals_oracle(meeting, 0x1p40, 6000);
}

TEST(RoundedGaussian, DigitsThatNeverDecideAreFatal) {
  constexpr double kSigma = 4096.0;
  WrittenBlocks blocks;
  blocks[{0, 0}] = {head(500, false, 0), 0};
  const auto words = digits_of(tie_of(blocks, kSigma).place, 64, 17);
  for (std::uint64_t row = 0; row <= 17; ++row) blocks[{row, 0}] = {row == 0 ? head(500, false, 0) : 0, words[row]};
  EXPECT_THROW(samples(stream_of(written_tape(blocks)), kSigma, 1), EntropyFailure);
}

TEST(RoundedGaussian, StuckStreamAndItsEndAreFatal) {
  constexpr std::uint64_t kOnes = ~std::uint64_t{0};
  const auto ones = [](std::uint64_t, std::uint64_t) { return RandomBlock{kOnes, kOnes}; };
  EXPECT_THROW(samples(stream_of(ones), 1.0, 1), EntropyFailure) << "always the tail, always rejected";
  EXPECT_THROW(samples(stream_of(ones), 1.0, 5000), EntropyFailure);
  const auto endless_tail = [](std::uint64_t row, std::uint64_t) {
    return row == 0 ? RandomBlock{kTail, 0} : RandomBlock{0, 0};
  };
  EXPECT_THROW(samples(stream_of(endless_tail), 1.0, 1), EntropyFailure);
  RandomStream stream = seeded_stream(1);
  stream.skip_blocks(std::numeric_limits<std::uint64_t>::max() - 10);
  std::vector<std::int64_t> out(100);
  EXPECT_THROW(fill_rounded_gaussian(stream, 1.0, out), EntropyFailure);
}

TEST(RoundedGaussian, ZerosGiveZero) {
  const auto zeros = [](std::uint64_t, std::uint64_t) { return RandomBlock{0, 0}; };
  EXPECT_THAT(samples(stream_of(zeros), 0x1p45, 3), ElementsAre(0, 0, 0));
}

TEST(RoundedGaussian, SamplesDoNotDependOnHowTheyAreAskedFor) {
  const auto whole = samples(seeded_stream(9), 1e6, 10000);
  RandomStream stream = seeded_stream(9);
  fill_rounded_gaussian(stream, 1e6, {});
  std::vector<std::int64_t> parts(whole.size());
  std::size_t done = 0;
  for (std::size_t step = 1; done < parts.size(); step = 2 * step + 1) {
    const std::size_t count = std::min(step, parts.size() - done);
    fill_rounded_gaussian(stream, 1e6, std::span(parts).subspan(done, count));
    done += count;
  }
  EXPECT_EQ(parts, whole);
}

// A change of these numbers changes the noise that a restart replays.
TEST(RoundedGaussian, FirstSamplesOfAKnownStreamStay) {
  EXPECT_THAT(samples(seeded_stream(1), 1048576.0, 4), ElementsAre(449880, 1249285, -365651, 407933));
}

TEST(ExactSigma, IsTheDoubleItself) {
  for (const double sigma : {0.5, 0.7, 1.0, 1.5, 3.141592653589793, 0x1p20, 0x1.fffffffffffffp44, 0x1p45}) {
    const ExactSigma exact = exact_sigma(sigma);
    EXPECT_EQ(std::ldexp(static_cast<double>(exact.mantissa), -static_cast<int>(exact.scale_bits)), sigma);
    EXPECT_GE(exact.mantissa, std::uint64_t{1} << 52);
    EXPECT_LT(exact.mantissa, std::uint64_t{1} << 53);
  }
}

TEST(ExactSigma, OutOfRangeIsRefusedWithTheValueAndTheRange) {
  for (const double sigma : {0.0, 0.25, -1.0, std::nextafter(0.5, 0.0), std::nextafter(0x1p45, kInfinity), kInfinity,
                             -kInfinity, kNan, 5e-324}) {
    EXPECT_THROW(exact_sigma(sigma), UsageError) << sigma;
    EXPECT_THROW(samples(seeded_stream(1), sigma, 0), UsageError) << sigma;
  }
  expect_refusal<UsageError>([] { exact_sigma(0.25); }, {"sigma = 0.25", "0.5"});
}

std::optional<std::int64_t> round_product(const ExactSigma& sigma, const BigInteger& lower, const BigInteger& upper,
                                          unsigned scale_bits) {
  return floored_product(sigma, lower, upper, scale_bits, 0, true);
}

TEST(RoundProduct, DecidesOnlyWhenTheWholeIntervalRoundsAlike) {
  const ExactSigma one = exact_sigma(1.0);
  EXPECT_EQ(round_product(one, 0, 1, 1), 0) << "[0, 1/2)";
  EXPECT_EQ(round_product(one, 0, 1, 0), std::nullopt) << "[0, 1)";
  EXPECT_EQ(round_product(one, 1, 2, 1), 1) << "[1/2, 1)";
  EXPECT_EQ(round_product(one, 1, 3, 1), 1) << "[1/2, 3/2)";
  EXPECT_EQ(round_product(one, 4, 13, 3), std::nullopt) << "[1/2, 13/8)";
  EXPECT_EQ(round_product(one, 3, 5, 3), std::nullopt) << "[3/8, 5/8)";
}

TEST(RoundProduct, ScalesBySigmaWithoutRounding) {
  const double sigma = 1.0 + 0x1p-52;  // sigma * 3/2 is just above the half 3/2
  EXPECT_EQ(round_product(exact_sigma(sigma), BigInteger(3) << 99, (BigInteger(3) << 99) + 1, 100), 2);
  EXPECT_EQ(round_product(exact_sigma(1.0 - 0x1p-53), BigInteger(3) << 99, (BigInteger(3) << 99) + 1, 100), 1);
  EXPECT_EQ(round_product(exact_sigma(0x1p45), 12, 13, 0), std::nullopt);
  EXPECT_EQ(round_product(exact_sigma(0x1p45), BigInteger(12) << 60, (BigInteger(12) << 60) + 1, 60),
            std::int64_t{12} << 45);
}

TEST(RoundProduct, EmptyAndNegativeIntervalsAndResultsThatDoNotFitAreRefused) {
  EXPECT_THROW(round_product(exact_sigma(1.0), 5, 5, 0), std::logic_error);
  EXPECT_THROW(round_product(exact_sigma(1.0), -1, 5, 0), std::logic_error);
  const BigInteger large = BigInteger(1) << 64;
  EXPECT_THROW(round_product(exact_sigma(1.0), large << 8, (large << 8) + 1, 8), std::logic_error);
}

}  // namespace dpreduce::rounded_gaussian_test
