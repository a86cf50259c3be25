// Contradictory lists of survivors: what opens a silo where lists are not agreed on, and what silos refuse where they
// are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/common/silos/lied_to_sum.hpp"

namespace dpreduce {
namespace {

using testing::HasSubstr;

struct Case {
  std::uint32_t silos;
  std::uint32_t threshold;
  std::uint32_t reach;  // no two silos farther apart on the ring are neighbours; 0: all may be
};

std::string name_of_case(const testing::TestParamInfo<Case>& info) {
  return std::to_string(info.param.silos) + "With" + std::to_string(info.param.threshold);
}

class ContradictorySurvivorsTest : public testing::TestWithParam<Case> {
 protected:
  ContradictorySurvivorsTest()
      : parties_(GetParam().silos, GetParam().reach), attempt_{{}, 1, 1, 1, GetParam().threshold, 0} {}
  std::vector<Story> stories() const {
    return contradictory_survivors(GetParam().silos, GetParam().threshold, 0).value();
  }
  SiloParties parties_;
  SumAttempt attempt_;
};

TEST_P(ContradictorySurvivorsTest, OpenASiloWhereListsAreNotAgreedOn) {
  LiedToSum sum(parties_, attempt_, {}, Protocol::kNoAgreement);
  sum.play(stories());
  EXPECT_TRUE(sum.refusals().empty());
  EXPECT_EQ(sum.opened(1), LiedToSum::statistic_of(1));
  EXPECT_THAT(sum.leak(), HasSubstr("[1]"));
}

TEST_P(ContradictorySurvivorsTest, AreRefusedBeforeThatSiloMasks) {
  LiedToSum sum(parties_, attempt_, {}, Protocol::kOurs);
  sum.play(stories());
  EXPECT_FALSE(sum.masked().contains(1));
  EXPECT_THAT(sum.refusals().at(1), HasSubstr("1 silos have signed the list that this silo was told, where"));
  EXPECT_TRUE(sum.revealed().empty());
  EXPECT_FALSE(sum.opened(1).has_value());
  EXPECT_EQ(sum.known_sums().size(), 0U);
}

#ifdef DPREDUCE_EVERY_THRESHOLD
// Where the stories do not open a silo even without agreement they are refused all the same.
TEST(EveryThreshold, RefusesContradictorySurvivors) {
  std::size_t opened = 0;
  for (const std::uint32_t silos : {5U, 10U, 31U, 33U, 100U}) {
    const SiloParties parties(silos);
    for (std::uint32_t threshold = silos / 2 + 1; threshold <= silos; ++threshold) {
      SCOPED_TRACE(std::to_string(silos) + " silos, threshold " + std::to_string(threshold));
      const auto stories = contradictory_survivors(silos, threshold, 0);
      if (!stories) continue;
      ++opened;
      LiedToSum sum(parties, {{}, 1, 1, 1, threshold, 0}, {}, Protocol::kOurs);
      sum.play(*stories);
      EXPECT_TRUE(sum.refusals().contains(1));
      EXPECT_TRUE(sum.revealed().empty());
      EXPECT_EQ(sum.known_sums().size(), 0U);
    }
  }
  EXPECT_GT(opened, 20U);
}
INSTANTIATE_TEST_SUITE_P(Silos, ContradictorySurvivorsTest, testing::Values(Case{1000, 667, 0}, Case{1000, 950, 50}),
                         name_of_case);
#else
INSTANTIATE_TEST_SUITE_P(Silos, ContradictorySurvivorsTest,
                         testing::Values(Case{5, 3, 0}, Case{10, 6, 0}, Case{31, 16, 0}, Case{33, 23, 0},
                                         Case{100, 67, 0}, Case{1000, 990, 10}),
                         name_of_case);
#endif

}  // namespace
}  // namespace dpreduce
