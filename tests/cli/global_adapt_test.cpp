// --method global-adapt: gradient descent whose bound on residuals follows a released share.
#include "tests/cli/program_test.hpp"

namespace dpreduce::global_adapt_test {

constexpr std::size_t kDim = 12;
constexpr std::size_t kClasses = 3;
constexpr std::size_t kRounds = 5;
constexpr double kSquaredNorm = 32767.0 * 32767.0;

class GlobalAdaptTest : public ProgramTest {};

// A row adds at most S^2 to a gradient and 1 to a count; 2 % of a round's mu^2 goes to the counts. What it learns:
// methods/rounds_test, fit/usefulness_test.
TEST_F(GlobalAdaptTest, ARoundIsChargedForItsGradientAndItsTwoCounts) {
  write_rows(make_rows({1800, 1500, 1200}, kDim));
  succeed(
      "fit --method global-adapt --train-x x.npy --train-y y.npy --classes 3 --mu 1 --rounds 5 --report report.json "
      "--out model --ledger ledger",
      2);
  const json report = document("report.json");
  EXPECT_TRUE(report["private"]);
  EXPECT_NEAR(report["privacy"]["mu"], 1.0, 1e-9);
  const json& blocks = report["privacy"]["releases"];
  ASSERT_EQ(blocks.size(), 2 * kRounds);
  double gradients = 0.0;
  double counts = 0.0;
  for (std::size_t round = 0; round < kRounds; ++round) {
    const json& gradient = blocks[2 * round];
    const json& sides = blocks[2 * round + 1];
    const std::string release = fmt::format("adaptive_gradient/{}", round + 1);
    expect_members(gradient,
                   {{"release", release}, {"coordinates", kClasses * (kDim + 1)}, {"sensitivity", kSquaredNorm}});
    expect_members(sides, {{"release", release}, {"coordinates", 2}, {"sensitivity", 1.0}});
    gradients += std::pow(kSquaredNorm / gradient["sigma"].get<double>(), 2);
    counts += std::pow(1.0 / sides["sigma"].get<double>(), 2);
  }
  EXPECT_NEAR(gradients, 0.98, 1e-6);
  EXPECT_NEAR(counts, 0.02, 1e-6);

  const ProgramRun shown = succeed("ledger show --ledger ledger");
  EXPECT_EQ(charges_in(bytes("ledger")).size(), kRounds);
  EXPECT_THAT(shown.out, testing::ContainsRegex("gradient +adaptive_gradient/1 to adaptive_gradient/5 +5 "));
  EXPECT_THAT(shown.out, HasSubstr("\ndelta      1e-05\nmu         1\n"));
}

}  // namespace dpreduce::global_adapt_test
