// Each silo's accounts of its own, as its owner sees them: ledgers, budgets, refusals.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/ledger/ledger.hpp"
#include "tests/cli/process_watch.hpp"
#include "tests/cli/program_run.hpp"
#include "tests/cli/training_files.hpp"
#include "tests/common/data/data_files.hpp"

namespace dpreduce {
namespace silo_accounts_test {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

constexpr std::size_t kMostSilosHere = 5;

class SiloAccountsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    data_ = std::make_unique<TemporaryFolder>();
    for (std::size_t silo = 1; silo <= kMostSilosHere; ++silo) {
      write_npy(make_rows({40 * silo, 90, 50}, 8), *data_ / fmt::format("x{}.npy", silo),
                *data_ / fmt::format("y{}.npy", silo));
    }
  }
  static void TearDownTestSuite() { data_.reset(); }

  SiloAccountsTest() {
    for (std::size_t party = 0; party <= kMostSilosHere; ++party) own(party, "");
  }

  // What a party says for itself: its log, and more.
  void own(std::size_t party, const std::string& more) const {
    std::ofstream(folder_ / fmt::format("own{}.toml", party)) << fmt::format("log = \"{}.log\"\n{}", party, more);
  }

  ProgramRun run_silos(std::size_t silos, const std::string& options) const {
    return run_program(
        split_arguments("fit --secure-aggregation --classes 3 --silo-timeout 20 --report report.json --threads 1 "
                        "--silo-config own{rank}.toml --train-x " +
                        (*data_ / "x{rank}.npy") + " --train-y " + (*data_ / "y{rank}.npy") + " " + options),
        {.folder = folder_.path(), .ranks = static_cast<int>(silos) + 1, .timeout_seconds = 120.0});
  }

  ProgramRun alone(const std::string& command) const {
    return run_program(split_arguments(command), {.folder = folder_.path()});
  }
  LedgerState ledger(const std::string& name) const { return Ledger::read(folder_ / name); }
  LedgerState of_silo(std::size_t silo) const { return ledger(fmt::format("ledger-silo{}.jsonl", silo)); }
  std::string log(std::size_t party) const { return read_bytes(folder_ / fmt::format("{}.log", party)); }
  bool exists(const std::string& name) const { return fs::exists(folder_ / name); }

  static std::unique_ptr<TemporaryFolder> data_;
  const TemporaryFolder folder_;
};

std::unique_ptr<TemporaryFolder> SiloAccountsTest::data_;

const std::string kThreeRounds = "--method gd --rounds 3 --epsilon 1 --delta 1e-6 ";
const std::string kBudgetOfTwo =
    "budget-epsilon = 1.5\nbudget-delta = 1e-6\n";  // two of epsilon 1 are 1.456, three 1.82

TEST_F(SiloAccountsTest, EverySiloChargesOnALedgerOfItsOwn) {
  own(2, kBudgetOfTwo);
  const ProgramRun run = run_silos(3, kThreeRounds);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const std::size_t releases = ledger("ledger.jsonl").charges().size();
  EXPECT_GE(releases, 3U);
  for (const std::size_t silo : {1, 2, 3}) {
    const LedgerState state = of_silo(silo);
    EXPECT_EQ(state.charges().size(), releases);
    EXPECT_TRUE(state.open_runs().empty());
    EXPECT_DOUBLE_EQ(spending_of(state.charges(), Adjacency::kAddRemove).mu,
                     spending_of(ledger("ledger.jsonl").charges(), Adjacency::kAddRemove).mu);
    EXPECT_EQ(alone(fmt::format("ledger verify ledger-silo{}.jsonl", silo)).exit_code, 0);
  }
  const ProgramRun shown = alone("ledger show ledger-silo2.jsonl");
  EXPECT_THAT(shown.out,
              HasSubstr("account of silo 2: central noise; holds for readers of what is published, not against"));
  EXPECT_THAT(log(2), HasSubstr("account: charges "));
  EXPECT_THAT(log(2), HasSubstr("central noise, not against the coordinator"));
  EXPECT_THAT(log(2),
              HasSubstr("at delta 1e-06 is spent in all, of the data set's budget of epsilon 1.5; a run of epsilon "));
  EXPECT_THAT(log(1), HasSubstr("no budget is set"));
  EXPECT_THAT(log(0), Not(HasSubstr("account:")));
  // Nobody else is told of a silo's budget.
  EXPECT_THAT(run.err, Not(HasSubstr("budget")));
  EXPECT_THAT(read_bytes(folder_ / "report.json"), Not(HasSubstr("ledger-silo")));
}

TEST_F(SiloAccountsTest, UnderDistributedNoiseItsShareIsCharged) {
  const ProgramRun run =
      run_silos(3, "--method mean --epsilon 1 --delta 1e-6 --noise distributed --ledger a{rank}.jsonl");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(ledger("a0.jsonl").charges().size(), 1U);
  EXPECT_EQ(ledger("a3.jsonl").charges().size(), 1U);
  EXPECT_THAT(
      alone("ledger show a1.jsonl").out,
      HasSubstr("account of silo 1: distributed noise, at least 3 honest shares; holds against the coordinator"));
}

