// Ranks that trust each other are started with the same words, or with the command's name alone; what only one of them
// is told ends the job. A rank that may be a silo trusts nobody. What is wrong for all: mpi/job_command_test.
#include "tests/cli/program_test.hpp"

namespace dpreduce::job_command_test {

class JobCommandTest : public ProgramTest {
 protected:
  JobCommandTest() {
    for (const std::size_t rank : {0, 1, 2}) {
      write_rows(make_rows({40, 30, 20}, 8), numbered_npy("x", rank), numbered_npy("y", rank));
    }
    write_rows(make_rows({40, 30, 20}, 8));
    std::ofstream(folder_ / "run.toml") << fmt::format(
        "train-x = '{0}/x.npy'\ntrain-y = '{0}/y.npy'\nclasses = 3\nmethod = 'mean'\nmu = 1.0\nseed = 3\n",
        folder_.path());
  }

  // Rank 0 with arguments of its own, in the folder of run.toml; ranks 1 and 2 with others, in a folder without it.
  std::string words(const std::string& of_rank_0, const std::string& of_others) const {
    return fmt::format("{} : -n 2 -wdir {} {} {}", of_rank_0, elsewhere_.path(), program_path(), of_others);
  }

  std::string model_of(const std::string& of_rank_0, const std::string& of_others) const {
    const ProgramRun ended = run_with({.ranks = 1, .keeps_files = true},
                                      words(of_rank_0 + " --out model --ledger ledger --overwrite", of_others));
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_THAT(elsewhere_.names(), IsEmpty());  // rank 0 alone writes
    return bytes("model");
  }

  // Nothing runs, and one rank says why.
  void expect_refused(const std::string& of_rank_0, const std::string& of_others, const std::string& message) const {
    SCOPED_TRACE(of_rank_0 + " : " + of_others);
    const ProgramRun ended = run(words(of_rank_0, of_others), 1);
    expect_refusal(ended, 2, {message});
    EXPECT_LT(ended.seconds, kSecondsToEnd);
  }

  const TemporaryFolder elsewhere_;
};

TEST_F(JobCommandTest, OnlyRank0NeedsTheConfigurationFileAndOthersMayBeStartedWithTheSameWords) {
  succeed("fit --config run.toml --out alone --ledger other");
  for (const std::string& of_others :
       {std::string("fit"),
        fmt::format("fit --config {}/run.toml --out model --ledger ledger --overwrite", folder_.path())}) {
    EXPECT_TRUE(model_of("fit --config run.toml", of_others) == bytes("alone")) << of_others;
  }
}

// The file may say that it is a silo: rank 0 must get no sum of its rows.
TEST_F(JobCommandTest, ARankThatCannotReadItsOwnConfigurationFileEndsTheJob) {
  const std::string of_rank_0 = "fit --config run.toml --ledger ledger";
  const std::string message = ".toml: cannot be read (every rank reads the --config with which it was started";
  for (const char* words : {"fit --config silo.toml", "--config silo.toml fit"}) {
    expect_refused(of_rank_0, words, "--config silo" + message);
  }
  expect_refused("fit --config run.toml --secure-aggregation", "fit --config run.toml", "--config run" + message);
  write_bytes(elsewhere_ / "run.toml", "secure-aggregaton = true\n");
  expect_refused(of_rank_0, "fit --config run.toml", "'secure-aggregaton'");
  EXPECT_FALSE(has("ledger"));
}

// Each as if it were meant for a party of a run among silos: rank 0 must get no sum of its rows.
TEST_F(JobCommandTest, WhatOnlyOneRankIsToldEndsTheJob) {
  const std::string of_rank_0 = fmt::format("fit --config {}/run.toml --ledger ledger", folder_.path());
  expect_refused(of_rank_0, "fti --secure-aggregation --noise distributed --roster r --identity i --silo-config own",
                 "rank 1: 'fti' is not a command");
  expect_refused(of_rank_0, "fit --secure-agregation --noise distributed --threshold 3 --budget-epsilon 1",
                 "rank 1: --secure-agregation");
  expect_refused(of_rank_0, "", "rank 1: ");
  expect_refused(of_rank_0, "fit --train-x a.npy --train-y b.npy --classes 3 --mu 1 --threshold 2",
                 "rank 1: --threshold goes with --secure-aggregation");
  expect_refused(of_rank_0, of_rank_0 + " --mu 100", "rank 1 was started with '--seed', but rank 0 with '--mu'");
  expect_refused(of_rank_0, "predict", "rank 1 was started with 'predict', but rank 0 with 'fit'");
  EXPECT_FALSE(has("ledger"));
}

TEST_F(JobCommandTest, EachRankPutsItsOwnNumberIntoPaths) {
  const std::string own = fmt::format(" --train-x {0}/x{{rank}}.npy --train-y {0}/y{{rank}}.npy", folder_.path());
  succeed(
      "fit --config run.toml --out alone --ledger other --train-x x0.npy x1.npy x2.npy --train-y y0.npy y1.npy y2.npy");
  EXPECT_TRUE(model_of("fit --config run.toml" + own, "fit") == bytes("alone"));
}

// A party of a run among silos takes no options from rank 0, nor does rank 0 wait for one that does.
TEST_F(JobCommandTest, RanksThatAreSilosAndRanksThatAreNotDoNotRunTogether) {
  const std::string some = "--secure-aggregation: is given to some ranks";
  expect_refused("fit --config run.toml", "fit --secure-aggregation", some);
  expect_refused("fit --config run.toml --secure-aggregation", "fit", some);
  expect_refused("fit --config run.toml", "fit --silo-config a{rank}.toml", some);
  expect_refused("fit --config run.toml", "fit --roster r.toml --identity me.pem",
                 "(rank 1 is a party of a run among silos, and rank 0 is not)");
  expect_refused("fit --config run.toml --secure-aggregation", "fti --secure-aggregation", "rank 1: 'fti' is not");
}

}  // namespace dpreduce::job_command_test
