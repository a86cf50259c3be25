// dpreduce sweep: every run is the fit of the same arguments, for any number of ranks, and nothing is half written.
#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/program_run.hpp"
#include "tests/cli/training_files.hpp"
#include "tests/common/data/data_files.hpp"

namespace dpreduce {
namespace sweep_test {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kRows = "--train-x x.npy --train-y y.npy --test-x test_x.npy --test-y test_y.npy --classes 3 ";

class SweepTest : public testing::Test {
 protected:
  SweepTest() {
    const TrainingRows all = make_rows({1200, 1200, 1200}, 10);
    write_npy(all.part(0, 2000), folder_ / "x.npy", folder_ / "y.npy");
    write_npy(all.part(2000, 800), folder_ / "test_x.npy", folder_ / "test_y.npy");
    write_npy(all.part(2800, 800), folder_ / "public.npy", folder_ / "unused.npy");
  }

  ProgramRun run(const std::string& options, int ranks = 0) const {
    std::vector<std::string> line = split_arguments("sweep " + (kRows + options));
    for (std::string& word : line) std::replace(word.begin(), word.end(), '~', ' ');  // within a word
    return run_program(line, {.folder = folder_.path(), .ranks = ranks});
  }

  // Without the last column, which is seconds.
  std::vector<std::string> table() const {
    std::vector<std::string> lines = lines_of(read_bytes(folder_ / "sweep.csv"));
    for (std::string& line : lines) line.resize(line.rfind(','));
    return lines;
  }

  const TemporaryFolder folder_;
};

constexpr const char* kSmall =
    "--methods mean,public --public-x public.npy --epsilons 0.5,2 --imbalance 1,20 --seeds 2";

TEST_F(SweepTest, EveryCombinationIsOneLineAndOneEntry) {
  const ProgramRun done = run(kSmall);
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const std::vector<std::string> lines = table();
  ASSERT_EQ(lines.size(), 1u + 2 * 2 * 2 * 2);
  EXPECT_EQ(lines[0],
            "method,trained_by,epsilon,delta,imbalance_ratio,seed,accuracy,balanced_accuracy,minority_accuracy");
  EXPECT_THAT(lines[1], HasSubstr("mean,mean,0.5,1e-05,1,1,"));
  EXPECT_EQ(lines[1].back(), ',');  // without a long tail nobody says which classes are small
  const json report = json::parse(read_bytes(folder_ / "sweep.json"));
  EXPECT_FALSE(report["private"]);
  ASSERT_EQ(report["runs"].size(), lines.size() - 1);
  EXPECT_FALSE(report["runs"][0]["test"].contains("minority_accuracy"));
  EXPECT_EQ(report["runs"].back()["test"]["minority_classes"], json({2}));
  EXPECT_THAT(done.out, HasSubstr("16 runs, none of them private"));
}

TEST_F(SweepTest, AnyNumberOfRanksWritesTheSameTable) {
  ASSERT_EQ(run(kSmall).exit_code, 0);
  const std::vector<std::string> alone = table();
  for (const int ranks : {2, 3}) {
    const ProgramRun done = run(kSmall, ranks);
    ASSERT_EQ(done.exit_code, 0) << done.err;
    EXPECT_EQ(table(), alone) << ranks;
  }
}

TEST_F(SweepTest, ARunIsTheFitOfItsArguments) {
  ASSERT_EQ(run("--methods gd~--rounds~3 --epsilons 1 --imbalance 1,10 --seeds 2").exit_code, 0);
  const json swept = json::parse(read_bytes(folder_ / "sweep.json"));
  for (const json& one : swept["runs"]) {
    const int seed = one["seed"].get<int>();
    const bool is_tail = one["imbalance_ratio"] == 10.0;
    const ProgramRun fit = run_program(
        split_arguments("fit " +
                        (kRows + ("--method gd --rounds 3 --epsilon 1 --delta 1e-5 --report report.json --seed " +
                                  std::to_string(seed) +
                                  (is_tail ? " --imbalance-ratio 10 --imbalance-seed " + std::to_string(seed) : "")))),
        {.folder = folder_.path()});
    ASSERT_EQ(fit.exit_code, 0) << fit.err;
    const json test = json::parse(read_bytes(folder_ / "report.json"))["test"];
    EXPECT_EQ(one["test"]["per_class"], test["per_class"]) << one;
  }
}

TEST_F(SweepTest, WhatCannotBeRunIsRefusedBeforeAnythingIs) {
  const auto refusal = [&](const std::string& options, int code) {
    const ProgramRun done = run(options, 2);
    EXPECT_EQ(done.exit_code, code) << done.err;
    EXPECT_EQ(lines_of(done.err).size(), 1u) << done.err;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "sweep.csv"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "sweep.json"));
    return done.err;
  };
  EXPECT_THAT(refusal("--methods mean,median --epsilons 1", 2), HasSubstr("median"));
  EXPECT_THAT(refusal("--methods mean,public --epsilons 1", 2), HasSubstr("--public-x"));
  EXPECT_THAT(refusal("--methods mean --epsilons 1,0", 2), HasSubstr("--epsilons 0"));
  EXPECT_THAT(refusal("--methods mean --epsilons 1,1", 2), HasSubstr("--epsilons 1: occurs twice"));
  EXPECT_THAT(refusal("--methods mean,mean --epsilons 1", 2), HasSubstr("--methods mean: occurs twice"));
  EXPECT_THAT(refusal("--methods mean --epsilons 1 --imbalance 0.5", 2), HasSubstr("--imbalance 0.5"));
  EXPECT_THAT(refusal("--methods mean --epsilons 1 --seeds 0", 2), HasSubstr("--seeds 0"));
  for (const std::string options : {"--dry-run", "--seed~3", "--epsilon=3", "--train-person~y.npy"}) {
    EXPECT_THAT(
        refusal("--methods mean~" + options + " --epsilons 1", 2),
        testing::AllOf(HasSubstr(options.substr(0, options.find('~'))), HasSubstr("says nothing of how to train")));
  }
  EXPECT_THAT(refusal("--methods ~ --epsilons 1", 2), HasSubstr("--methods: one of them is empty"));
  EXPECT_THAT(refusal("--methods mean~--pool~40 --epsilons 1", 2), HasSubstr("--pool 40"));
  EXPECT_THAT(refusal("--methods public~--top-k~900 --public-x public.npy --epsilons 1", 3),
              HasSubstr("fewer than the 900"));
}

}  // namespace sweep_test
}  // namespace dpreduce
