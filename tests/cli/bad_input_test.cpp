// Whatever is wrong: one message, the documented exit code, soon, and every file as it was before.
#include <cstdlib>
#include <ostream>

#include "tests/cli/bad_case.hpp"

namespace dpreduce {

// How GoogleTest shows a case.
static void PrintTo(const BadCase& bad, std::ostream* stream) {
  *stream << "dpreduce " << bad.arguments;
}

namespace bad_input_test {

// What every case finds in its folder, made once by the program itself.
const std::map<std::string, std::string>& good_files() {
  static const std::map<std::string, std::string> files = [] {
    const TemporaryFolder folder;
    write_npy(make_rows({4, 4, 4}, 4), folder / "x.npy", folder / "y.npy");
    for (int ledger_line = 1; ledger_line <= 2; ++ledger_line) {
      const ProgramRun run = run_program(split_arguments(kGoodFit), {.folder = folder.path()});
      if (run.exit_code != 0) throw std::runtime_error("the good fit failed: " + run.err);
    }
    return content_of(folder.path());
  }();
  return files;
}

void write_good_files(const TemporaryFolder& folder) {
  for (const auto& [name, bytes] : good_files()) {
    write_bytes(folder / name, bytes);
    if (!name.ends_with(".signing-key")) continue;
    std::filesystem::permissions(folder / name,
                                 std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }
}

class BadInputTest : public ProgramTest, public testing::WithParamInterface<BadCase> {
 protected:
  void expect_answer(RunOptions options) const {
    const BadCase& bad = GetParam();
    write_good_files(folder_);
    if (bad.prepare) bad.prepare(folder_);
    const auto before = content_of(folder_.path());
    options.privileges = bad.privileges;
    const ProgramRun run = run_with(options, bad.arguments);

    expect_refusal(run, bad.exit_code, {bad.message});
    EXPECT_EQ(lines_of(run.err).size(), 1u) << run.err;
    EXPECT_LT(run.seconds, kSecondsToEnd);
    const auto after = content_of(folder_.path());
    for (const auto& [name, content] : before) {
      EXPECT_TRUE(after.contains(name) && after.at(name) == content) << name << " was changed, or is gone";
    }
    for (const auto& [name, content] : after) EXPECT_TRUE(before.contains(name)) << name << " was left behind";
  }
};

class BadInputAloneTest : public BadInputTest {};
class BadInputOnRanksTest : public BadInputTest {};
class BadInputUnderMpirunTest : public BadInputTest {};

TEST_P(BadInputAloneTest, EndsWithOneMessageAndTouchesNothing) {
  expect_answer({});
}
TEST_P(BadInputOnRanksTest, EndsWithOneMessageAndTouchesNothing) {
  expect_answer({.ranks = 3});
}
// Ranks that have joined end together, after the message. mpirun need not give the last of them its second of grace.
TEST_P(BadInputUnderMpirunTest, EndsWithOneMessageAndTouchesNothing) {
  expect_answer({.ranks = 3, .form = Form::kProgram, .environment = {{"OMPI_MCA_odls_base_sigkill_timeout", "0"}}});
}

std::vector<BadCase> bad_cases() {
  std::vector<BadCase> cases;
  for (const auto& some : {bad_training_files(), bad_options(), bad_models_and_outputs(), bad_reports()}) {
    cases.insert(cases.end(), some.begin(), some.end());
  }
  return cases;
}
std::vector<BadCase> cases_alone() {
  std::vector<BadCase> cases = bad_cases();
  std::erase_if(cases, [](const BadCase& bad) { return bad.launch == Launch::kOnRanksOnly; });
  return cases;
}
// What files make of it. Words are wrong for every rank alike (job_command_test), and rank 0 alone reads reports.
std::vector<BadCase> cases_on_ranks() {
  std::vector<BadCase> cases = bad_cases();
  std::erase_if(cases, [](const BadCase& bad) {
    return bad.launch != Launch::kOnRanksOnly && (bad.exit_code == 2 || bad.name.starts_with("Report"));
  });
  return cases;
}
// One for each way in which ranks come to know of a failure, and each exit code.
std::vector<BadCase> cases_under_mpirun() {
  std::vector<BadCase> cases = bad_cases();
  std::erase_if(cases, [](const BadCase& bad) {
    const std::set<std::string> names{"UnknownOption",      "ConfigMissing",        "NotANumber",
                                      "RankWithoutItsFile", "LedgerNotWritable",    "RanksOfDifferentWidth",
                                      "LedgerEdited",       "BudgetOfTheDataSpent", "EvaluateOnOtherLabels"};
    return !names.contains(bad.name);
  });
  return cases;
}
std::string case_name(const testing::TestParamInfo<BadCase>& bad) {
  return bad.param.name;
}

INSTANTIATE_TEST_SUITE_P(, BadInputAloneTest, testing::ValuesIn(cases_alone()), case_name);
INSTANTIATE_TEST_SUITE_P(, BadInputOnRanksTest, testing::ValuesIn(cases_on_ranks()), case_name);
INSTANTIATE_TEST_SUITE_P(, BadInputUnderMpirunTest, testing::ValuesIn(cases_under_mpirun()), case_name);

class BadRowsTest : public ProgramTest {};

TEST_F(BadRowsTest, CountNowhereOnRequest) {
  TrainingRows rows = make_rows({40, 40, 40}, 4);
  write_rows(rows.part(0, rows.rows() - 2), "x_without.npy", "y_without.npy");
  rows.features[(rows.rows() - 2) * rows.dim] = std::numeric_limits<float>::quiet_NaN();
  rows.features[(rows.rows() - 1) * rows.dim + 3] = std::numeric_limits<float>::infinity();
  write_rows(rows);
  const std::string fit = "fit --method mean --classes 3 --mu 1 --seed 1 --metric euclidean ";
  for (const int ranks : {0, 3}) {
    succeed(fit + "--train-x x.npy --train-y y.npy --bad-rows zero --out with", ranks);
    succeed(fit + "--train-x x_without.npy --train-y y_without.npy --out without", ranks);
    EXPECT_EQ(bytes("with"), bytes("without"));
  }
}

// A file-size limit stands in for a full disk: the write fails in the same place.
class FullDiskTest : public ProgramTest {
 protected:
  // On a disk: a file system in memory refuses what is too large before anything is written.
  static void SetUpTestSuite() { ::setenv("TMPDIR", "/tmp", 0); }
  FullDiskTest() { write_rows(make_rows({40, 40, 40}, 512)); }

  ProgramRun run_limited(rlim_t largest_file, const std::string& line) const {
    return run_with({.largest_file = largest_file}, line);
  }
  const std::string fit_ = "fit --method mean --train-x x.npy --train-y y.npy --classes 3 --mu 1 ";
};

TEST_F(FullDiskTest, LeavesNoHalfOfAModel) {
  expect_refusal(run_limited(4096, fit_ + "--seed 1 --report report.json"), 3, {"model.safetensors: "});
  EXPECT_THAT(folder_.names(),
              testing::UnorderedElementsAre("x.npy", "y.npy", "ledger.jsonl", "ledger.jsonl.signing-key"));
}

TEST_F(FullDiskTest, LeavesTheFormerModelAndTheLedger) {
  succeed(fit_);
  const std::string former = bytes("model.safetensors");
  const std::string ledger = bytes("ledger.jsonl");
  expect_refusal(run_limited(ledger.size() + 100, fit_ + "--out second"), 3, {"ledger.jsonl: cannot write the ledger"});
  EXPECT_EQ(bytes("ledger.jsonl"), ledger) << "its next line does not fit";
  EXPECT_FALSE(has("second"));
  expect_refusal(run_limited(4096, fit_ + "--seed 1"), 3, {"model.safetensors: "});
  EXPECT_TRUE(bytes("model.safetensors") == former);
}

TEST_F(FullDiskTest, StopsTheRunWhoseReleasesOrChargesCannotBeKept) {
  expect_refusal(run_limited(300, fit_), 3, {"ledger.jsonl: cannot write the ledger"});
  EXPECT_FALSE(has("model.safetensors") || has("ledger.jsonl"));
  EXPECT_TRUE(run_files().empty());
  expect_refusal(run_limited(100, fit_), 3, {".releases: cannot be made"});
  EXPECT_FALSE(has("ledger.jsonl"));
  expect_refusal(run_limited(4096, fit_), 3, {".releases: has no space for another release"});
  EXPECT_TRUE(charges_in(bytes("ledger.jsonl")).empty());
}

TEST_F(FullDiskTest, LeavesNoHalfOfPredictionsOrSyntheticData) {
  succeed(fit_);
  for (const std::string scores : {"", " --scores"}) {
    expect_refusal(run_limited(200, "predict --model model.safetensors --x x.npy --out labels.npy" + scores), 3,
                   {"labels.npy: "});
    EXPECT_FALSE(has("labels.npy"));
  }
  expect_refusal(run_limited(4096, "synth --out made --rows 1000 --dim 16 --shards 3"), 3, {"made/train_x_0.npy: "});
  EXPECT_TRUE(!has("made") || std::filesystem::is_empty(folder_ / "made"));
}

}  // namespace bad_input_test
}  // namespace dpreduce
