// The cost of a run, told before it by --dry-run; and the launchers around it.
#include "common/silos/line.hpp"
#include "report/plan_report.hpp"
#include "tests/cli/program_test.hpp"

namespace dpreduce::cost_test {

class CostTest : public ProgramTest {
 protected:
  CostTest() { write_rows(make_rows({300, 200, 100}, 16)); }

  const std::string fit_ = "fit --train-x x.npy --train-y y.npy --classes 3 --mu 1 ";
};

TEST_F(CostTest, ADryRunTellsMemoryAndWire) {
  for (const std::string method : {"auto", "mean", "ls", "newton --warm-start --choose", "fc --pca 4 --center dp"}) {
    for (const int ranks : {0, 3}) {
      SCOPED_TRACE(method);
      const json cost = figures(fit_ + "--dry-run --method " + method, ranks)["cost"];
      EXPECT_EQ(cost["for_release"], false);
      EXPECT_EQ(cost["ranks"], ranks == 0 ? 1 : ranks);
      EXPECT_GT(cost["memory_bytes_per_rank"], 1 << 20);
      EXPECT_GT(cost["memory_bytes_available"], cost["memory_bytes_per_rank"]);
      EXPECT_EQ(cost["wire_bytes_per_rank"] > 0.0, ranks == 3);
      EXPECT_EQ(cost["wire_bytes"], (cost["ranks"].get<int>() - 1) * cost["wire_bytes_per_rank"].get<double>());
    }
  }
}

TEST_F(CostTest, EveryLineThatTheNumberOfRowsDecidesIsMarked) {
  const std::string few = succeed(fit_ + "--dry-run").out;
  EXPECT_THAT(few, HasSubstr("not for release"));
  write_rows(make_rows({3000, 2000, 1000}, 16));
  const auto unmarked = [](const std::string& text) {
    std::vector<std::string> lines = lines_of(text);
    std::erase_if(lines, [](const std::string& line) { return line.starts_with("cost"); });
    return lines;
  };
  EXPECT_EQ(unmarked(succeed(fit_ + "--dry-run").out), unmarked(few));
}

TEST_F(CostTest, ADryRunReadsNoRowsAndARealRunTellsNoCost) {
  EXPECT_THAT(succeed(fit_ + "--method mean --report r.json").out, Not(HasSubstr("cost")));
  EXPECT_FALSE(document("r.json").contains("cost"));
  TrainingRows rows = make_rows({300, 200, 100}, 16);
  rows.features[5] = std::numeric_limits<float>::quiet_NaN();
  rows.labels[7] = 99;
  write_rows(rows);
  succeed(fit_ + "--dry-run");
  EXPECT_EQ(run(fit_).exit_code, 3);
}

TEST_F(CostTest, WhatCannotFitIsRefusedBeforeAnythingIsReadOrWritten) {
  // The Gram matrix of a million features: 16 TB.
  TrainingRows rows{1'000'000, std::vector<float>(2'000'000, std::numeric_limits<float>::quiet_NaN()), {0, 1}};
  write_rows(rows);
  const std::string fit = "fit --train-x x.npy --train-y y.npy --classes 2 --mu 1 --method ";
  for (const std::string dry : {"", " --dry-run"}) {
    for (const int ranks : {0, 2}) {
      expect_refused(fit + "ls --shared-gram" + dry, 2, "not enough memory: a rank needs", ranks);
    }
  }
  EXPECT_EQ(run(fit + "mean --dry-run").exit_code, 0) << "what fits is not refused";
}

TEST(RoundedUp, HasTwoDigitsAndIsNeverLess) {
  EXPECT_EQ(rounded_up(0.0), 0.0);
  for (const auto& [exact, up] : {std::pair{10007.0, 11000.0}, {0.0123, 0.013}, {4200.0, 4200.0}, {99.5, 100.0}}) {
    EXPECT_NEAR(rounded_up(exact), up, 1e-11 * up);
  }
}

class LauncherTest : public CostTest {
 protected:
  // Runs a launcher of the source folder, which is to end with this code. Returns what it prints.
  std::string launched(const std::string& arguments, int code = 0, const std::string& environment = "") const {
    const ProgramRun run =
        run_in_shell(environment + DPREDUCE_SCRIPT_ENVIRONMENT " '" DPREDUCE_SOURCE "/'" + arguments);
    EXPECT_EQ(run.exit_code, code) << arguments << ": " << run.out;
    return run.out;
  }
};

TEST_F(LauncherTest, WrongArgumentsAreUsageErrors) {
  const std::map<std::string, std::vector<std::string>> wrong{
      {"launch/scaling", {"", "out 0", "out two"}},
      {"launch/scale-imagenet", {"", "--rows 10", "out --rows ten", "out --rows 1x", "out --cats 3"}},
      {"launch/simulate-silos",
       {"", "data", "absent 3", ". 3 --silos 0", ". 3 --partition fair", ". 3 --loss 100", ". 3 --threshold 2",
        ". 3 --secure --method fedavg"}},
      {"bench/compare", {"--rows", "--rows 0", "--dogs 3"}},
      {"launch/slurm/ranks", {"", "2"}},
      {"launch/slurm/preflight", {"2", "2 predict", "two fit"}}};
  for (const auto& [launcher, lines] : wrong) {
    for (const std::string& arguments : lines) EXPECT_NE(launched(launcher + " " + arguments, 2), "") << arguments;
  }
}

// OpenBLAS' kernels round differently, and its own choice of them depends on its version.
TEST_F(LauncherTest, AStartWithoutALauncherWritesTheSameModel) {
  unsetenv("OPENBLAS_CORETYPE");
  const std::string arguments = fit_ + "--method ls --shared-gram --seed 7 --out ";
  launched("launch/local 1 " + arguments + "launched");
  const ProgramRun bare = run_with({.form = Form::kProgram}, arguments + "bare");
  ASSERT_EQ(bare.exit_code, 0) << bare.err;
  EXPECT_EQ(bytes("launched"), bytes("bare"));
}

// The script itself ends with 1 where a model over silos is not that of the pooled rows.
TEST_F(LauncherTest, SimulatedSilosGiveThePooledModelsAndOneTable) {
  succeed("synth --out . --kind gaussian-mixture --rows 400 --test-rows 100 --dim 8 --classes 3");
  launched(
      "launch/simulate-silos . 3 --silos 3 --epsilon 8 --partition dirichlet-0.1 --method ls --method mean --method "
      "fedavg --rounds 6 --out table");
  const auto rows = lines_of(bytes("table/silos.md"));
  ASSERT_EQ(rows.size(), 7u) << "a line, a blank, a head of two lines, three methods";
  EXPECT_THAT(rows[4], testing::MatchesRegex("\\| dirichlet-0.1 \\| ls \\| 0[.][0-9]+ \\| same bits \\| 3 \\|.*"));
  EXPECT_THAT(rows[6],
              testing::MatchesRegex("\\| dirichlet-0.1 \\| fedavg \\| 0[.][0-9]+ \\| other steps \\| 8 \\|.*"));
  const json summary = document("table/silos.json");
  ASSERT_EQ(summary.size(), 3u);
  // The center: d + 1 words up, d down; its second step: d up, d + 1 down. A round: K (d + 1) words up and down.
  EXPECT_EQ(summary[2]["bytes_per_silo"], 8 * (8 + 1 + 8 + 8 + 1 + 8 + 6 * 2 * 3 * 9));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ / "table"), {}), 2);  // no silo's files
}

