// dpreduce sweep: every run is the fit of the same arguments, for any number of ranks, and nothing is half written.
#include "tests/cli/program_test.hpp"

namespace dpreduce::sweep_test {

constexpr const char* kRows = "--train-x x.npy --train-y y.npy --test-x test_x.npy --test-y test_y.npy --classes 3 ";

class SweepTest : public ProgramTest {
 protected:
  SweepTest() {
    const TrainingRows all = make_rows({1200, 1200, 1200}, 10);
    write_rows(all.part(0, 2000));
    write_rows(all.part(2000, 800), "test_x.npy", "test_y.npy");
    write_rows(all.part(2800, 800), "public.npy", "unused.npy");
  }
  ProgramRun run(const std::string& options, int ranks = 0) const override {
    return ProgramTest::run("sweep " + (kRows + options), ranks);
  }
  // Without the last column, which is seconds.
  Strings table() const {
    Strings lines = lines_of(bytes("sweep.csv"));
    for (std::string& line : lines) line.resize(line.rfind(','));
    return lines;
  }
};

constexpr const char* kSmall =
    "--methods mean,public --public-x public.npy --epsilons 0.5,2 --imbalance 1,20 --seeds 2";

TEST_F(SweepTest, EveryCombinationIsOneLineAndOneEntryOnAnyNumberOfRanks) {
  const ProgramRun done = succeed(kSmall);
  const Strings lines = table();
  ASSERT_EQ(lines.size(), 1u + 2 * 2 * 2 * 2);
  EXPECT_EQ(lines[0],
            "method,trained_by,epsilon,delta,imbalance_ratio,seed,accuracy,balanced_accuracy,minority_accuracy");
  EXPECT_THAT(lines[1], HasSubstr("mean,mean,0.5,1e-05,1.0,1,"));
  EXPECT_EQ(lines[1].back(), ',');  // without a long tail nobody says which classes are small
  EXPECT_THAT(done.out, HasSubstr(bytes("sweep.csv")));
  const json report = document("sweep.json");
  EXPECT_FALSE(report["private"]);
  ASSERT_EQ(report["runs"].size(), lines.size() - 1);
  EXPECT_FALSE(report["runs"][0]["test"].contains("minority_accuracy"));
  EXPECT_EQ(report["runs"].back()["test"]["minority_classes"], json({2}));
  EXPECT_THAT(done.out, HasSubstr("16 runs, none of them private"));
  for (const int ranks : {2, 3}) {
    succeed(kSmall, ranks);
    EXPECT_EQ(table(), lines) << ranks;
  }
}

TEST_F(SweepTest, ARunIsTheFitOfItsArguments) {
  succeed("--methods gd~--rounds~3 --epsilons 1 --imbalance 1,10 --seeds 2 --non-private");
  const json swept = document("sweep.json");
  for (const json& one : swept["runs"]) {
    const int seed = one["seed"].is_null() ? 0 : one["seed"].get<int>();
    const bool is_tail = one["imbalance_ratio"] == 10.0;
    const ProgramRun fit = ProgramTest::run(fmt::format(
        "fit {} --method gd --rounds 3 --report report.json {} {}", kRows,
        one["epsilon"].is_null() ? "--non-private" : fmt::format("--epsilon 1 --delta 1e-5 --seed {}", seed),
        is_tail ? fmt::format("--imbalance-ratio 10 --imbalance-seed {}", seed) : ""));
    ASSERT_EQ(fit.exit_code, 0) << fit.err;
    EXPECT_EQ(one["test"]["per_class"], document("report.json")["test"]["per_class"]) << one;
  }
}

TEST_F(SweepTest, WhatCannotBeRunIsRefusedAndNothingIsWritten) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"mean,median --epsilons 1", "median"},
      {"mean,public --epsilons 1", "--public-x"},
      {"mean --epsilons 1,0", "--epsilons 0: must be a positive finite number"},
      {"mean --epsilons 1 --imbalance 1,0.5", "--imbalance 0.5"},
      {"mean,mean --epsilons 1", "a run occurs twice"},
      {"mean --epsilons 1,1", "a run occurs twice"},
      {"mean --epsilons 1 --seeds 0", "--seeds 0"},
      {"mean~--dry-run --epsilons 1", "--methods 'mean --dry-run': --dry-run is not about training"},
      {"mean~--report~r.json --epsilons 1", "--report is not about training, and may not follow a method"},
      {"mean~--help --epsilons 1", "--methods 'mean --help': asks for help, not for a fit"},
      {"mean~--seed~7 --epsilons 1", "--seed is not about training"},
      {"mean~--epsilon=9 --epsilons 1", "--epsilon=9 is not about training"},
      {"mean~--train-x~more.npy --epsilons 1", "--train-x is not about training"},
      {"mean~--imbalance-ratio~30 --epsilons 1", "--imbalance-ratio is not about training"},
      {"~ --epsilons 1", "--methods: one of them is empty; name a method"},
      {"mean~--pool~40 --epsilons 1", "--pool 40"}};
  for (const auto& [options, message] : cases) expect_refused("--methods " + options, 2, message, 2);
  expect_refused("--methods public~--top-k~900 --public-x public.npy --epsilons 1", 3, "fewer than the 900", 2);
}

}  // namespace dpreduce::sweep_test
