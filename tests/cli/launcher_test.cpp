// How the program starts. A launcher that has started several processes which do not find each other: each would make a
// whole run, and charge it. A folder whose files are named like libraries.
#include "tests/cli/process_watch.hpp"
#include "tests/cli/program_test.hpp"

namespace dpreduce::launcher_test {

using Environment = std::vector<std::pair<std::string, std::string>>;

class SingleProcessTest : public ProgramTest {
 protected:
  SingleProcessTest() { write_rows(make_rows({40, 30, 20}, 8)); }

  ProgramRun fit(const Environment& environment, int ranks = 0) const {
    RunOptions options{.ranks = ranks, .form = Form::kProgram, .environment = environment};
    if (ranks > 0) options.launcher_options = {"-x", environment.front().first};
    return run_with(options, fit_ + "mean");
  }
  void expect_refused(const ProgramRun& run, const std::string& variable) const {
    SCOPED_TRACE(variable);
    expect_refusal(run, 2, {"dpreduce: " + variable, "alone in its MPI job", "DPREDUCE_SINGLE_PROCESS=1"});
    EXPECT_FALSE(has("ledger") || has("model"));
  }

  const std::string fit_ =
      "fit --train-x x.npy --train-y y.npy --classes 3 --mu 1 --threads 1 --out model --ledger ledger --method ";
};

TEST_F(SingleProcessTest, AProcessThatWasStartedWithOthersAndIsAloneIsRefused) {
  // srun without PMI
  expect_refused(fit({{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_NTASKS", "4"}}),
                 "SLURM_STEP_NUM_TASKS=4");
  expect_refused(fit({{"SLURM_STEP_ID", "0"}, {"SLURM_NTASKS", "4"}}), "SLURM_NTASKS=4");
  // a launcher of another MPI, that tells no rank in a way that is known here
  for (const auto& variable :
       Environment{{"PMI_SIZE", "3"}, {"MV2_COMM_WORLD_SIZE", "2"}, {"PALS_LOCAL_SIZE", "2"}, {"PALS_RANKID", "1"}}) {
    expect_refused(fit({variable}), variable.first + "=" + variable.second);
  }
  // MPI starts, and finds nobody else.
  expect_refused(fit({{"SLURM_STEP_NUM_TASKS", "4"}}, 1), "SLURM_STEP_NUM_TASKS=4");
}

TEST_F(SingleProcessTest, ASingleProcessRunsWhereItIsMeant) {
  EXPECT_EQ(fit({{"SLURM_STEP_NUM_TASKS", "4"}, {"DPREDUCE_SINGLE_PROCESS", "1"}}).exit_code, 0);
  EXPECT_EQ(fit({{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_NTASKS", "4"}}).exit_code, 0);
  EXPECT_EQ(fit({{"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "4"}}).exit_code, 0);  // a script in an allocation
  EXPECT_EQ(fit({{"SLURM_STEP_NUM_TASKS", "4"}}, 3).exit_code, 0);              // all of a job
}

// Whoever can write where the program is started would else run code of theirs in it, beside the exact sums.
TEST_F(SingleProcessTest, NoLibraryIsTakenFromTheFolderItIsStartedIn) {
  for (const char* library : {"libc.so.6", "libstdc++.so.6", "libcrypto.so.3", "libmpi.so.40", "libfmt.so.9"}) {
    write_bytes(folder_ / library, "no library");
  }
  EXPECT_EQ(fit({}).exit_code, 0);
}

// Messages between ranks of one machine lie in memory that they share, under a name.
TEST_F(SingleProcessTest, WhatRanksShareLiesInFoldersOfTheirOwn) {
  RunningProgram program(split_arguments(fit_ + "gd --rounds 600"),
                         {.folder = folder_.path(), .ranks = 2, .form = Form::kProgram});
  std::set<std::string> segments;
  ASSERT_TRUE(is_so_within(kSecondsToEnd, [&] {
    for (const ProcessEntry& process : processes_with(program.mark())) {
      std::ifstream maps(fmt::format("/proc/{}/maps", process.pid));
      for (std::string line; std::getline(maps, line);) {
        if (line.find("vader_segment") != line.npos) segments.insert(line.substr(line.find('/')));
      }
    }
    return segments.size() >= 2;
  }));
  for (const std::string& segment : segments) {
    EXPECT_THAT(segment, StartsWith("/dev/shm/dpreduce."));
    const auto folder = std::filesystem::path(segment).parent_path();
    EXPECT_EQ(std::filesystem::status(folder).permissions(), std::filesystem::perms::owner_all);
  }
  EXPECT_EQ(program.finish().exit_code, 0);
  for (const std::filesystem::path segment : segments) EXPECT_FALSE(std::filesystem::exists(segment.parent_path()));
}

// Open MPI would take components from a folder "(null)" of the current one.
TEST_F(SingleProcessTest, WithoutAHomeNothingIsLoadedFromTheFolderItIsStartedIn) {
  const std::filesystem::path components = std::filesystem::path(folder_ / "(null)") / ".openmpi" / "components";
  std::filesystem::create_directories(components);
  std::ofstream(components / "mca_btl_planted.so") << "no component";
  const ProgramRun shown = run_in_shell("env -u HOME OMPI_COMM_WORLD_RANK=0 " + program_path() + " --version");
  EXPECT_EQ(shown.exit_code, 0) << shown.out;
  EXPECT_THAT(shown.out, Not(HasSubstr("planted")));
}

}  // namespace dpreduce::launcher_test
