// Whatever is wrong: one message, the documented exit code, soon, and every file as it was before.
#include <algorithm>
#include <filesystem>
#include <limits>
#include <ostream>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/bad_case.hpp"
#include "tests/cli/training_files.hpp"

namespace dpreduce {

// How GoogleTest shows a case.
static void PrintTo(const BadCase& bad, std::ostream* stream) {
  *stream << "dpreduce " << bad.arguments;
}

namespace bad_input_test {

using testing::HasSubstr;
using testing::StartsWith;

constexpr double kSecondsToEnd = 5.0;

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

class BadInputTest : public testing::TestWithParam<BadCase> {
 protected:
  void expect_answer(int ranks) {
    const BadCase& bad = GetParam();
    const TemporaryFolder folder;
    write_good_files(folder);
    if (bad.prepare) bad.prepare(folder);
    const auto before = content_of(folder.path());
    RunOptions options{.folder = folder.path(), .ranks = ranks, .privileges = bad.privileges};
    // Ranks that have joined end together, after the message. mpirun need not give the last of them its second of
    // grace.
    options.environment = {{"OMPI_MCA_odls_base_sigkill_timeout", "0"}};
    const ProgramRun run = run_program(split_arguments(bad.arguments), options);

    EXPECT_EQ(run.exit_code, bad.exit_code) << run.err;
    const std::vector<std::string> lines = lines_of(run.err);
    ASSERT_EQ(lines.size(), 1u) << run.err;
    EXPECT_THAT(lines.front(), StartsWith("dpreduce: "));
    EXPECT_THAT(lines.front(), HasSubstr(bad.message));
    EXPECT_EQ(run.out, "");
    EXPECT_LT(run.seconds, kSecondsToEnd);
    const auto after = content_of(folder.path());
    for (const auto& [name, bytes] : before) EXPECT_TRUE(after.contains(name)) << name << " is gone";
    for (const auto& [name, bytes] : after) {
      EXPECT_TRUE(before.contains(name)) << name << " was left behind";
      if (!before.contains(name)) continue;
      EXPECT_TRUE(before.at(name) == bytes) << name << " was changed";
    }
  }
};

class BadInputAloneTest : public BadInputTest {};
class BadInputOnRanksTest : public BadInputTest {};

TEST_P(BadInputAloneTest, EndsWithOneMessageAndTouchesNothing) {
  expect_answer(0);
}
TEST_P(BadInputOnRanksTest, EndsWithOneMessageAndTouchesNothing) {
  expect_answer(3);
}

std::vector<BadCase> alone(std::vector<BadCase> cases) {
  std::erase_if(cases, [](const BadCase& bad) { return bad.launch == Launch::kOnRanksOnly; });
  return cases;
}
std::vector<BadCase> on_ranks(std::vector<BadCase> cases) {
  std::erase_if(cases, [](const BadCase& bad) { return bad.launch == Launch::kAloneOnly; });
  return cases;
}
std::string case_name(const testing::TestParamInfo<BadCase>& bad) {
  return bad.param.name;
}

INSTANTIATE_TEST_SUITE_P(TrainingFiles, BadInputAloneTest, testing::ValuesIn(alone(bad_training_files())), case_name);
INSTANTIATE_TEST_SUITE_P(TrainingFiles, BadInputOnRanksTest, testing::ValuesIn(on_ranks(bad_training_files())),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Options, BadInputAloneTest, testing::ValuesIn(alone(bad_options())), case_name);
INSTANTIATE_TEST_SUITE_P(Options, BadInputOnRanksTest, testing::ValuesIn(on_ranks(bad_options())), case_name);
INSTANTIATE_TEST_SUITE_P(ModelsAndOutputs, BadInputAloneTest, testing::ValuesIn(bad_models_and_outputs()), case_name);
INSTANTIATE_TEST_SUITE_P(ModelsAndOutputs, BadInputOnRanksTest, testing::ValuesIn(on_ranks(bad_models_and_outputs())),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Reports, BadInputAloneTest, testing::ValuesIn(bad_reports()), case_name);
INSTANTIATE_TEST_SUITE_P(Reports, BadInputOnRanksTest, testing::ValuesIn(on_ranks(bad_reports())), case_name);

TEST(BadRowsTest, CountNowhereOnRequest) {
  const TemporaryFolder folder;
  TrainingRows rows = make_rows({40, 40, 40}, 4);
  const TrainingRows without = rows.part(0, rows.rows() - 2);
  rows.features[(rows.rows() - 2) * rows.dim] = std::numeric_limits<float>::quiet_NaN();
  rows.features[(rows.rows() - 1) * rows.dim + 3] = std::numeric_limits<float>::infinity();
  write_npy(rows, folder / "x.npy", folder / "y.npy");
  write_npy(without, folder / "x_without.npy", folder / "y_without.npy");
  const std::string budget = " --classes 3 --mu 1 --seed 1 --metric euclidean --out ";
  for (const int ranks : {0, 3}) {
    const RunOptions options{.folder = folder.path(), .ranks = ranks};
    ASSERT_EQ(run_program(split_arguments("fit --method mean --train-x x.npy --train-y y.npy --bad-rows zero" + budget +
                                          "with"),
                          options)
                  .exit_code,
              0);
    ASSERT_EQ(run_program(split_arguments("fit --method mean --train-x x_without.npy --train-y y_without.npy" + budget +
                                          "without"),
                          options)
                  .exit_code,
              0);
    EXPECT_EQ(read_bytes(folder / "with"), read_bytes(folder / "without"));
  }
}

// A file-size limit stands in for a full disk: the write fails in the same place.
class FullDiskTest : public testing::Test {
 protected:
  FullDiskTest() { write_npy(make_rows({40, 40, 40}, 512), folder_ / "x.npy", folder_ / "y.npy"); }

