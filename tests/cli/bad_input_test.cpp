// Whatever is wrong: one message, the documented exit code, soon, and every file as it was before.
#include "tests/cli/bad_case.hpp"

namespace dpreduce::bad_input_test {

// One case, run in one way.
struct BadRun {
  BadCase bad;
  RunOptions options;
};

void PrintTo(const BadRun& run, std::ostream* stream) {
  *stream << "dpreduce " << run.bad.arguments;
}

// Every case finds these in its folder. The program itself makes them, once.
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

class BadInputTest : public ProgramTest, public testing::WithParamInterface<BadRun> {
 protected:
  BadInputTest() {
    for (const auto& [name, content] : good_files()) {
      write_bytes(folder_ / name, content);
      if (name.ends_with(".signing-key")) std::filesystem::permissions(folder_ / name, std::filesystem::perms(0600));
    }
  }
};

TEST_P(BadInputTest, EndsWithOneMessageAndTouchesNothing) {
  const auto& [bad, options] = GetParam();
  if (bad.prepare) bad.prepare(folder_);
  const auto before = content_of(folder_.path());
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

// Cases for which that is true, run as `options` say.
auto runs(RunOptions options, const std::function<bool(const BadCase&)>& is_tried) {
  std::vector<BadRun> tried;
  for (const auto& some : {bad_training_files(), bad_options(), bad_models_and_outputs(), bad_reports()}) {
    for (const BadCase& bad : some) {
      options.privileges = bad.privileges;
      if (is_tried(bad)) tried.push_back({bad, options});
    }
  }
  return testing::ValuesIn(tried);
}
bool needs_ranks(const BadCase& bad) {
  return bad.launch == Launch::kOnRanksOnly;
}
std::string case_name(const testing::TestParamInfo<BadRun>& run) {
  return run.param.bad.name;
}

INSTANTIATE_TEST_SUITE_P(Alone, BadInputTest, runs({}, std::not_fn(needs_ranks)), case_name);
// Cases of files. Words are wrong for every rank alike (job_command_test), and rank 0 alone reads reports.
INSTANTIATE_TEST_SUITE_P(OnRanks, BadInputTest,
                         runs({.ranks = 3},
                              [](const BadCase& bad) {
                                return needs_ranks(bad) || (bad.exit_code != 2 && !bad.name.starts_with("Report"));
                              }),
                         case_name);
// One for each way in which ranks come to know of a failure, and each exit code. Ranks that have joined end together,
// after the message. mpirun need not give the last of them its second of grace.
const std::set<std::string> kUnderMpirun{"UnknownOption",      "ConfigMissing",        "NotANumber",
                                         "RankWithoutItsFile", "LedgerNotWritable",    "RanksOfDifferentWidth",
                                         "LedgerEdited",       "BudgetOfTheDataSpent", "EvaluateOnOtherLabels"};
const RunOptions kMpirun{
    .ranks = 3, .form = Form::kProgram, .environment = {{"OMPI_MCA_odls_base_sigkill_timeout", "0"}}};
INSTANTIATE_TEST_SUITE_P(UnderMpirun, BadInputTest,
                         runs(kMpirun, [](const BadCase& bad) { return kUnderMpirun.contains(bad.name); }), case_name);

class BadRowsTest : public ProgramTest {};

TEST_F(BadRowsTest, CountNowhereOnRequest) {
  TrainingRows rows = make_rows({40, 40, 40}, 4);
  write_rows(rows.part(0, rows.rows() - 2), "x_without.npy", "y_without.npy");
  rows.features[(rows.rows() - 2) * rows.dim] = std::numeric_limits<float>::quiet_NaN();
  rows.features[(rows.rows() - 1) * rows.dim + 3] = std::numeric_limits<float>::infinity();
  write_rows(rows);
  const std::string fit = "fit --method mean --classes 3 --mu 1 --seed 1 --metric euclidean --train-x ";
  for (const int ranks : {0, 3}) {
    succeed(fit + "x.npy --train-y y.npy --bad-rows zero --out with", ranks);
    succeed(fit + "x_without.npy --train-y y_without.npy --out without", ranks);
    EXPECT_EQ(bytes("with"), bytes("without"));
  }
}

// A file-size limit stands in for a full disk: the write fails in the same place.
class FullDiskTest : public ProgramTest {
 protected:
  // On a disk: a file system in memory refuses what is too large before anything is written.
  static void SetUpTestSuite() { ::setenv("TMPDIR", "/tmp", 0); }
  FullDiskTest() { write_rows(make_rows({40, 40, 40}, 512)); }

  void expect_full(rlim_t largest_file, const std::string& line, const std::string& said) const {
    expect_refusal(run_with({.largest_file = largest_file}, line), 3, {said});
  }
  const std::string fit_ = "fit --method mean --train-x x.npy --train-y y.npy --classes 3 --mu 1 ";
};

TEST_F(FullDiskTest, LeavesNoHalfOfAModel) {
  expect_full(4096, fit_ + "--seed 1 --report report.json", "model.safetensors: ");
  EXPECT_THAT(folder_.names(),
              testing::UnorderedElementsAre("x.npy", "y.npy", "ledger.jsonl", "ledger.jsonl.signing-key"));
}

TEST_F(FullDiskTest, LeavesTheFormerModelAndTheLedger) {
  succeed(fit_);
  const std::string former = bytes("model.safetensors");
  const std::string ledger = bytes("ledger.jsonl");
  expect_full(ledger.size() + 100, fit_ + "--out second", "ledger.jsonl: cannot write the ledger");
  EXPECT_EQ(bytes("ledger.jsonl"), ledger) << "its next line does not fit";
  EXPECT_FALSE(has("second"));
  expect_full(4096, fit_ + "--seed 1", "model.safetensors: ");
  EXPECT_TRUE(bytes("model.safetensors") == former);
}

TEST_F(FullDiskTest, StopsTheRunWhoseReleasesOrChargesCannotBeKept) {
  expect_full(300, fit_, "ledger.jsonl: cannot write the ledger");
  EXPECT_FALSE(has("model.safetensors") || has("ledger.jsonl"));
  EXPECT_TRUE(run_files().empty());
  expect_full(100, fit_, ".releases: cannot be made");
  EXPECT_FALSE(has("ledger.jsonl"));
  expect_full(4096, fit_, ".releases: has no space for another release");
  EXPECT_TRUE(charges_in(bytes("ledger.jsonl")).empty());
}

TEST_F(FullDiskTest, LeavesNoHalfOfPredictionsOrSyntheticData) {
  succeed(fit_);
  for (const std::string scores : {"", " --scores"}) {
    expect_full(200, "predict --model model.safetensors --x x.npy --out labels.npy" + scores, "labels.npy: ");
    EXPECT_FALSE(has("labels.npy"));
  }
  expect_full(4096, "synth --out made --rows 1000 --dim 16 --shards 3", "made/train_x_0.npy: ");
  EXPECT_TRUE(!has("made") || std::filesystem::is_empty(folder_ / "made"));
}

}  // namespace dpreduce::bad_input_test
