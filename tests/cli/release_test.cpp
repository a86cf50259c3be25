// dpreduce release and refit as users see them: of ranks, of silos under both kinds of noise, of persons, and resumed.
#include "common/data/safetensors.hpp"
#include "refit/kept_statistics.hpp"
#include "tests/cli/program_test.hpp"

namespace dpreduce::release_test {

const std::string kRows = "--train-x x.npy --train-y y.npy ";

class ReleaseTest : public ProgramTest {
 protected:
  void SetUp() override {
    const TrainingRows all = make_rows({90, 60, 50}, 6);
    write_rows(all);
    write_silos(all, {60, 60, 80});
  }
  static std::string release(const std::string& options, const std::string& rows = kRows) {
    return "release --classes 3 --epsilon 4 --delta 1e-5 --quiet " + rows + options;
  }
  KeptStatistics statistics() const { return load_statistics(folder_ / "statistics.safetensors"); }
};

TEST_F(ReleaseTest, OfSilosThatShareTheNoiseItIsThatOfAllShares) {
  const std::string of_all = "--statistics gram,class_sums,class_grams";
  succeed(release(of_all));
  const KeptStatistics central = statistics();
  run_among(3,
            release("--overwrite --noise distributed --threshold 2 --secure-aggregation --silo-timeout 120 " + of_all,
                    "--train-x x{rank}.npy --train-y y{rank}.npy "),
            0);
  // Two shares suffice, and there are three.
  for (const char* block : {"gram", "class_sums", "class_grams"}) {
    const double sigma = central.block(block).sigma();
    EXPECT_NEAR(statistics().block(block).sigma(), std::sqrt(1.5) * sigma, 1e-3 * sigma) << block;
  }
  succeed("refit statistics.safetensors");
}

TEST_F(ReleaseTest, ARunThatGoesOnHasTheSameBytesAtNoFurtherCost) {
  const std::string line = release("--statistics gram,class_grams,class_sizes");
  expect_code(line + " --report /dev/full", 3);
  const std::string first = bytes("statistics.safetensors");
  const std::size_t charges = charges_in(bytes("ledger.jsonl")).size();
  succeed(line + " --report r.json --resume");
  EXPECT_EQ(bytes("statistics.safetensors"), first);
  EXPECT_EQ(charges_in(bytes("ledger.jsonl")).size(), charges);
}

TEST_F(ReleaseTest, APersonIsTheUnitWhereRowsSayWhose) {
  succeed(release("--statistics gram,class_sums,class_sizes --train-person y.npy --rows-per-person 2"));
  EXPECT_TRUE(statistics().of_rows.privacy->person);
  succeed("refit statistics.safetensors --method fisher");
  EXPECT_THAT(succeed("privacy explain model.safetensors").out, HasSubstr("person"));
}

// What statistics do not have: tests/refit/refit_test.cpp.
TEST_F(ReleaseTest, WhatCannotBeIsRefused) {
  expect_refused(release("--statistics gram,grams"), 2, "--statistics grams");
  expect_refused(release("--statistics gram,gram"), 2, "gram appears twice");
  expect_refused(release("--statistics class_sizes --max-labels 2"), 2, "--max-labels");
  expect_refused("release --statistics gram --classes 3 --non-private " + kRows, 2, "--non-private");
  expect_refused("fit --classes 3 --mu 1 --method release " + kRows, 2, "--method release");
  succeed(release("--statistics gram,class_sums"));
  const std::string refit = "refit statistics.safetensors ";
  expect_refused(refit + "--method mean --intervals i.json", 2, "--intervals goes with");
  expect_refused(refit + "--level 0.9", 2, "--level goes with --intervals");
  expect_refused(refit + "--lambda deep", 2, "--lambda deep");
  expect_refused(refit + "--classes-kept 2-1", 2, "--classes-kept 2-1: begins after its end");
  expect_refused("refit x.npy", 3, "x.npy");
  expect_refused("predict --model statistics.safetensors --x x.npy", 3, "not dpreduce-classifier");
}

}  // namespace dpreduce::release_test
