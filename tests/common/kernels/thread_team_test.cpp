#include "common/kernels/thread_team.hpp"

#include "tests/testing.hpp"

namespace dpreduce::thread_team_test {

class ThreadTeamTest : public ::testing::TestWithParam<unsigned> {};

TEST_P(ThreadTeamTest, EveryStepOfEveryLoopIsTakenOnce) {
  ThreadTeam team(GetParam());
  for (const std::size_t count : {0, 1, 2, 3, 100, 1000}) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      std::vector<int> taken(count, 0);
      team.for_each(count, [&](std::size_t index) { ++taken[index]; });
      EXPECT_THAT(taken, ::testing::Each(1));
    }
  }
}

TEST_P(ThreadTeamTest, AFailureReachesTheCallerAndTheTeamWorksOn) {
  ThreadTeam team(GetParam());
  for (int repeat = 0; repeat < 20; ++repeat) {
    EXPECT_THAT(
        [&] {
          team.for_each(50, [](std::size_t index) {
            if (index % 7 == 3) throw std::runtime_error("step failed");
          });
        },
        ::testing::ThrowsMessage<std::runtime_error>("step failed"));
    std::atomic<int> steps{0};
    team.for_each(50, [&](std::size_t) { ++steps; });
    EXPECT_EQ(steps, 50);
  }
}

TEST_P(ThreadTeamTest, AFailureEndsTheLoop) {
  ThreadTeam team(GetParam());
  std::atomic<std::size_t> steps{0};
  EXPECT_THROW(team.for_each(1'000'000'000'000,
                             [&](std::size_t) {
                               ++steps;
                               throw std::runtime_error("stop");
                             }),
               std::runtime_error);
  EXPECT_LE(steps, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Threads, ThreadTeamTest, ::testing::Values(1U, 2U, 3U, 8U));

}  // namespace dpreduce::thread_team_test
