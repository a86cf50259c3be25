// --method global-adapt: gradient descent whose bound on residuals follows a released share.
#include "tests/cli/program_test.hpp"

namespace dpreduce::global_adapt_test {

constexpr std::size_t kDim = 12;
constexpr std::size_t kClasses = 3;
constexpr std::size_t kRounds = 5;
constexpr double kSquaredNorm = 32767.0 * 32767.0;

class GlobalAdaptTest : public ProgramTest {
 protected:
  GlobalAdaptTest() {
    const TrainingRows all = make_rows({1800, 1500, 1200}, kDim);
    write_rows(all.part(0, 3500));
    write_rows(all.part(3500, 1000), "test_x.npy", "test_y.npy");
  }

  const std::string fit_ =
      "fit --method global-adapt --train-x x.npy --train-y y.npy --classes 3 --report report.json --out model --ledger "
      "ledger ";

  json report(const std::string& options, int ranks = 0) const {
    succeed(fit_ + options, ranks);
    return document("report.json");
  }
};

// A row adds at most S^2 to a gradient and 1 to a count; 2 % of a round's mu^2 goes to the counts.
TEST_F(GlobalAdaptTest, ARoundIsChargedForItsGradientAndItsTwoCounts) {
  const json report = this->report("--mu 1 --rounds 5", 2);
  EXPECT_TRUE(report["private"]);
  EXPECT_NEAR(report["privacy"]["mu"].get<double>(), 1.0, 1e-9);
  const json& blocks = report["privacy"]["releases"];
  ASSERT_EQ(blocks.size(), 2 * kRounds);
  double gradients = 0.0;
  double counts = 0.0;
  for (std::size_t round = 0; round < kRounds; ++round) {
    const json& gradient = blocks[2 * round];
    const json& sides = blocks[2 * round + 1];
    EXPECT_EQ(gradient["release"], "adaptive_gradient/" + std::to_string(round + 1));
    EXPECT_EQ(sides["release"], gradient["release"]);
    EXPECT_EQ(gradient["coordinates"], kClasses * (kDim + 1));
    EXPECT_EQ(sides["coordinates"], 2);
    EXPECT_EQ(gradient["sensitivity"], kSquaredNorm);
    EXPECT_EQ(sides["sensitivity"], 1.0);
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

TEST_F(GlobalAdaptTest, LearnsWhatDescentLearns) {
  const auto accuracy = [&](const std::string& method) {
    const json report = figures(
        "fit --train-x x.npy --train-y y.npy --classes 3 --test-x test_x.npy --test-y test_y.npy --non-private "
        "--rounds 40 --method " +
        method);
    return report["test"]["accuracy"].get<double>();
  };
  const double descent = accuracy("gd");
  EXPECT_GT(descent, 0.9);
  EXPECT_NEAR(accuracy("global-adapt"), descent, 0.03);
}

// Of all options: methods/method_terms_test.
TEST_F(GlobalAdaptTest, OptionsThatDoNotGoWithItAreRefusedBeforeAnythingIsCharged) {
  for (const int ranks : {0, 3}) expect_refused(fit_ + "--mu 1 --batch 0.1", 2, "--batch", ranks);
}

}  // namespace dpreduce::global_adapt_test
