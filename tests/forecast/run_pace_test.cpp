#include "forecast/run_cost.hpp"
#include "tests/testing.hpp"

namespace dpreduce::run_pace_test {

// A Gram matrix that takes as long as three of four rounds.
std::vector<PhaseWork> phases() {
  return {{.name = "gram", .product_macs = 3e9}, {.name = "gradient", .rounds = 4, .round_macs = 1e9}};
}

TEST(RunPace, PhasesHaveTheShareOfTheRunThatTheyTake) {
  RunPace pace(phases());
  EXPECT_EQ(pace.doing(), "");
  EXPECT_EQ(pace.share(), 0.0);
  pace.begin("gram");
  pace.advance(0.5);
  EXPECT_EQ(pace.doing(), "gram");
  EXPECT_NEAR(pace.share(), 1.5 / 7.0, 1e-3);
  pace.begin("gradient");
  EXPECT_EQ(pace.doing(), "gradient, round 1 of 4");
  EXPECT_NEAR(pace.share(), 3.0 / 7.0, 1e-3);
  pace.begin("gradient");
  pace.begin("gradient");
  pace.advance(0.5);
  EXPECT_EQ(pace.doing(), "gradient, round 3 of 4");
  EXPECT_NEAR(pace.share(), 5.5 / 7.0, 1e-3);
  pace.begin("gradient");
  pace.advance(1.0);
  EXPECT_NEAR(pace.share(), 1.0, 1e-9);
}

TEST(RunPace, ShareNeverFalls) {
  RunPace pace(phases());
  pace.begin("gradient");
  pace.advance(1.0);
  const double share = pace.share();
  pace.begin("gram");
  EXPECT_EQ(pace.share(), share);
  pace.advance(-3.0);
  EXPECT_EQ(pace.share(), share);
}

TEST(RunPace, PassesThatTheModelDoesNotKnowAreNamedAndHaveNoShare) {
  RunPace pace(phases());
  pace.begin("rows");
  pace.advance(0.9);
  EXPECT_EQ(pace.doing(), "rows");
  EXPECT_EQ(pace.share(), 0.0);
}

TEST(RunPace, MorePassesThanPlannedEndAtTheEndOfTheirPhase) {
  RunPace pace({{.name = "utilities"}});
  pace.begin("utilities");
  pace.advance(1.0);
  pace.begin("utilities");
  pace.advance(1.0);
  EXPECT_EQ(pace.share(), 1.0);
}

TEST(SecondsLeft, AreThoseOfTheRunSoFarForWhatIsLeft) {
  EXPECT_DOUBLE_EQ(seconds_left(0.5, 1000.0), 1000.0);
  EXPECT_DOUBLE_EQ(seconds_left(0.25, 10.0), 30.0);
  EXPECT_EQ(seconds_left(1.0, 50.0), 0.0);
}

TEST(PrintDuration, HasOneUnitOrHoursAndMinutes) {
  EXPECT_EQ(print_duration(0.0), "0 s");
  EXPECT_EQ(print_duration(59.4), "59 s");
  EXPECT_EQ(print_duration(59.6), "1 min");
  EXPECT_EQ(print_duration(3599.0), "1 h 0 min");
  EXPECT_EQ(print_duration(7800.0), "2 h 10 min");
}

}  // namespace dpreduce::run_pace_test
