#include "common/randomness/exponential_mechanism.hpp"

#include <cfenv>

#include <boost/multiprecision/cpp_bin_float.hpp>

#include "common/base/error.hpp"
#include "common/randomness/certified_exp.hpp"
#include "tests/common/randomness/tapes.hpp"

namespace dpreduce::exponential_mechanism_test {

using namespace oracle;

using Utilities = std::vector<std::int64_t>;
constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
constexpr auto kMost = std::numeric_limits<std::int64_t>::max();

// Private selection once more, from its definition and with reals of 300 digits: no interval, no fallback.

using Real = boost::multiprecision::number<boost::multiprecision::cpp_bin_float<300>, boost::multiprecision::et_off>;

// W_i; empty multiplicities stand for ones. Equal decays are computed once.
std::vector<Real> oracle_weights(std::span<const std::int64_t> utilities, std::span<const BigInteger> multiplicities,
                                 const SelectionRate& rate) {
  const Real gamma = ldexp(Real(rate.numerator) / Real(rate.denominator), -static_cast<int>(rate.scale_bits));
  const std::int64_t best = *std::max_element(utilities.begin(), utilities.end());
  std::map<std::int64_t, Real> decays;
  std::vector<Real> weights;
  for (const std::int64_t utility : utilities) {
    if (!decays.contains(utility)) decays.emplace(utility, exp(-gamma * (Real(best) - Real(utility))));
    weights.push_back(decays.at(utility));
  }
  for (std::size_t candidate = 0; candidate < multiplicities.size(); ++candidate) {
    weights[candidate] *= Real(multiplicities[candidate]);
  }
  return weights;
}

// S_1, ..., S_n
std::vector<Real> oracle_sums(std::vector<Real> weights) {
  std::partial_sum(weights.begin(), weights.end(), weights.begin());
  return weights;
}

// i with S_i <= U S_n < S_{i+1}. Throws if U, of which 6 rows are read, is too near to a boundary.
std::size_t oracle_selection(BlockSource& tape, std::uint64_t column, const std::vector<Real>& weights) {
  const std::vector<Real> sums = oracle_sums(weights);
  Real uniform = 0;
  for (int row = 0; row < 6; ++row) {
    RandomBlock block;
    tape.read(static_cast<std::uint64_t>(row), column, std::span(&block, 1));
    uniform += ldexp(Real(block.first), -128 * row - 64) + ldexp(Real(block.second), -128 * row - 128);
  }
  const Real target = uniform * sums.back();
  for (std::size_t candidate = 0; candidate < weights.size(); ++candidate) {
    if (abs(sums[candidate] - target) < sums.back() * ldexp(Real(1), -700))
      throw std::runtime_error("undecided choice");
    if (target < sums[candidate]) return candidate;
  }
  throw std::runtime_error("U is not below 1");
}

// U = floor(2^4096 uniform) / 2^4096, of a BigInteger `digits` < 2^4096, in column 0
RandomStream stream_of_digits(BigInteger digits) {
  return stream_of([digits = std::move(digits)](std::uint64_t row, std::uint64_t column) {
    if (column != 0 || row >= 32) return RandomBlock{};
    const BigInteger mask = (BigInteger(1) << 64) - 1;
    const auto shift = static_cast<unsigned>(4096 - 128 * (row + 1));
    return RandomBlock{static_cast<std::uint64_t>((digits >> (shift + 64)) & mask),
                       static_cast<std::uint64_t>((digits >> shift) & mask)};
  });
}

// U = floor(2^4096 uniform) / 2^4096, of a real uniform < 1
BigInteger digits_of(const Real& uniform) {
  return BigInteger(ldexp(uniform, 4096));
}

// Choice of a selection that integers alone decide, as they do where doubles are not rounded to nearest.
std::size_t by_integers(const std::function<std::size_t()>& select) {
  EXPECT_EQ(std::fesetround(FE_UPWARD), 0);
  const std::size_t choice = select();
  EXPECT_EQ(std::fesetround(FE_TONEAREST), 0);
  return choice;
}

using Select = std::function<std::size_t(RandomStream&)>;

std::size_t both_ways(const BigInteger& digits, const Select& select) {
  RandomStream stream = stream_of_digits(digits);
  const std::size_t choice = select(stream);
  RandomStream again = stream_of_digits(digits);
  EXPECT_EQ(by_integers([&] { return select(again); }), choice);
  return choice;
}
std::size_t both_ways(const BigInteger& digits, const Utilities& utilities, const SelectionRate& rate) {
  return both_ways(digits, [&](RandomStream& stream) { return select_exponential(stream, utilities, rate); });
}

// As the oracle chooses in so many columns of a tape; in the first by integers alone, too.
void expect_oracle(unsigned char seed, std::uint64_t columns, const std::vector<Real>& weights, const Select& select) {
  AesBlockSource tape = seeded_tape(seed);
  RandomStream stream = seeded_stream(seed);
  RandomStream integer_stream = seeded_stream(seed);
  for (std::uint64_t column = 0; column < columns; ++column) {
    const std::size_t truth = oracle_selection(tape, column, weights);
    EXPECT_EQ(select(stream), truth);
    if (column > 0) continue;
    EXPECT_EQ(by_integers([&] { return select(integer_stream); }), truth);
  }
}

struct Case {
  Utilities utilities;
  SelectionRate rate;
};

std::vector<Case> random_cases() {
  std::mt19937_64 random(1);
  std::vector<Case> cases;
  for (const std::size_t count : {1u, 2u, 3u, 17u, 300u, 1023u, 1024u, 1025u, 2500u}) {
    for (const std::uint64_t spread : {1u, 5u, 1000u}) {
      Utilities utilities(count);
      for (auto& utility : utilities) utility = static_cast<std::int64_t>(random() % (spread + 1)) - 500;
      cases.push_back({utilities, {3, 10, 0}});
      cases.push_back({utilities, {1, 3 * spread, 0}});
      cases.push_back({utilities, selection_rate(0.1, 32767, ScoreChange::kGeneral)});
    }
  }
  return cases;
}

TEST(SelectExponential, ChoosesWithTheOracleBothWays) {
  for (const Case& that : random_cases()) {
    expect_oracle(7, 10, oracle_weights(that.utilities, {}, that.rate),
                  [&](RandomStream& stream) { return select_exponential(stream, that.utilities, that.rate); });
  }
}

TEST(SelectExponential, ChoosesWithTheOracleManyTimes) {
  const Utilities utilities{0, 3, -2, 7, 7, 1, -40, 5};
  const SelectionRate rate{2, 7, 0};
  expect_oracle(8, 5000, oracle_weights(utilities, {}, rate),
                [&](RandomStream& stream) { return select_exponential(stream, utilities, rate); });
}

TEST(SelectExponential, OfOneCandidateIsThatOneOnAnyTape) {
  const BigInteger all_ones = (BigInteger(1) << 4096) - 1;
  for (const BigInteger& digits : {BigInteger(0), all_ones}) EXPECT_EQ(both_ways(digits, {kLeast}, {1, 1, 0}), 0u);
}

TEST(SelectExponential, TakesOneBlockWhateverItDecides) {
  RandomStream stream = seeded_stream(3);
  RandomStream other = seeded_stream(3);
  select_exponential(stream, Utilities(3000, 5), {1, 1, 0});
  by_integers([&] { return select_exponential(other, Utilities{1, 2}, {1, 1, 0}); });
  EXPECT_EQ(stream.next_u64(), other.next_u64());
  RandomStream skipped = seeded_stream(3);
  skipped.skip_blocks(1);
  skipped.next_u64();
  EXPECT_EQ(stream.next_u64(), skipped.next_u64());
}

TEST(SelectExponential, DoesNotChangeWhenUtilitiesAreShifted) {
  for (const Case& that : random_cases()) {
    RandomStream stream = seeded_stream(4);
    const std::size_t choice = select_exponential(stream, that.utilities, that.rate);
    for (const std::int64_t shift : {std::int64_t{-1}, std::int64_t{1} << 40, kMost - 1000, kLeast + 1000}) {
      Utilities shifted = that.utilities;
      for (auto& utility : shifted) utility += shift;
      RandomStream again = seeded_stream(4);
      EXPECT_EQ(select_exponential(again, shifted, that.rate), choice);
    }
  }
}

TEST(SelectExponential, DoesNotChangeWithTheWayThatARateIsWritten) {
  const Utilities utilities{0, 1, 2, 3, 4, 5};
  RandomStream one = seeded_stream(5);
  RandomStream other = seeded_stream(5);
  for (int sample = 0; sample < 500; ++sample) {
    EXPECT_EQ(select_exponential(one, utilities, {1, 4, 0}), select_exponential(other, utilities, {6, 3, 3}));
  }
}

TEST(SelectExponential, TiesShareTheUnitIntervalEqually) {
  const Utilities utilities(1000, -3);
  const BigInteger unit = BigInteger(1) << 4096;
  for (const unsigned candidate : {0u, 1u, 499u, 500u, 999u}) {
    const BigInteger begin = (unit * candidate + 999) / 1000;  // the first digits of U >= candidate / 1000
    EXPECT_EQ(both_ways(begin, utilities, {1, 2, 0}), candidate);
    if (candidate == 0) continue;
    EXPECT_EQ(both_ways(begin - 2, utilities, {1, 2, 0}), candidate - 1);  // 4096 digits may not decide begin - 1
  }
  EXPECT_EQ(both_ways(unit - 1, utilities, {1, 2, 0}), 999u);
}

// P(worse) < exp(-2^40) at gamma = 1. U has its first other digit at places that a random one reaches with probability
// 2^-53, 2^-128 and 2^-3000: it still belongs to the better one.
TEST(SelectExponential, NeverTakesAWorseOneByMoreThanTwoToTheFortieth) {
  for (const std::int64_t gap : {std::int64_t{1} << 40, std::int64_t{1} << 62}) {
    for (const SelectionRate& rate : {SelectionRate{1, 1, 0}, SelectionRate{1, 1, 20}}) {
      for (const unsigned place : {1u, 53u, 64u, 128u, 500u, 3000u}) {
        const BigInteger small = BigInteger(1) << (4096 - place);
        EXPECT_EQ(both_ways(small, {0, gap}, rate), 1u) << place;
        EXPECT_EQ(both_ways((BigInteger(1) << 4096) - small, {gap, 0}, rate), 0u) << place;
      }
    }
  }
  EXPECT_EQ(both_ways(BigInteger(1) << 2000, {kLeast, kMost}, {1, 1, 0}), 1u);
}

// A weight of exp(-1000) = 2^-1442.7 is chosen where it lies, and nowhere else.
TEST(SelectExponential, TakesAWeightBelowTwoToTheMinusThousandWhereItLies) {
  const SelectionRate rate{1, 1, 0};
  EXPECT_EQ(both_ways(BigInteger(1) << (4096 - 1442), {-1000, 0}, rate), 1u);
  EXPECT_EQ(both_ways(BigInteger(1) << (4096 - 1443), {-1000, 0}, rate), 0u);
  // In the middle of a block and after a candidate of weight 1: U in [1/2, 1/2 + 2^-1444.7).
  const BigInteger half = BigInteger(1) << 4095;
  const Utilities utilities{0, -1000, 0};  // S_1 / S_3 = 1/2 - 2^-1444.7, S_2 / S_3 = 1/2 + 2^-1444.7
  EXPECT_EQ(both_ways(half, utilities, rate), 1u);
  EXPECT_EQ(both_ways(half + (BigInteger(1) << (4096 - 1445)), utilities, rate), 1u);
  EXPECT_EQ(both_ways(half + (BigInteger(1) << (4096 - 1444)), utilities, rate), 2u);
  EXPECT_EQ(both_ways(half - (BigInteger(1) << (4096 - 1445)), utilities, rate), 1u);
  EXPECT_EQ(both_ways(half - (BigInteger(1) << (4096 - 1444)), utilities, rate), 0u);
}

// Together 2^20 candidates that weigh 2^-144 each have 2^-124: U below that finds the one among them.
TEST(SelectExponential, TakesTheRightOneOfManyThatUnderflowTogether) {
  Utilities utilities(5000, -100);  // exp(-100) = 2^-144.27
  utilities.push_back(0);
  const SelectionRate rate{1, 1, 0};
  const auto weights = oracle_weights(utilities, {}, rate);
  const std::vector<Real> sums = oracle_sums(weights);
  for (const std::size_t candidate : {0u, 1023u, 1024u, 4999u, 5000u}) {
    const Real sum = candidate == 0 ? Real(0) : sums[candidate - 1];
    const Real inside = (sum + ldexp(weights[candidate], -30)) / sums.back();
    EXPECT_EQ(both_ways(digits_of(inside), utilities, rate), candidate);
  }
}

// U within 2^-44, ..., 2^-900 of each S_i / S_n, on either side.
TEST(SelectExponential, DecidesNextToEveryBoundary) {
  const Utilities utilities{3, 0, 2, 1, 3, -5};
  const SelectionRate rate{5, 7, 0};
  const std::vector<Real> sums = oracle_sums(oracle_weights(utilities, {}, rate));
  for (std::size_t candidate = 0; candidate + 1 < utilities.size(); ++candidate) {
    const Real boundary = sums[candidate] / sums.back();
    for (const int place : {40, 44, 52, 53, 54, 63, 64, 65, 100, 127, 128, 129, 255, 256, 400, 900}) {
      const Real step = ldexp(Real(1), -place);
      EXPECT_EQ(both_ways(digits_of(boundary - step), utilities, rate), candidate) << place;
      EXPECT_EQ(both_ways(digits_of(boundary + step), utilities, rate), candidate + 1) << place;
    }
  }
}

// The same among 3000, where the rounding of many sums adds up to what the last digits of U are worth.
TEST(SelectExponential, DecidesNextToTheBoundariesOfLongSums) {
  std::mt19937_64 random(3);
  Utilities utilities(3000);
  for (auto& utility : utilities) utility = static_cast<std::int64_t>(random() % 1000);
  const SelectionRate rate{1, 300, 0};
  const std::vector<Real> sums = oracle_sums(oracle_weights(utilities, {}, rate));
  const auto choose = [&](const Real& uniform) {
    RandomStream stream = stream_of_digits(digits_of(uniform));
    return select_exponential(stream, utilities, rate);
  };
  for (const std::size_t candidate : {0u, 1022u, 1023u, 1024u, 1700u, 2998u}) {
    const Real boundary = sums[candidate] / sums.back();
    for (const int place : {44, 50, 53, 60}) {
      const Real step = ldexp(Real(1), -place);
      EXPECT_EQ(choose(boundary - step), candidate) << place;
      EXPECT_EQ(choose(boundary + step), candidate + 1) << place;
    }
  }
}

// Weights from 2^-36 to 2^-289 at either end: U is read in units of 2^-53, and weights below 2^-100 look alike to the
// fast way.
TEST(SelectExponential, DecidesNextToTheBoundariesOfSmallWeights) {
  for (const std::int64_t distance : {25, 34, 36, 38, 42, 50, 68, 69, 70, 75, 100, 200}) {
    const Utilities utilities{-distance, 0, -distance};
    const Real weight = exp(-Real(distance));
    const Real share = weight / (1 + 2 * weight);
    for (const double part : {0.001, 0.5, 0.999, 1.001, 2.0, 100.0}) {
      SCOPED_TRACE(testing::Message() << distance << " " << part);
      EXPECT_EQ(both_ways(digits_of(share * part), utilities, {1, 1, 0}), part < 1 ? 0u : 1u);
      EXPECT_EQ(both_ways(digits_of(1 - share * part), utilities, {1, 1, 0}), part < 1 ? 2u : 1u);
    }
  }
}

// U = 0.000... belongs to a candidate of weight exp(-2^40) at last, after 2^40 digits. No random tape goes on so.
TEST(SelectExponential, DigitsThatCannotBeRandomAreRefused) {
  RandomStream stream = stream_of_digits(0);
  EXPECT_THROW(select_exponential(stream, Utilities{0, std::int64_t{1} << 40}, {1, 1, 0}), EntropyFailure);
}

TEST(SelectExponential, NoCandidatesAndRatesOutOfRangeAreRefused) {
  RandomStream stream = seeded_stream(1);
  EXPECT_THROW(select_exponential(stream, Utilities{}, {1, 1, 0}), std::logic_error);
  for (const SelectionRate& rate : {SelectionRate{0, 1, 0}, {1, 0, 0}, {1, 1, kMostRateScaleBits + 1}}) {
    EXPECT_THROW(select_exponential(stream, Utilities{1, 2}, rate), std::logic_error);
    EXPECT_THROW(ExponentialDecay{rate}, std::logic_error);
  }
  EXPECT_NO_THROW(ExponentialDecay({1, 1, kMostRateScaleBits}));
}

std::vector<BigInteger> random_counts(std::size_t count, unsigned most_bits, std::mt19937_64& random) {
  std::vector<BigInteger> counts(count);
  for (BigInteger& value : counts) {
    for (unsigned word = 0; word < most_bits / 64; ++word) value = (value << 64) + random();
    value >>= random() % (most_bits + 1);
    if (random() % 8 == 0) value = 0;
  }
  counts[count / 2] += 1;
  return counts;
}

TEST(SelectWeighted, ChoosesWithTheOracleBothWays) {
  std::mt19937_64 random(2);
  for (const std::size_t count : {1u, 2u, 5u, 200u, 1100u}) {
    for (const unsigned most_bits : {64u, 192u, 576u}) {
      const auto counts = random_counts(count, most_bits, random);
      Utilities utilities(count);
      for (auto& utility : utilities) utility = static_cast<std::int64_t>(random() % 1000);
      const Multiplicities multiplicities(counts);
      for (const SelectionRate& rate : {SelectionRate{1, 2, 0}, SelectionRate{1, 50, 0}}) {
        expect_oracle(9, 10, oracle_weights(utilities, counts, rate), [&](RandomStream& stream) {
          return select_exponential(stream, utilities, rate, &multiplicities);
        });
      }
    }
  }
}

TEST(SelectWeighted, OfOnesEqualsThePlainChoice) {
  for (const Case& that : random_cases()) {
    const Multiplicities ones(std::vector<BigInteger>(that.utilities.size(), 1));
    RandomStream stream = seeded_stream(11);
    RandomStream plain_stream = seeded_stream(11);
    EXPECT_EQ(select_exponential(stream, that.utilities, that.rate, &ones),
              select_exponential(plain_stream, that.utilities, that.rate));
  }
}

TEST(SelectWeighted, NeverTakesACandidateOfMultiplicityZero) {
  const Utilities utilities{kMost, 0, kMost, 1, kLeast, kMost};
  const Multiplicities multiplicities(std::vector<BigInteger>{0, 1, 0, 1, 0, 0});
  const BigInteger unit = BigInteger(1) << 4096;
  const BigInteger last = unit - (BigInteger(1) << 3000);
  // S_2 / S_6 = 1 / (1 + e) = 0.268...
  const auto choose = [&](const BigInteger& digits) {
    RandomStream stream = stream_of_digits(digits);
    return select_exponential(stream, utilities, {1, 1, 0}, &multiplicities);
  };
  for (const BigInteger& digits : {BigInteger(0), BigInteger(1), BigInteger(unit / 4)}) EXPECT_EQ(choose(digits), 1u);
  for (const BigInteger& digits : {BigInteger(unit / 3), last}) EXPECT_EQ(choose(digits), 3u);
}

// A multiplicity of 2^3000 outweighs a distance of 2000 = 2885.4 halvings by 2^114.6, and one of 2^2800 loses.
TEST(SelectWeighted, BalancesHugeMultiplicitiesAgainstHugeDistances) {
  const Utilities utilities{-2000, 0};
  const BigInteger half = BigInteger(1) << 4095;
  for (const auto& [bits, choice] : {std::pair{3000u, 0u}, {2800u, 1u}}) {
    const Multiplicities multiplicities(std::vector<BigInteger>{BigInteger(1) << bits, 1});
    const auto select = [&](RandomStream& stream) {
      return select_exponential(stream, utilities, {1, 1, 0}, &multiplicities);
    };
    EXPECT_EQ(both_ways(half, select), choice);
  }
}

TEST(SelectWeighted, MismatchedOrEmptyCandidatesAreRefused) {
  RandomStream stream = seeded_stream(1);
  const Multiplicities two(std::vector<BigInteger>{1, 2});
  const Multiplicities zeros(std::vector<BigInteger>{0, 0});
  const Multiplicities none(std::vector<BigInteger>{});
  EXPECT_THROW(select_exponential(stream, Utilities{1, 2, 3}, {1, 1, 0}, &two), std::logic_error);
  EXPECT_THROW(select_exponential(stream, Utilities{1, 2}, {1, 1, 0}, &zeros), std::logic_error);
  EXPECT_THROW(select_exponential(stream, Utilities{}, {1, 1, 0}, &none), std::logic_error);
  EXPECT_THROW(select_exponential(stream, Utilities{1, 2}, {0, 1, 0}, &two), std::logic_error);
}

}  // namespace dpreduce::exponential_mechanism_test