  ProgramRun fit(const std::string& further, std::optional<rlim_t> largest_file = std::nullopt, int ranks = 0) {
    return run_program(
        split_arguments("fit --method mean --train-x x.npy --train-y y.npy --classes 3 --mu 1 " + further),
        {.folder = folder_.path(), .ranks = ranks, .largest_file = largest_file});
  }

  static void expect_one_message(const ProgramRun& run, const std::string& message) {
    EXPECT_EQ(run.exit_code, 3) << run.err;
    ASSERT_EQ(lines_of(run.err).size(), 1u) << run.err;
    EXPECT_THAT(run.err, StartsWith("dpreduce: "));
    EXPECT_THAT(run.err, HasSubstr(message));
    EXPECT_EQ(run.out, "");
  }

  const TemporaryFolder folder_;
};

TEST_F(FullDiskTest, LeavesNoHalfOfAModel) {
  expect_one_message(fit("--report report.json", 4096), "model.safetensors: ");
  EXPECT_THAT(folder_.names(),
              testing::UnorderedElementsAre("x.npy", "y.npy", "ledger.jsonl", "ledger.jsonl.signing-key",
                                            testing::EndsWith(".journal")));
}

TEST_F(FullDiskTest, LeavesTheFormerModel) {
  ASSERT_EQ(fit("").exit_code, 0);
  const std::string former = read_bytes(folder_ / "model.safetensors");
  expect_one_message(fit("", 4096), "model.safetensors: ");
  EXPECT_TRUE(read_bytes(folder_ / "model.safetensors") == former);
}

TEST_F(FullDiskTest, StopsTheReleaseThatTheLedgerCannotHold) {
  expect_one_message(fit("", 300), "ledger.jsonl: cannot write the ledger");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "model.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "ledger.jsonl"));
  for (const std::string& name : folder_.names()) EXPECT_FALSE(name.ends_with(".journal")) << name;
}

TEST_F(FullDiskTest, StopsTheRunThatCannotKeepAJournal) {
  expect_one_message(fit("", 100), ".journal: cannot be made");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "ledger.jsonl"));
}

TEST_F(FullDiskTest, LeavesTheLedgerIntactWhenItsNextLineDoesNotFit) {
  ASSERT_EQ(fit("").exit_code, 0);
  const std::string former = read_bytes(folder_ / "ledger.jsonl");
  expect_one_message(fit("--out second", former.size() + 100), "ledger.jsonl: cannot write the ledger");
  EXPECT_EQ(read_bytes(folder_ / "ledger.jsonl"), former);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "second"));
}

TEST_F(FullDiskTest, LeavesNoHalfOfPredictions) {
  ASSERT_EQ(fit("").exit_code, 0);
  for (const std::string scores : {"", " --scores"}) {
    const ProgramRun run =
        run_program(split_arguments("predict --model model.safetensors --x x.npy --out labels.npy" + scores),
                    {.folder = folder_.path(), .largest_file = 200});
    expect_one_message(run, "labels.npy: ");
    EXPECT_FALSE(std::filesystem::exists(folder_ / "labels.npy"));
  }
}

TEST_F(FullDiskTest, LeavesNoHalfOfSyntheticData) {
  const ProgramRun run = run_program(split_arguments("synth --out made --rows 1000 --dim 16 --shards 3"),
                                     {.folder = folder_.path(), .largest_file = 4096});
  expect_one_message(run, "made/train_x_0.npy: ");
  for (const auto& [name, bytes] : content_of(folder_.path())) EXPECT_FALSE(name.starts_with("made/")) << name;
}

TEST_F(FullDiskTest, IsNoticedOnADeviceToo) {
  for (const int ranks : {0, 3}) {
    const TemporaryFolder other;
    expect_one_message(fit("--out /dev/full --ledger " + (other / "ledger.jsonl"), std::nullopt, ranks),
                       "/dev/full: cannot be written");
    EXPECT_EQ(charges_in(read_bytes(other / "ledger.jsonl")).size(), 1u);  // charged before anything was written
  }
}

}  // namespace bad_input_test
}  // namespace dpreduce
