#include "common/base/rank_pattern.hpp"

#include "tests/testing.hpp"

namespace dpreduce::rank_pattern_test {

TEST(RankPattern, IsReplacedWhereverItStands) {
  EXPECT_EQ(with_rank("silo{rank}/x{rank}.npy", 12), "silo12/x12.npy");
  EXPECT_EQ(with_rank("{rank}", 0), "0");
  EXPECT_EQ(with_rank("{Rank}{ran}k}", 3), "{Rank}{ran}k}");
  EXPECT_EQ(with_rank("", 3), "");
}

TEST(RankPattern, IsFound) {
  EXPECT_TRUE(has_rank("a{rank}"));
  EXPECT_FALSE(has_rank("a{rank"));
  EXPECT_TRUE(has_rank(std::vector<std::string>{"a", "{rank}b"}));
  EXPECT_FALSE(has_rank(std::vector<std::string>{}));
}

}  // namespace dpreduce::rank_pattern_test
