#include "common/base/error.hpp"
#include "common/randomness/exponential_mechanism.hpp"
#include "tests/testing.hpp"

namespace dpreduce::multiplicities_test {

TEST(Multiplicities, HaveTheLeadingDigitsOfTheIntegers) {
  const std::vector<BigInteger> counts{1, 2, 3, 0, (BigInteger(1) << 53) + 1, (BigInteger(7) << 1000) + 5};
  const Multiplicities multiplicities(counts);
  ASSERT_EQ(multiplicities.size(), counts.size());
  for (std::size_t candidate = 0; candidate < counts.size(); ++candidate) {
    EXPECT_EQ(multiplicities[candidate], counts[candidate]);
    if (counts[candidate] == 0) continue;
    const double leading = multiplicities.leading(candidate);
    EXPECT_GE(leading, 1);
    EXPECT_LT(leading, 2);
    // m - leading * 2^exponent lies in [0, 2^(exponent - 52))
    const BigInteger digits = static_cast<std::uint64_t>(std::ldexp(leading, 52));
    const auto exponent = static_cast<unsigned>(multiplicities.exponent(candidate));
    const BigInteger error = (counts[candidate] << 52) - (digits << exponent);
    EXPECT_GE(error, 0);
    EXPECT_LT(error, BigInteger(1) << exponent);
  }
  EXPECT_EQ(multiplicities.leading(3), 0);
  EXPECT_EQ(multiplicities.exponent(3), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(multiplicities.most_exponent(), 1002u);
}

TEST(Multiplicities, OfWordsAreThoseIntegers) {
  const std::vector<std::uint64_t> counts{0, 5, std::numeric_limits<std::uint64_t>::max()};
  const Multiplicities multiplicities{std::span<const std::uint64_t>(counts)};
  EXPECT_EQ(multiplicities[1], 5);
  EXPECT_EQ(multiplicities[2], (BigInteger(1) << 64) - 1);
  EXPECT_EQ(multiplicities.most_exponent(), 63u);
}

TEST(Multiplicities, NegativeOrGiganticOnesAreRefused) {
  EXPECT_THROW(Multiplicities(std::vector<BigInteger>{1, -1}), UsageError);
  EXPECT_THROW(Multiplicities(std::vector<BigInteger>{BigInteger(1) << (1u << 20)}), UsageError);
  EXPECT_NO_THROW(Multiplicities(std::vector<BigInteger>{BigInteger(1) << ((1u << 20) - 1)}));
}

// Every subset of {0, ..., n-1} is counted once, at its largest element.
TEST(SubsetsByWorst, AreCountedAsEnumerationCountsThem) {
  constexpr unsigned kCandidates = 10;
  for (std::size_t size = 1; size <= kCandidates + 1; ++size) {
    std::vector<std::uint64_t> counts(kCandidates);
    for (unsigned set = 1; set < 1u << kCandidates; ++set) {
      if (static_cast<std::size_t>(std::popcount(set)) == size)
        ++counts[static_cast<unsigned>(std::bit_width(set)) - 1];
    }
    const Multiplicities multiplicities = Multiplicities::of_subsets_by_worst(kCandidates, size);
    for (std::size_t worst = 0; worst < kCandidates; ++worst) EXPECT_EQ(multiplicities[worst], counts[worst]);
  }
}

// sum_j C(j, K - 1) = C(n, K)
TEST(SubsetsByWorst, AddUpToAllSubsets) {
  BigInteger sum = 0;
  BigInteger all = 1;
  const Multiplicities multiplicities = Multiplicities::of_subsets_by_worst(5000, 40);
  for (std::size_t worst = 0; worst < 5000; ++worst) sum += multiplicities[worst];
  for (unsigned chosen = 0; chosen < 40; ++chosen) all = all * (5000 - chosen) / (chosen + 1);
  EXPECT_EQ(sum, all);
}

TEST(SubsetsByWorst, SizeZeroIsRefused) {
  EXPECT_THROW(Multiplicities::of_subsets_by_worst(3, 0), UsageError);
}

}  // namespace dpreduce::multiplicities_test
