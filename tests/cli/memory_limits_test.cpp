// A process that may not have the memory of a fit ends before anything is charged.
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
  static void expect_no_room(const ProgramRun& run, const std::vector<std::string>& said) {
    EXPECT_EQ(run.exit_code, 2) << run.out;
    expect_parts(run.out, said);
  }
};

// OpenBLAS, which cannot have what it works in, tries again for ever.
TEST_F(MemoryLimitsTest, ALimitThatIsTooSmallAloneIsRefusedBeforeAnythingIsCharged) {
  for (const char* method : {"ls", "fc --rounds 2", "newton --rounds 2"}) {
    SCOPED_TRACE(method);
    for (const char* limit : {"-v 110000", "-v 150000", "-v 200000", "-d 100000"}) {
      SCOPED_TRACE(limit);
      expect_no_room(fit(limit, method), {"not enough memory", "ulimit -v"});
      EXPECT_FALSE(has("ledger") || has("model"));
    }
    const ProgramRun run = fit("-v 1000000", method);
    EXPECT_EQ(run.exit_code, 0) << run.out;
    for (const char* made : {"ledger", "model"}) std::filesystem::remove(folder_ / made);
  }
}

// OpenBLAS has its own memory here. The plan is of rows and matrices of 2,000 features.
TEST_F(MemoryLimitsTest, ThePlanKeepsToTheLimitsOfTheProcess) {
  write_rows(make_rows({20, 20, 20}, 2000));
  expect_no_room(fit("-v 450000", "ls"), {"this process can allocate"});
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
  expect_no_room(program("-v 500000", evaluate), {"not enough memory", "test fewer rows at a time"});
}

TEST_F(MemoryLimitsTest, IntervalsKeepToTheLimitsOfTheProcess) {
  write_rows(make_rows({90, 60, 50}, 6));
  succeed(
      "release --statistics gram,class_sums --classes 3 --epsilon 4 --delta 1e-5 --quiet --train-x x.npy --train-y "
      "y.npy");
  constexpr std::size_t kRowsOfHole = std::size_t{1} << 22;
  const std::string header = npy_header_bytes(npy_text("<f4", fmt::format("({}, 6)", kRowsOfHole)));
  write_bytes(folder_ / "hole.npy", header);
  std::filesystem::resize_file(folder_ / "hole.npy", header.size() + kRowsOfHole * 6 * sizeof(float));
  expect_no_room(program("-v 1000000", "refit statistics.safetensors --intervals i.json --intervals-x hole.npy"),
                 {"give fewer rows of --intervals-x at a time"});
}

}  // namespace dpreduce::memory_limits_test
