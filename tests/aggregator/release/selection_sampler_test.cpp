#include "aggregator/release/selection_sampler.hpp"

#include <boost/math/distributions/chi_squared.hpp>

#include "common/base/error.hpp"
#include "common/randomness/exponential_mechanism.hpp"
#include "common/randomness/noise_key.hpp"
#include "tests/testing.hpp"

namespace dpreduce::selection_sampler_test {

using Utilities = std::vector<std::int64_t>;
using Chosen = std::vector<std::uint64_t>;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

RandomStream test_stream(std::uint64_t seed) {
  return NoiseKey::from_seed(seed).stream("sampler test", {});
}

SelectionTerms terms_of(double epsilon, std::uint64_t sensitivity, std::uint64_t candidates, std::uint64_t chosen = 1) {
  return {.mechanism = SelectionMechanism::kExponential,
          .epsilon = epsilon,
          .sensitivity = sensitivity,
          .candidates = candidates,
          .groups = 1,
          .chosen = chosen};
}

SelectionSampler of_ranks(const SelectionTerms& terms, Adjacency adjacency = Adjacency::kAddRemove) {
  return {terms, adjacency, UtilitySums::kOfTrustedRanks};
}

// What is folded among silos may fall where it would have risen.
TEST(SelectionSampler, IsTheExponentialMechanismAtHalfTheRateUnderReplaceOneAndAmongSilos) {
  const Utilities utilities{5, 0, 3, 9, 7};
  for (const auto& [adjacency, sums, per] : {std::tuple{Adjacency::kAddRemove, UtilitySums::kOfTrustedRanks, 6U},
                                             {Adjacency::kReplaceOne, UtilitySums::kOfTrustedRanks, 12U},
                                             {Adjacency::kAddRemove, UtilitySums::kOfSilos, 12U}}) {
    const SelectionRate rate{1, per, 0};  // 0.5 / 3
    const SelectionSampler sampler(terms_of(0.5, 3, 5), adjacency, sums);
    RandomStream ours = test_stream(1);
    RandomStream theirs = test_stream(1);
    for (int draw = 0; draw < 2000; ++draw) {
      ASSERT_EQ(sampler.draw(ours, utilities), Chosen{select_exponential(theirs, utilities, rate)});
    }
  }
}

// P[S] ~ exp(gamma min u), ties included. False alarm: 1e-9 each.
TEST(SelectionSampler, SetsHaveTheProbabilityOfTheirWorstMember) {
  const Utilities utilities{2, 7, 4, 4, 0, 6};
  for (const std::uint64_t size : {2, 3, 5}) {
    const SelectionSampler sampler = of_ranks(terms_of(0.5, 1, utilities.size(), size));
    std::map<Chosen, double> weights;
    double total = 0;
    for (unsigned members = 0; members < 1U << utilities.size(); ++members) {
      Chosen set;
      std::int64_t worst = kMost;
      for (std::uint64_t candidate = 0; candidate < utilities.size(); ++candidate) {
        if ((members >> candidate & 1) == 0) continue;
        set.push_back(candidate);
        worst = std::min(worst, utilities[candidate]);
      }
      if (set.size() == size) total += weights[set] = std::exp(0.5 * static_cast<double>(worst));
    }
    constexpr int kDraws = 100'000;
    std::map<Chosen, double> counts;
    RandomStream stream = test_stream(3 + size);
    for (int draw = 0; draw < kDraws; ++draw) ++counts[sampler.draw(stream, utilities)];
    double statistic = 0;
    for (const auto& [set, weight] : weights) {
      const double expected = kDraws * weight / total;
      ASSERT_GT(expected, 25);
      statistic += (counts[set] - expected) * (counts[set] - expected) / expected;
    }
    for (const auto& [set, count] : counts) ASSERT_TRUE(weights.contains(set)) << "not a set in rising order";
    const auto freedom = static_cast<double>(weights.size() - 1);
    EXPECT_LT(statistic, quantile(complement(boost::math::chi_squared(freedom), 1e-9))) << size << " chosen";
  }
}

// exp(-2^40 epsilon / Delta) is below 2^-10000: not in the life of the universe.
TEST(SelectionSampler, NeverTakesACandidateThatIsWorseByTwoToTheForty) {
  constexpr std::int64_t kGap = std::int64_t{1} << 40;
  const std::vector<Utilities> cases{
      {0, kGap, 2 * kGap}, {kLeast, kMost - kGap, kMost}, {kLeast, kLeast, kLeast + kGap}, {kLeast, 0, kMost}};
  for (const Utilities& utilities : cases) {
    const SelectionSampler sampler = of_ranks(terms_of(0.01, 1, 3), Adjacency::kReplaceOne);
    RandomStream stream = test_stream(9);
    for (int draw = 0; draw < 500; ++draw) ASSERT_EQ(sampler.draw(stream, utilities), Chosen{2});
    EXPECT_EQ(best_candidates(utilities, 1), Chosen{2});
  }
  const SelectionSampler pairs = of_ranks(terms_of(0.01, 1, 4, 2));
  RandomStream stream = test_stream(10);
  for (int draw = 0; draw < 500; ++draw) {
    ASSERT_EQ(pairs.draw(stream, Utilities{kMost, kLeast, kMost - kGap, kMost}), (Chosen{0, 3}));
  }
}

TEST(SelectionSampler, OfAsManyAsThereAreItTakesAllAndOtherSizesAreRefused) {
  RandomStream stream = test_stream(11);
  EXPECT_EQ(of_ranks(terms_of(1, 1, 1)).draw(stream, Utilities{-4}), Chosen{0});
  EXPECT_EQ(of_ranks(terms_of(1, 1, 3, 3)).draw(stream, Utilities{9, -4, 9}), (Chosen{0, 1, 2}));
  EXPECT_THROW(of_ranks(terms_of(1, 1, 3)).draw(stream, Utilities{1, 2}), std::logic_error);
  EXPECT_THROW(of_ranks(terms_of(0, 1, 3)), UsageError);
  EXPECT_THROW(of_ranks(terms_of(1, 1, 3, 4)), UsageError);
}

TEST(BestCandidates, OfEqualOnesTheFirstInRisingOrder) {
  EXPECT_EQ(best_candidates(Utilities{3, 8, 8, 8, 1}, 1), Chosen{1});
  EXPECT_EQ(best_candidates(Utilities{3, 8, 9, 8, 1}, 2), (Chosen{1, 2}));
  EXPECT_EQ(best_candidates(Utilities{3, 8, 9, 8, 1}, 4), (Chosen{0, 1, 2, 3}));
}

}  // namespace dpreduce::selection_sampler_test