// The budget of one silo, on one ledger, whatever others' ledgers say.
TEST_F(SiloAccountsTest, ASiloWhoseBudgetIsSpentTakesNoPart) {
  own(2, "budget-epsilon = 0.5\nbudget-delta = 1e-6\n");
  own(4, "ledger = \"south.jsonl\"\n" + kBudgetOfTwo);
  const ProgramRun first = run_silos(5, "--threshold 4 " + kThreeRounds);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr("ledger-silo2.jsonl: the runs on file have epsilon 0,"));
  EXPECT_THAT(first.err, HasSubstr("silo 2 is lost"));
  EXPECT_THAT(log(2), HasSubstr("end: exit code 4: ledger-silo2.jsonl"));
  EXPECT_FALSE(exists("ledger-silo2.jsonl"));
  EXPECT_EQ(ledger("south.jsonl").charges().size(), of_silo(1).charges().size());
  own(2, "");
  fs::remove(folder_ / "ledger.jsonl");  // a coordinator that loses its runs
  ASSERT_EQ(run_silos(5, "--threshold 4 " + kThreeRounds).exit_code, 0);
  fs::remove(folder_ / "ledger.jsonl");
  const ProgramRun third = run_silos(5, "--threshold 4 " + kThreeRounds);
  EXPECT_EQ(third.exit_code, 0) << third.err;
  EXPECT_THAT(third.err, HasSubstr("south.jsonl: the runs on file have epsilon"));
  EXPECT_THAT(log(4), HasSubstr("end: exit code 4: south.jsonl"));
  EXPECT_EQ(2 * of_silo(1).charges().size(), 3 * ledger("south.jsonl").charges().size());
}

TEST_F(SiloAccountsTest, ASecondRunIsRefusedBySilosThoughTheCoordinatorsLedgerIsGone) {
  const std::string limited = kThreeRounds + "--budget-epsilon 1.2 --budget-delta 1e-6";
  ASSERT_EQ(run_silos(3, limited).exit_code, 0);
  fs::remove(folder_ / "ledger.jsonl");
  fs::remove(folder_ / "model.safetensors");
  const std::size_t charged = of_silo(1).charges().size();
  const ProgramRun again = run_silos(3, limited);
  EXPECT_EQ(again.exit_code, 5) << again.err;
  for (const std::size_t silo : {1, 2, 3}) {
    EXPECT_THAT(log(silo), HasSubstr("end: exit code 4"));
    EXPECT_EQ(of_silo(silo).charges().size(), charged);
    EXPECT_TRUE(of_silo(silo).open_runs().empty());
  }
  EXPECT_FALSE(exists("model.safetensors"));
  EXPECT_TRUE(ledger("ledger.jsonl").charges().empty());
}

// A silo has charged where it may have masked, and nowhere else; who is killed then leaves a reservation for its owner.
TEST_F(SiloAccountsTest, WhoIsLostHasChargedWhatItMasked) {
  for (const auto& [message, charged] : {std::pair{"consent", 0U}, std::pair{"masked", 1U}}) {
    SCOPED_TRACE(message);
    fs::remove(folder_ / "ledger-silo2.jsonl");
    const ProgramRun run =
        run_silos(4, fmt::format("--threshold 3 --method mean --epsilon 1 --delta 1e-6 --fault 2:kill@{}", message));
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const LedgerState lost = of_silo(2);
    EXPECT_EQ(lost.charges().size(), charged);
    ASSERT_EQ(lost.open_runs().size(), charged) << "it reserves with its first charge";
    if (charged == 0) continue;
    const std::string name = lost.open_runs().begin()->first;
    EXPECT_EQ(alone("ledger release " + name + " ledger-silo2.jsonl").exit_code, 0);
    EXPECT_TRUE(of_silo(2).open_runs().empty());
  }
  EXPECT_EQ(of_silo(1).charges().size(), 2U);
}

TEST_F(SiloAccountsTest, ACoordinatorThatEndsAfterItHasSeenASumHasSpentIt) {
  const ProgramRun run = run_silos(3, "--method mean --epsilon 1 --delta 1e-6 --fault 0:kill@done");
  EXPECT_EQ(run.exit_code, 5) << run.err;
  for (const std::size_t silo : {1, 2, 3}) {
    EXPECT_EQ(of_silo(silo).charges().size(), 1U);
    EXPECT_TRUE(of_silo(silo).open_runs().empty());
    EXPECT_THAT(log(silo), HasSubstr("ends early; what it did not charge is given back"));
  }
  ASSERT_EQ(run_silos(3, "--method mean --epsilon 1 --delta 1e-6").exit_code, 0);
  EXPECT_EQ(of_silo(1).charges().size(), 2U);
}

TEST_F(SiloAccountsTest, WhereListsContradictNothingIsCharged) {
  const ProgramRun run = run_silos(5, "--threshold 3 --method mean --mu 1 --fault 0:equivocate@delivery");
  EXPECT_EQ(run.exit_code, 5);
  for (std::size_t silo = 1; silo <= 5; ++silo) {
    EXPECT_TRUE(of_silo(silo).charges().empty());
    EXPECT_TRUE(of_silo(silo).open_runs().empty());
  }
}

