// --choose: what is kept, what it costs, and what is told.
#include "tests/cli/program_test.hpp"

namespace dpreduce::choice_test {

class ChoiceTest : public ProgramTest {
 protected:
  ChoiceTest() {
    write_rows(make_rows({2003, 1119, 885}, 16));
    write_rows(make_rows({300, 300, 300}, 16), "other_x.npy", "other_y.npy");
  }

  json report(const std::string& options, int ranks = 0) const {
    succeed("fit --train-x x.npy --train-y y.npy --classes 3 --report report.json --ledger ledger " + options, ranks);
    return document("report.json");
  }

  // The sum over all that is released or chosen.
  static double squared_mu(const json& privacy) {
    double sum = 0.0;
    for (const char* list : {"releases", "selections"}) {
      for (const json& one : privacy[list]) sum += std::pow(one["mu"].get<double>(), 2);
    }
    return sum;
  }
};

TEST_F(ChoiceTest, ByTrainingRowsItIsChargedAndStatedEverywhere) {
  const json report = this->report("--method ls --shared-gram --epsilon 1 --delta 1e-5 --choose --choose-share 0.1", 2);
  expect_members(report["choice"], {{"by", "exponential mechanism on training rows"}, {"candidates", 7}});
  EXPECT_THAT(report["choice"]["setting"].get<std::string>(), HasSubstr("ridge x "));
  const json& privacy = report["privacy"];
  ASSERT_EQ(privacy["selections"].size(), 1u);
  const json& selection = privacy["selections"][0];
  EXPECT_EQ(selection["sensitivity"], 1);
  const double whole = std::pow(privacy["mu"].get<double>(), 2);
  EXPECT_NEAR(std::pow(selection["mu"].get<double>(), 2), 0.1 * whole, 1e-9);
  EXPECT_NEAR(squared_mu(privacy), whole, 1e-9);
  EXPECT_THAT(succeed("ledger show --ledger ledger").out, HasSubstr("selection by exponential: 1 of 7 candidates"));
  EXPECT_THAT(succeed("privacy explain report.json").out,
              HasSubstr("choice: which of 7 candidates, drawn by the exponential"));
  EXPECT_THAT(succeed("fit --train-x x.npy --train-y y.npy --classes 3 --mu 1 --method gd --choose --dry-run").out,
              HasSubstr("choice      exponential"));
}

TEST_F(ChoiceTest, ByPublicRowsItIsTheBestOfThemAndFree) {
  const std::string options = "--method gd --rounds 8 --mu 1 --seed 3 ";
  const json report = this->report(options + "--choose --validation-x other_x.npy --validation-y other_y.npy", 3);
  EXPECT_EQ(report["choice"]["by"], "validation rows");
  EXPECT_TRUE(report["privacy"]["selections"].empty());
  EXPECT_EQ(report["privacy"], this->report(options)["privacy"]);
  EXPECT_THAT(succeed("ledger show --ledger ledger").out, Not(HasSubstr("selection by")));
}

// The model is as good on these rows as each single iterate, by both heads where there is a second one. With so much
// noise iterates differ.
TEST_F(ChoiceTest, OfIteratesTheBestIsKept) {
  for (const std::string options : {"--seed 3 ", "--seed 4 ", "--seed 3 --warm-start "}) {
    SCOPED_TRACE(options);
    const auto accuracy = [&](const std::string& further) {
      return report("--method gd --rounds 2 --mu 0.005 --test-x other_x.npy --test-y other_y.npy " + options +
                    further)["test"]["accuracy"]
          .get<double>();
    };
    const double chosen = accuracy("--choose --validation-x other_x.npy --validation-y other_y.npy");
    for (const char* iterate : {"--iterate last", "--iterate average"}) EXPECT_GE(chosen, accuracy(iterate)) << iterate;
  }
  const json privacy = this->report("--method newton --rounds 4 --warm-start --mu 1 --seed 3 --choose", 2)["privacy"];
  EXPECT_EQ(privacy["selections"].size(), 1U);
  EXPECT_NEAR(squared_mu(privacy), 1.0, 1e-9);  // class means, all rounds and the choice together
}

TEST_F(ChoiceTest, WithoutNoiseTrainingRowsDecideInTheOpen) {
  const json report = this->report("--method ls --alpha 1 --choose --non-private");
  expect_members(report["choice"], {{"by", "training rows, without noise"}, {"candidates", 12}});
  EXPECT_THAT(report["choice"]["setting"].get<std::string>(), HasSubstr("alpha "));
}

TEST_F(ChoiceTest, ValidationRowsOfAnotherKindAreRefused) {
  write_rows(make_rows({30, 30, 30}, 15), "narrow_x.npy", "narrow_y.npy");
  write_labels(folder_ / "high_y.npy", std::vector<std::int64_t>(900, 3));
  const std::string fit = "fit --train-x x.npy --train-y y.npy --classes 3 --mu 1 --method gd --choose --validation-x ";
  expect_refused(fit + "narrow_x.npy --validation-y narrow_y.npy", 3, "narrow_x.npy");
  expect_refused(fit + "other_x.npy --validation-y high_y.npy", 3, "high_y.npy", 2);
}

}  // namespace dpreduce::choice_test
