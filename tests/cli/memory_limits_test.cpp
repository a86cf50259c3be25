// Where a process may not have the memory that a fit takes, it ends before anything is charged.
#include "tests/cli/program_test.hpp"

namespace dpreduce::memory_limits_test {

class MemoryLimitsTest : public ProgramTest {
 protected:
  MemoryLimitsTest() { write_rows(make_rows({60, 60, 60}, 40)); }

  // Under a limit of a shell's ulimit, in KiB; 124 where it did not end by itself.
  ProgramRun fit(const std::string& limit, const std::string& method) const {
    return program(limit,
                   "fit --train-x x.npy --train-y y.npy --classes 3 --epsilon 1 --delta 1e-6 --threads 1 --out model "
                   "--ledger ledger --overwrite --method " +
                       method);
  }

  ProgramRun program(const std::string& limit, const std::string& words) const {
    return run_in_shell(fmt::format("ulimit {} && exec timeout 20 {} {}", limit, program_path(), words));
  }
  static void expect_no_room(const ProgramRun& run, const std::string& said) {
    EXPECT_EQ(run.exit_code, 2) << run.out;
    EXPECT_THAT(run.out, HasSubstr(said));
  }
};

// OpenBLAS, which cannot have what it works in, tries again for ever.
TEST_F(MemoryLimitsTest, ALimitThatIsTooSmallAloneIsRefusedBeforeAnythingIsCharged) {
  for (const char* method : {"ls", "fc --rounds 2", "newton --rounds 2"}) {
    for (const char* limit : {"-v 110000", "-v 150000", "-v 200000", "-d 100000"}) {
      SCOPED_TRACE(std::string(method) + " ulimit " + limit);
      const ProgramRun run = fit(limit, method);
      expect_no_room(run, "not enough memory");
      EXPECT_THAT(run.out, HasSubstr("ulimit -v"));
      EXPECT_FALSE(has("ledger") || has("model"));
    }
  }
  for (const char* method : {"ls", "fc --rounds 2", "newton --rounds 2"}) {
    const ProgramRun run = fit("-v 1000000", method);
    EXPECT_EQ(run.exit_code, 0) << run.out;
  }
}

// Of the plan, once OpenBLAS has its own: rows and matrices of 2,000 features.
TEST_F(MemoryLimitsTest, ThePlanKeepsToTheLimitsOfTheProcess) {
  write_rows(make_rows({20, 20, 20}, 2000));
  expect_no_room(fit("-v 450000", "ls"), "this process can allocate");
  EXPECT_FALSE(has("ledger"));
}

TEST_F(MemoryLimitsTest, AnEvaluationKeepsToTheLimitsOfTheProcess) {
  ASSERT_EQ(fit("-v unlimited", "mean").exit_code, 0);
  const std::string evaluate = "evaluate --model model --x x.npy --y y.npy";
  EXPECT_EQ(program("-v 1000000", evaluate).exit_code, 0);
  // A model of many classes beside a small limit: what it takes to score rows is planned.
  write_rows(make_rows({20, 20, 20}, 2000));
  ASSERT_EQ(program("-v unlimited",
                    "fit --train-x x.npy --train-y y.npy --classes 4000 --mu 1 --method mean --out model --ledger "
                    "ledger --overwrite")
                .exit_code,
            0);
  const ProgramRun refused = program("-v 500000", evaluate);
  expect_no_room(refused, "not enough memory");
  EXPECT_THAT(refused.out, HasSubstr("test fewer rows at a time"));
}

TEST_F(MemoryLimitsTest, IntervalsKeepToTheLimitsOfTheProcess) {
  const std::string released = "release --statistics gram,class_sums --classes 3 --epsilon 4 --delta 1e-5 --quiet";
  write_rows(make_rows({90, 60, 50}, 6));
  ASSERT_EQ(program("-v unlimited", released + " --train-x x.npy --train-y y.npy").exit_code, 0);
  constexpr std::size_t kRowsOfHole = std::size_t{1} << 22;
  std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, 6), }}", kRowsOfHole);
  header.resize(117, ' ');
  std::ofstream(folder_ / "hole.npy", std::ios::binary) << std::string("\x93NUMPY\x01\0\x76\0", 10) << header << '\n';
  std::filesystem::resize_file(folder_ / "hole.npy", 128 + kRowsOfHole * 6 * sizeof(float));
  expect_no_room(program("-v 1000000", "refit statistics.safetensors --intervals i.json --intervals-x hole.npy"),
                 "give fewer rows of --intervals-x at a time");
}

}  // namespace dpreduce::memory_limits_test