// One silo is told other weights before the second round: the first one is charged, and no other.
TEST_F(SiloAccountsTest, WhereValuesContradictTheSumsBeforeAreCharged) {
  const ProgramRun run = run_silos(5, "--threshold 3 --method gd --rounds 3 --mu 1 --fault 0:equivocate@broadcast#2");
  EXPECT_EQ(run.exit_code, 5);
  for (std::size_t silo = 1; silo <= 5; ++silo) {
    EXPECT_EQ(of_silo(silo).charges().size(), 1U);
    EXPECT_TRUE(of_silo(silo).open_runs().empty());
  }
}

TEST_F(SiloAccountsTest, APrivateChoiceIsCharged) {
  const ProgramRun run = run_silos(3, "--method ls --choose --mu 1");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const LedgerState state = of_silo(3);
  const std::vector<LedgerCharge>& charges = state.charges();
  EXPECT_TRUE(std::any_of(charges.begin(), charges.end(), [](const auto& charge) { return charge.entry.selection; }));
  EXPECT_THAT(log(3), HasSubstr("a choice of epsilon"));
}

// Its noise protects nothing, so that it costs nothing: any budget would have room for it.
TEST_F(SiloAccountsTest, ASeededRunIsWithinNoBudget) {
  const ProgramRun run = run_silos(3, "--method mean --mu 1 --seed 7 --budget-epsilon 0.1 --budget-delta 1e-6");
  EXPECT_EQ(run.exit_code, 2) << run.err;
  EXPECT_THAT(run.err, HasSubstr("--seed and --budget-epsilon with --secure-aggregation"));
  own(2, kBudgetOfTwo);
  const ProgramRun of_one = run_silos(4, "--threshold 3 --method mean --mu 1 --seed 7");
  EXPECT_EQ(of_one.exit_code, 0) << of_one.err;
  EXPECT_THAT(of_one.err, HasSubstr("--seed and --budget-epsilon with --secure-aggregation"));
  EXPECT_THAT(of_one.err, HasSubstr("silo 2 is lost"));
}

TEST_F(SiloAccountsTest, ASeededRunIsMarkedAndCostsNothing) {
  const ProgramRun run = run_silos(3, "--method mean --mu 1 --seed 7");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  ASSERT_EQ(of_silo(2).charges().size(), 1U);
  EXPECT_FALSE(of_silo(2).charges()[0].entry.terms.is_private);
}

// What is wrong with a silo's accounts is told by that silo, and ends it alone.
TEST_F(SiloAccountsTest, ALedgerThatCannotBeUsedIsToldByItsOwner) {
  const std::string options = "--threshold 3 --method mean --mu 0.1";
  ASSERT_EQ(run_silos(4, options).exit_code, 0);
  const auto expect_lost = [&](const std::string& exit, const std::string& message) {
    SCOPED_TRACE(message);
    fs::remove(folder_ / "2.log");
    const ProgramRun run = run_silos(4, options);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr(message));
    EXPECT_THAT(run.err, HasSubstr("silo 2 is lost"));
    EXPECT_THAT(log(2), HasSubstr("end: exit code " + exit + ": "));
  };
  const fs::path key = folder_ / "ledger-silo2.jsonl.signing-key";
  fs::permissions(key, fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
  expect_lost("3", "ledger-silo2.jsonl.signing-key");
  fs::permissions(key, fs::perms::owner_read | fs::perms::owner_write);
  fs::rename(key, folder_ / "kept");
  expect_lost("3", "ledger-silo2.jsonl.signing-key is not there");
  fs::rename(folder_ / "kept", key);
  std::ofstream(folder_ / "ledger-silo2.jsonl", std::ios::app) << "{}\n";
  expect_lost("6", "ledger-silo2.jsonl");
  own(2, "ledger = \"absent/a.jsonl\"\n");
  expect_lost("3", "absent/a.jsonl");
}

TEST_F(SiloAccountsTest, ABudgetThatCannotBeIsRefusedByItsOwner) {
  for (const auto& [text, message] :
       {std::pair{"budget-epsilon = 1\n", "--budget-delta is missing"},
        std::pair{"budget-epsilon = -1\nbudget-delta = 1e-6\n", "--budget-epsilon -1: must be greater than 0"},
        std::pair{"budget-epsilon = 1\nbudget-delta = 2\n", "--budget-delta 2: must lie between 0 and 1"}}) {
    own(2, text);
    const ProgramRun run = run_silos(4, "--threshold 3 --method mean --mu 1");
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr(message));
    EXPECT_THAT(run.err, HasSubstr("silo 2 is lost"));
    EXPECT_FALSE(exists("ledger-silo2.jsonl"));
  }
  own(2, kBudgetOfTwo);
  const ProgramRun run = run_silos(4, "--threshold 3 --method mean --non-private");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("--non-private and --budget-epsilon with --secure-aggregation"));
}

}  // namespace silo_accounts_test
}  // namespace dpreduce
