// --method public: what is chosen, what it costs, and what is told.
#include "tests/cli/program_test.hpp"

namespace dpreduce::prototypes_test {

constexpr std::size_t kDim = 16;

// Training, public and test rows are of one mixture; the first 900 rows made of it are public.
class PrototypesTest : public ProgramTest {
 protected:
  PrototypesTest() {
    const TrainingRows all = make_rows({3300, 2400, 2100}, kDim);
    public_ = all.part(0, 900);
    write_rows(public_, "public.npy", "public_y.npy");
    write_rows(all.part(900, 5000));
    write_rows(all.part(5900, 1900), "test_x.npy", "test_y.npy");
  }
  json report(const std::string& options, int ranks = 0) const { return reported(fit_ + options, ranks); }
  double accuracy(const std::string& options) const {
    return report(options + " --test-x test_x.npy --test-y test_y.npy")["test"]["accuracy"].get<double>();
  }

  TrainingRows public_;
  const std::string rows_ = "--train-x x.npy --train-y y.npy --classes 3 --public-x public.npy ";
  const std::string fit_ = "fit --method public --report report.json --ledger ledger " + rows_;
};

TEST_F(PrototypesTest, ThePureChargeIsStatedEverywhere) {
  const json report = this->report("--epsilon 1", 2);
  EXPECT_TRUE(report["private"]);
  const json& privacy = report["privacy"];
  expect_members(privacy, {{"epsilon", 1.0}, {"delta", 0.0}, {"rho", 0.125}, {"bounded_range", {{"delta", 1e-5}}}});
  EXPECT_LT(privacy["bounded_range"]["epsilon"], 1.0);
  EXPECT_FALSE(privacy.contains("note"));
  EXPECT_TRUE(privacy["releases"].empty());
  ASSERT_EQ(privacy["selections"].size(), 1u);
  expect_members(privacy["selections"][0], {{"name", "prototypes"},
                                            {"epsilon", 1.0},
                                            {"candidates", 900},
                                            {"groups", 3},
                                            {"chosen", 1},
                                            {"sensitivity", 2 * 32767 * 32767},
                                            {"mu", privacy["mu"]}});
  ASSERT_EQ(report["prototypes"].size(), 3u);
  EXPECT_THAT(succeed("ledger show --ledger ledger").out, HasSubstr("selection by exponential: 1 of 900 candidates"));
  expect_parts(
      succeed("privacy explain report.json").out,
      {"epsilon 1, pure", "prototypes: for each of 3 classes 1 of 900 candidates", "2 records: epsilon 2 at delta 0"});
  EXPECT_THAT(succeed("privacy explain report.json --format json").out, HasSubstr("\"delta\": 0.0"));
}

TEST_F(PrototypesTest, ADeltaIsAcceptedAndStaysZero) {
  expect_parts(expect_code(fit_ + "--epsilon 1 --delta 1e-3", 0).out,
               {"epsilon 1, delta 0,", "--delta 0.001 is not used"});
  const json privacy = document("report.json")["privacy"];
  EXPECT_EQ(privacy["delta"], 0.0);
  EXPECT_EQ(privacy["bounded_range"]["delta"], 1e-3);
  EXPECT_THAT(privacy["note"].get<std::string>(), HasSubstr("so delta is 0"));
  EXPECT_THAT(succeed("predict --model model.safetensors --x test_x.npy").out, HasSubstr("\n"));
}

TEST_F(PrototypesTest, AMuOrRhoIsUsedUpAndNotPassed) {
  const json of_rho = report("--rho 0.5")["privacy"];
  EXPECT_NEAR(of_rho["epsilon"].get<double>(), 2.0, 1e-12);
  EXPECT_LE(of_rho["rho"], 0.5);
  const json of_mu = report("--mu 0.3")["privacy"];
  EXPECT_LE(of_mu["mu"], 0.3);
  EXPECT_NEAR(of_mu["mu"].get<double>(), 0.3, 1e-9);
}

TEST_F(PrototypesTest, ADryRunTellsThePlanAndReadsNoRow) {
  const std::string said = succeed(fit_ + "--epsilon 2 --delta 1e-6 --top-k 4 --d-min 1 --dry-run").out;
  expect_parts(said, {"epsilon 2, delta 0,", "public rows by summed cosines", "--delta 1e-06 is not used"});
  EXPECT_THAT(said, testing::ContainsRegex("prototypes +exponential +2 +1.24 +900 +4 +3"));
  EXPECT_FALSE(has("ledger"));
}

TEST_F(PrototypesTest, AreGoodWherePublicRowsAreOfTheSameMixture) {
  const double exact_means = figures(
      "fit --method mean --train-x x.npy --train-y y.npy --classes 3 --test-x test_x.npy --test-y test_y.npy "
      "--non-private")["test"]["accuracy"];
  EXPECT_GT(exact_means, 0.95);
  for (const std::string options : {"", " --top-k 5", " --d-min 1 --d-max 1.9", " --center public", " --pca 5"}) {
    EXPECT_GT(accuracy("--epsilon 1 --seed 5" + options), exact_means - 0.1) << options;
  }
  EXPECT_GT(accuracy("--non-private --top-k 10"), exact_means - 0.05);
}

// The best are rows of their classes; the report names them, each once.
TEST_F(PrototypesTest, WithoutNoiseTheBestAreChosen) {
  const json chosen = report("--non-private --top-k 7")["prototypes"];
  for (std::size_t c = 0; c < 3; ++c) {
    const std::set<std::size_t> rows = chosen.at(c);
    EXPECT_EQ(rows.size(), 7u);
    for (const std::size_t row : rows) EXPECT_EQ(public_.labels.at(row), static_cast<std::int64_t>(c));
  }
  EXPECT_EQ(report("--non-private --top-k 7 --d-min 0 --d-max 2", 3)["prototypes"], chosen);
}

// Ranks share the public rows: of five two have none of the three.
TEST_F(PrototypesTest, MayBeChosenAmongFewerPublicRowsThanRanks) {
  write_rows(public_.part(0, 3), "public.npy", "unused.npy");
  const json expected = report("--epsilon 1 --seed 4 --top-k 2")["prototypes"];
  EXPECT_EQ(report("--epsilon 1 --seed 4 --top-k 2", 5)["prototypes"], expected);
}

TEST_F(PrototypesTest, APublicRowThatIsNoneIsNamedByWhoeverReadsIt) {
  for (const std::size_t row : {0, 899}) {
    TrainingRows rows = public_;
    rows.features[row * kDim + 2] = std::numeric_limits<float>::quiet_NaN();
    write_rows(rows, "public.npy", "unused.npy");
    for (const int ranks : {0, 3}) {
      expect_refusal(run(fit_ + "--epsilon 1", ranks), 3, {"public.npy: row " + std::to_string(row)});
    }
  }
  EXPECT_TRUE(charges_in(bytes("ledger")).empty());
  const json expected = report("--epsilon 1 --seed 2 --bad-rows zero")["prototypes"];
  EXPECT_EQ(report("--epsilon 1 --seed 2 --bad-rows zero", 3)["prototypes"], expected);
}

TEST_F(PrototypesTest, ARunThatIsResumedChoosesTheSameAndPaysOnce) {
  expect_code(fit_ + "--epsilon 0.01 --report /dev/full --out first", 3);  // it has chosen
  const auto charged = charges_in(bytes("ledger"));
  const json repeated = report("--epsilon 0.01 --resume --out second", 2)["prototypes"];
  EXPECT_TRUE(bytes("first") == bytes("second"));
  EXPECT_EQ(charges_in(bytes("ledger")), charged);
  EXPECT_NE(report("--epsilon 0.01")["prototypes"], repeated);  // alike with probability below 1e-6
}

TEST_F(PrototypesTest, PublicRowsThatCannotServeAreRefused) {
  write_rows(make_rows({3, 3, 3}, kDim - 1), "narrow.npy", "unused.npy");
  write_rows(public_.part(0, 0), "none.npy", "unused.npy");
  for (const char* name : {"silo0.npy", "silo1.npy"}) write_rows(public_.part(0, 4), name, "unused.npy");
  const std::tuple<const char*, int, const char*> refused[] = {
      {"narrow.npy --epsilon 1", 3, "--public-x narrow.npy: rows have 15 features, but training rows have 16"},
      {"none.npy --epsilon 1", 3, "none.npy: no rows"},
      {"silo{rank}.npy --epsilon 1", 2, "without {rank}"},
      {"public.npy --epsilon 300", 2, "epsilon = 300"}};
  const std::string fit = "fit --method public --train-x x.npy --train-y y.npy --classes 3 --ledger ledger --public-x ";
  for (const auto& [options, code, said] : refused) {
    for (const int ranks : {0, 2}) expect_refused(fit + options, code, said, ranks);
  }
}

// Which of the two a stated budget stands for. The same model from any number of ranks: place_matrix_test.cpp.
TEST_F(PrototypesTest, AutoIsMeansOrAChoiceAndTheReportSaysWhich) {
  const auto adaptive = [&](const std::string& options) {
    return figures("fit --method prototypes --auto " + rows_ + options);
  };
  expect_members(
      adaptive("--epsilon 1 --delta 1e-5 --seed 3"),
      {{"method", "mean"}, {"center", "public"}, {"adaptive", {{"method", "prototypes"}, {"chosen", "mean"}}}});
  expect_members(adaptive("--epsilon 1"),
                 {{"method", "public"}, {"adaptive", {{"chosen", "public"}}}, {"privacy", {{"delta", 0.0}}}});
  // Three classes of which the last is a thousand times smaller: at 0.2 its sum is noise.
  EXPECT_EQ(adaptive("--epsilon 0.2 --delta 1e-5 --imbalance-ratio 1000 --expected-rows 3000")["method"], "public");
  EXPECT_EQ(adaptive("--epsilon 0.2 --delta 1e-5 --expected-rows 3000")["method"], "mean");
  EXPECT_EQ(adaptive("--epsilon 0.2 --delta 1e-5 --smallest-share 0.0003 --expected-rows 3000")["method"], "public");
}

TEST_F(PrototypesTest, CoinPressRefinesMeans) {
  const std::string coinpress =
      "fit --method coinpress --train-x x.npy --train-y y.npy --classes 3 --test-x test_x.npy --test-y test_y.npy ";
  const json report = figures(coinpress + "--mu 1 --seed 3 --adjacency replace-one");
  expect_members(report, {{"method", "coinpress"}, {"rounds", 2}, {"privacy", {{"adjacency", "replace-one"}}}});
  ASSERT_EQ(report["privacy"]["releases"].size(), 4u);
  EXPECT_EQ(report["privacy"]["releases"][0]["sensitivity"], 2.0 * 32767.0);
  const double exact = figures(coinpress + "--non-private")["test"]["accuracy"].get<double>();
  EXPECT_GE(report["test"]["accuracy"].get<double>(), exact - 0.05);
  EXPECT_GE(exact, 0.6);
}

}  // namespace dpreduce::prototypes_test
