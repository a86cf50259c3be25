// dpreduce release and refit as users see them: of ranks, of silos under both kinds of noise, of persons, and resumed.
#include "common/data/safetensors.hpp"
#include "refit/kept_statistics.hpp"
#include "tests/cli/silo_test.hpp"

namespace dpreduce {
namespace {

class ReleaseTest : public AmongSilosTest {
 protected:
  void SetUp() override {
    const TrainingRows all = make_rows({90, 60, 50}, 6);
    write_rows(all);
    for (std::size_t silo = 1; silo <= 3; ++silo) {
      write_npy(all.part((silo - 1) * 60, silo == 3 ? 80 : 60), folder_ / fmt::format("x{}.npy", silo),
                folder_ / fmt::format("y{}.npy", silo));
    }
  }

  static std::string release(const std::string& options) {
    return "release --classes 3 --epsilon 4 --delta 1e-5 --quiet " + options;
  }
  static constexpr const char* kRows = "--train-x x.npy --train-y y.npy ";
  static constexpr const char* kSiloRows =
      "--secure-aggregation --silo-timeout 120 --train-x x{rank}.npy --train-y y{rank}.npy ";
  KeptStatistics statistics() const { return load_statistics(folder_ / "statistics.safetensors"); }
};

TEST_F(ReleaseTest, OfSilosThatShareTheNoiseItIsThatOfAllShares) {
  succeed(release(std::string("--statistics gram,class_sums ") + kRows));
  const double central = statistics().block("gram").sigma();
  run_among(
      3,
      release(std::string("--overwrite --noise distributed --threshold 2 --statistics gram,class_sums ") + kSiloRows),
      0);
  // Two shares suffice, and there are three.
  EXPECT_NEAR(statistics().block("gram").sigma(), std::sqrt(1.5) * central, 1e-3 * central);
  succeed("refit statistics.safetensors");
}

TEST_F(ReleaseTest, ARunThatGoesOnHasTheSameBytesAtNoFurtherCost) {
  const std::string line = release(std::string("--statistics gram,class_grams,class_sizes ") + kRows);
  ASSERT_EQ(run(line + " --report /dev/full").exit_code, 3);
  const std::string first = bytes("statistics.safetensors");
  const std::size_t charges = charges_in(bytes("ledger.jsonl")).size();
  succeed(line + " --report r.json --resume");
  EXPECT_EQ(bytes("statistics.safetensors"), first);
  EXPECT_EQ(charges_in(bytes("ledger.jsonl")).size(), charges);
}

TEST_F(ReleaseTest, APersonIsTheUnitWhereRowsSayWhose) {
  succeed(release(std::string("--statistics gram,class_sums,class_sizes --train-person y.npy --rows-per-person 2 ") +
                  kRows));
  EXPECT_TRUE(statistics().of_rows.privacy->person);
  succeed("refit statistics.safetensors --method fisher");
  EXPECT_THAT(succeed("privacy explain model.safetensors").out, HasSubstr("person"));
}

TEST_F(ReleaseTest, ARefitHasTheBytesOfAFitWithTheSameNoise) {
  for (const auto& [method, kinds] : {std::pair<std::string, std::string>{"ls", "gram,class_grams"},
                                      {"ls --shared-gram", "gram,class_sums"},
                                      {"mean", "class_sums"}}) {
    succeed("fit --classes 3 --mu 1 --seed 3 --quiet --overwrite --method " + method + " " + kRows);
    succeed("release --classes 3 --mu 1 --seed 3 --quiet --overwrite --out kept --statistics " + kinds + " " + kRows);
    succeed("refit kept --overwrite --out refitted --method " + method);
    EXPECT_EQ(bytes("refitted"), model()) << method;
  }
}

TEST_F(ReleaseTest, WhatCannotBeIsRefused) {
  expect_refused(release(std::string("--statistics gram,grams ") + kRows), 2, "--statistics grams");
  expect_refused(release(std::string("--statistics gram,gram ") + kRows), 2, "gram appears twice");
  expect_refused(release(std::string("--statistics class_sizes --max-labels 2 ") + kRows), 2, "--max-labels");
  expect_refused("release --statistics gram --classes 3 --non-private " + std::string(kRows), 2, "--non-private");
  expect_refused("fit --classes 3 --mu 1 --method release " + std::string(kRows), 2, "--method release");
  succeed(release(std::string("--statistics gram,class_sums ") + kRows));
  expect_refused("refit statistics.safetensors --method fisher", 2, "dpreduce release --statistics class_sizes");
  expect_refused("refit statistics.safetensors --method mean --intervals i.json", 2, "--intervals goes with");
  expect_refused("refit statistics.safetensors --level 0.9", 2, "--level goes with --intervals");
  expect_refused("refit statistics.safetensors --lambda deep", 2, "--lambda deep");
  expect_refused("refit statistics.safetensors --classes-kept 2-1", 2, "--classes-kept 2-1: begins after its end");
  expect_refused("refit x.npy", 3, "x.npy");
  expect_refused("predict --model statistics.safetensors --x x.npy", 3, "not dpreduce-classifier");
}

}  // namespace
}  // namespace dpreduce
