// Runs that stop after any of their releases and go on from the log: the same weights as in one go, over ranks.
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fit/fit_account.hpp"
#include "fit/resolved_fit.hpp"
#include "fit/row_preparation.hpp"
#include "methods/training_method.hpp"
#include "run/release_log.hpp"
#include "tests/common/data/data_files.hpp"
#include "tests/common/ledger/charged_runs.hpp"
#include "tests/mpi/mpi_test.hpp"

namespace dpreduce {
namespace checkpoint_test {

constexpr std::size_t kDim = 6;
constexpr std::size_t kClasses = 3;
constexpr std::size_t kRows = 90;
constexpr std::uint64_t kRounds = 3;

struct Killed : std::runtime_error {
  Killed() : std::runtime_error("killed") {}
};

struct Outcome {
  LinearScores scores;
  int passes = 0;  // over this rank's rows, for releases
};

class CheckpointTest : public testing::TestWithParam<std::string> {
 protected:
  CheckpointTest() {
    std::mt19937 engine(8);
    std::normal_distribution<float> normal;
    std::vector<float> x;
    std::vector<std::int32_t> y;
    for (std::size_t row = 0; row < kRows; ++row) {
      y.push_back(static_cast<std::int32_t>(row % kClasses));
      for (std::size_t a = 0; a < kDim; ++a) x.push_back(normal(engine) + (a == row % kClasses ? 2.0F : 0.0F));
    }
    write_bytes(folder_ / "x.npy", npy_header_bytes(npy_text("<f4", "(90, 6)")) + element_bytes(x));
    write_bytes(folder_ / "y.npy", npy_header_bytes(npy_text("<i4", "(90,)")) + element_bytes(y));
  }

  FitOptions options() const {
    FitOptions options;
    options.data.classes = kClasses;
    options.method.name = GetParam();
    options.rows.center = Centering::kDp;
    options.privacy.budget.mu = 1.0;
    options.method.warm_start = options.method.name == "adam";
    if (options.method.name != "fisher") options.method.rounds = kRounds;
    return resolved(options, kDim);
  }

  // One process's life: it dies after `dies_after` releases of its own, or ends. The key is one that a file would hold.
  Outcome live(LogStart start, const std::string& checkpoint, const std::string& ledger, int dies_after = 1000) const {
    Communicator& ranks = test_ranks();
    const FitOptions fit = options();
    const FitPlan plan = make_fit_plan(fit, kDim);
    std::unique_ptr<ReleaseLog> log;
    if (ranks.is_coordinator()) log = std::make_unique<ReleaseLog>(folder_ / checkpoint, start, 0.0);
    RunJournal journal(NoiseKey::from_seed(7));
    if (ranks.is_coordinator()) journal = resumed_journal(folder_ / ledger, NoiseKey::from_seed(7));
    Releaser releaser(ranks, *plan.noise, std::move(journal), Charging{.ledger_path = folder_ / ledger, .limit = {}},
                      RunTerms{.method = "test",
                               .accountant = Accountant::kGdp,
                               .epsilon = {},
                               .delta = {},
                               .config_digest = plan.config_digest,
                               .version = "test"});
    WorkerRows rows = WorkerRows::open({folder_ / "x.npy"}, {folder_ / "y.npy"}, static_cast<std::size_t>(ranks.rank()),
                                       static_cast<std::size_t>(ranks.size()));
    const StreamPlan stream{kClasses, BadRows::kFail, 1 << 20, 1};
    Timings timings;
    Outcome outcome;
    const ProgressOf count_passes = [&](std::string_view name) -> OnChunk {
      if (name != "rows" && name != "checkpoint") ++outcome.passes;
      return [](double) {};
    };
    int made = 0;
    TrainingRun run(ranks, rows, releaser, plan, stream, count_passes, timings, {},
                    {.watcher = [&](const WatchedRelease&) {
                      if (++made == dies_after) throw Killed();
                    }});
    require_same_rows(run.rows(), releaser, ranks);
    ranks.together([&] {
      if (!log) return;
      log->require_binding(run_binding(fit, plan));
      log->bind(releaser.run_id(), run_binding(fit, plan));
      releaser.require_charged(log->release_labels());
    });
    run.record_in(log.get());
    prepare_rows(run, fit);
    outcome.scores = make_method(fit)->train(run);
    return outcome;
  }

  // Every release has its line, once.
  void expect_charged_once(const std::string& ledger, std::size_t releases) const {
    if (!test_ranks().is_coordinator()) return;
    std::set<std::string> ids;
    const std::vector<LedgerCharge> records = charges_of(folder_ / ledger);
    for (const LedgerCharge& record : records) ids.insert(record.entry.release_id);
    EXPECT_EQ(records.size(), releases);
    EXPECT_EQ(ids.size(), releases);
  }

  TemporaryFolder folder_;
};

bool same_bits(const std::vector<double>& left, const std::vector<double>& right) {
  return left.size() == right.size() && std::memcmp(left.data(), right.data(), left.size() * sizeof(double)) == 0;
}

// Also where death falls between charge and record: then the ledger holds a line more than the log. An uninterrupted
// run with the same name in the ledger is made of a copy of the log before its first release.
TEST_P(CheckpointTest, ARunThatDiesAfterAnyReleaseEndsAsIfItHadNot) {
  const bool leads = test_ranks().is_coordinator();
  EXPECT_THROW(live(LogStart::kNewRun, "named", "unused", 1), Killed);
  if (leads) {
    std::filesystem::remove(folder_ / "named/releases-000001.safetensors");
    std::filesystem::copy(folder_ / "named", folder_ / "whole");
  }
  const Outcome whole = live(LogStart::kResume, "whole", "whole-ledger");
  ASSERT_GT(whole.passes, 1);
  const int releases = whole.passes;
  expect_charged_once("whole-ledger", static_cast<std::size_t>(releases));

  for (int dies_after = 1; dies_after <= releases; ++dies_after) {
    const bool loses_the_last = dies_after % 2 == 0;
    SCOPED_TRACE(std::to_string(dies_after) + (loses_the_last ? ", the last one not recorded" : ""));
    const std::string name = "run" + std::to_string(dies_after) + (loses_the_last ? "lost" : "");
    const std::string ledger = name + "-ledger";
    if (leads) std::filesystem::copy(folder_ / "named", folder_ / name);
    EXPECT_THROW(live(LogStart::kResume, name, ledger, dies_after), Killed);
    if (loses_the_last && leads) {
      char last[64];
      std::snprintf(last, sizeof last, "/releases-%06d.safetensors", dies_after);
      ASSERT_TRUE(std::filesystem::remove(folder_ / name + last));
    }
    const Outcome resumed = live(LogStart::kResume, name, ledger);
    EXPECT_EQ(resumed.passes, releases - dies_after + (loses_the_last ? 1 : 0)) << "rows read for what is on disk";
    EXPECT_TRUE(same_bits(resumed.scores.weights, whole.scores.weights));
    EXPECT_TRUE(same_bits(resumed.scores.bias, whole.scores.bias));
    expect_charged_once(ledger, static_cast<std::size_t>(releases));
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, CheckpointTest, testing::Values("gd", "adam", "fc", "newton", "fisher"),
                         [](const auto& tested) { return tested.param; });

}  // namespace checkpoint_test
}  // namespace dpreduce