TEST_F(LauncherTest, SimulatedSilosMaskTheirSumsAndLoseOneOnPurpose) {
  succeed("synth --out . --kind gaussian-mixture --rows 400 --test-rows 100 --dim 8 --classes 3");
  const std::string arguments = "launch/simulate-silos . 3 --silos 3 --epsilon 8 --partition iid --method ls --secure ";
  launched(arguments + "--round-trip 50 --bandwidth 1000 --packet-loss 1 --out whole");
  const auto rows = lines_of(bytes("whole/silos.md"));
  EXPECT_THAT(rows.back(), testing::MatchesRegex("\\| iid \\| ls \\| 0[.][0-9]+ \\| same bits \\| 3 \\|.*\\| - \\|"));
  // Messages take the time that the model says, and silos theirs: an offer may come before its silo has a line.
  const json counted = document("whole/silos.json")[0];
  const double of_silo = counted["bytes_per_silo"];
  EXPECT_GT(of_silo, 8 * (45 + 24));
  const LineTerms line{.round_trip = 0.05, .bandwidth = 1000e6 / 8, .loss = 0.01};
  const double on_the_way = counted["round_trips"].get<int>() * line.round_trip;
  EXPECT_LT(bytes_per_second(line), line.bandwidth);
  EXPECT_NEAR(counted["network_seconds"], on_the_way + of_silo / bytes_per_second(line), 1e-6);
  EXPECT_GT(counted["round_trips"], 10);
  EXPECT_GT(counted["seconds"], on_the_way - line.round_trip);

  launched(arguments + "--round-trip 1 --threshold 2 --fault 2:kill@masked --noise distributed --out lost");
  EXPECT_EQ(document("lost/silos.json")[0]["lost"], json::array({2}));
  launched(arguments + "--round-trip 1 --threshold 3 --fault 2:kill@masked --out refused");
  EXPECT_THAT(bytes("refused/silos.md"), HasSubstr("refused: too few silos left"));
}

TEST_F(LauncherTest, TheImagenetShapeRunsSmall) {
  expect_parts(launched("launch/scale-imagenet data --rows 2000 --dim 16 --classes 4 --shards 3 --ranks 2"),
               {"ls ", "ls-shared ", "fc-10 ", "mean ", "MiB a rank"});
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "data")) << "the data is removed";
  launched("launch/scale-imagenet data --rows 900000000000 --dim 4096", 2);  // no such disk
}

TEST_F(LauncherTest, ThePreflightPassesOnThePlanAndItsRefusals) {
  const std::string arguments = " 2 " + fit_;
  EXPECT_THAT(launched("launch/slurm/preflight" + arguments), HasSubstr("2 ranks, ready"));
  EXPECT_EQ(folder_.names().size(), 2u) << "x.npy and y.npy";
  EXPECT_THAT(launched("launch/slurm/preflight 2 fit --train-x none.npy --train-y y.npy --classes 3 --mu 1", 3),
              HasSubstr("none.npy: No such file or directory; check the path\npreflight: not ready"));
  // A launcher whose ranks are single processes.
  write_bytes(folder_ / "mpirun", "#!/bin/sh\nshift 3\nSLURM_STEP_NUM_TASKS=2 exec \"$@\"\n");
  std::filesystem::permissions(folder_ / "mpirun", std::filesystem::perms::owner_all);
  EXPECT_THAT(launched("launch/slurm/preflight" + arguments, 2, "PATH=\"$PWD:$PATH\" "),
              HasSubstr("preflight: the ranks start, but do not find each other; choose another SRUN_OPTIONS"));
}

}  // namespace dpreduce::cost_test
