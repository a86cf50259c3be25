// Each silo's accounts of its own, as its owner sees them: ledgers, budgets, refusals.
#include "common/ledger/ledger.hpp"
#include "tests/cli/program_test.hpp"

namespace dpreduce::silo_accounts_test {

constexpr std::size_t kMostSilosHere = 5;

class SiloAccountsTest : public ProgramTest {
 protected:
  SiloAccountsTest() {
    for (std::size_t party = 0; party <= kMostSilosHere; ++party) {
      own(party, "");
      if (party == 0) continue;
      write_rows(make_rows({40 * party, 90, 50}, 8), fmt::format("x{}.npy", party), fmt::format("y{}.npy", party));
    }
  }
  // What a party says for itself: its log, and more.
  void own(std::size_t party, const std::string& more) const {
    std::ofstream(folder_ / fmt::format("own{}.toml", party)) << fmt::format("log = \"{}.log\"\n{}", party, more);
  }
  ProgramRun run_silos(std::size_t silos, const std::string& options, int code, const Strings& said = {}) const {
    return run_among(silos,
                     "fit --secure-aggregation --classes 3 --silo-timeout 20 --report report.json --threads 1 "
                     "--silo-config own{rank}.toml --train-x x{rank}.npy --train-y y{rank}.npy " +
                         options,
                     code, said);
  }
  LedgerState ledger(const std::string& name) const { return Ledger::read(folder_ / name); }
  LedgerState of_silo(std::size_t silo) const { return ledger(fmt::format("ledger-silo{}.jsonl", silo)); }
  std::string log(std::size_t party) const { return bytes(fmt::format("{}.log", party)); }
  // So many charges of a silo, and nothing reserved.
  void expect_charges(std::size_t silo, std::size_t count) const {
    EXPECT_EQ(of_silo(silo).charges().size(), count) << "silo " << silo;
    EXPECT_TRUE(of_silo(silo).open_runs().empty()) << "silo " << silo;
  }
};

const std::string kThreeRounds = "--method gd --rounds 3 --epsilon 1 --delta 1e-6 ";
const std::string kBudgetOfTwo =
    "budget-epsilon = 1.5\nbudget-delta = 1e-6\n";  // two of epsilon 1 are 1.456, three 1.82

TEST_F(SiloAccountsTest, EverySiloChargesOnALedgerOfItsOwn) {
  own(2, kBudgetOfTwo);
  const ProgramRun ended = run_silos(3, kThreeRounds, 0);
  const std::size_t releases = ledger("ledger.jsonl").charges().size();
  EXPECT_GE(releases, 3U);
  for (const std::size_t silo : {1, 2, 3}) {
    expect_charges(silo, releases);
    EXPECT_DOUBLE_EQ(spending_of(of_silo(silo).charges(), Adjacency::kAddRemove).mu,
                     spending_of(ledger("ledger.jsonl").charges(), Adjacency::kAddRemove).mu);
    succeed(fmt::format("ledger verify ledger-silo{}.jsonl", silo));
  }
  EXPECT_THAT(run("ledger show ledger-silo2.jsonl").out,
              HasSubstr("account of silo 2: central noise; holds against readers of published results, not against"));
  expect_parts(
      log(2),
      {"account: charges ", "central noise, not against the coordinator",
       "at delta 1e-06 is spent in total, of the data set's budget of epsilon 1.5; room for a run of epsilon "});
  EXPECT_THAT(log(1), HasSubstr("no budget is set"));
  // A log that is kept elsewhere tells a ledger that came back from a backup.
  const LedgerHead head = of_silo(1).head();
  EXPECT_THAT(log(1), HasSubstr(fmt::format("it has {} lines, the last of SHA-256 {}...", head.lines,
                                            head.last_line_sha256.substr(0, 16))));
  EXPECT_THAT(log(0), Not(HasSubstr("account:")));
  // Nobody else is told of a silo's budget.
  EXPECT_THAT(ended.err, Not(HasSubstr("budget")));
  EXPECT_THAT(bytes("report.json"), Not(HasSubstr("ledger-silo")));
}

// Of t silos that stay so many may be honest as do not collude: their shares alone are what a silo may count on.
TEST_F(SiloAccountsTest, ALineOfTheLogTellsHowManyHonestSharesTheNoiseHas) {
  run_silos(4, "--method mean --mu 1 --noise distributed --threshold 3 --colluding 1", 0);
  EXPECT_EQ(ledger("ledger.jsonl").charges().size(), 1U);
  for (const std::size_t silo : {1, 4}) {
    expect_charges(silo, 1);
    expect_parts(log(silo), {"account: charges ", ", distributed noise, 2 honest shares at least"});
    EXPECT_THAT(run(fmt::format("ledger show ledger-silo{}.jsonl", silo)).out,
                HasSubstr(fmt::format("account of silo {}: distributed noise, at least 2 honest shares; holds against "
                                      "the coordinator",
                                      silo)));
  }
}

TEST_F(SiloAccountsTest, ASiloWhoseBudgetIsSpentTakesNoPart) {
  own(2, "budget-epsilon = 0.5\nbudget-delta = 1e-6\n");
  own(4, "ledger = \"south.jsonl\"\n" + kBudgetOfTwo);
  run_silos(5, "--threshold 4 " + kThreeRounds, 0,
            {"ledger-silo2.jsonl: recorded runs have spent epsilon 0", "silo 2 is lost"});
  EXPECT_THAT(log(2), HasSubstr("end: exit code 4: ledger-silo2.jsonl"));
  EXPECT_FALSE(has("ledger-silo2.jsonl"));
  EXPECT_EQ(ledger("south.jsonl").charges().size(), of_silo(1).charges().size());
  own(2, "");
  fs::remove(folder_ / "ledger.jsonl");  // a coordinator that loses its runs
  run_silos(5, "--threshold 4 " + kThreeRounds, 0);
  fs::remove(folder_ / "ledger.jsonl");
  run_silos(5, "--threshold 4 " + kThreeRounds, 0, {"south.jsonl: recorded runs have spent epsilon"});
  EXPECT_THAT(log(4), HasSubstr("end: exit code 4: south.jsonl"));
  EXPECT_EQ(2 * of_silo(1).charges().size(), 3 * ledger("south.jsonl").charges().size());
}

TEST_F(SiloAccountsTest, ASecondRunIsRefusedBySilosThoughTheCoordinatorsLedgerIsGone) {
  const std::string limited = kThreeRounds + "--budget-epsilon 1.2 --budget-delta 1e-6";
  run_silos(3, limited, 0);
  fs::remove(folder_ / "ledger.jsonl");
  fs::remove(folder_ / "model.safetensors");
  const std::size_t charged = of_silo(1).charges().size();
  run_silos(3, limited, 5);
  for (const std::size_t silo : {1, 2, 3}) {
    EXPECT_THAT(log(silo), HasSubstr("end: exit code 4"));
    expect_charges(silo, charged);
  }
  EXPECT_FALSE(has("model.safetensors"));
  EXPECT_TRUE(ledger("ledger.jsonl").charges().empty());
}

// A silo has charged where it may have masked, and nowhere else (silos_test.cpp: where it was told contradictions); who
// is killed then leaves a reservation for its owner.
TEST_F(SiloAccountsTest, WhoIsLostHasChargedWhatItMasked) {
  for (const auto& [message, charged] : {std::pair{"consent", 0U}, std::pair{"masked", 1U}}) {
    SCOPED_TRACE(message);
    fs::remove(folder_ / "ledger-silo2.jsonl");
    run_silos(4, fmt::format("--threshold 3 --method mean --epsilon 1 --delta 1e-6 --fault 2:kill@{}", message), 0);
    const LedgerState lost = of_silo(2);
    EXPECT_EQ(lost.charges().size(), charged);
    ASSERT_EQ(lost.open_runs().size(), charged) << "it reserves with its first charge";
    if (charged == 0) continue;
    const std::string name = lost.open_runs().begin()->first;
    succeed("ledger release " + name + " ledger-silo2.jsonl");
    EXPECT_TRUE(of_silo(2).open_runs().empty());
  }
  EXPECT_EQ(of_silo(1).charges().size(), 2U);
}

TEST_F(SiloAccountsTest, ACoordinatorThatEndsAfterItHasSeenASumHasSpentIt) {
  run_silos(3, "--method mean --epsilon 1 --delta 1e-6 --fault 0:kill@done", 5);
  for (const std::size_t silo : {1, 2, 3}) {
    expect_charges(silo, 1);
    EXPECT_THAT(log(silo), HasSubstr("ends early; the rest of its reservation is released"));
  }
  run_silos(3, "--method mean --epsilon 1 --delta 1e-6", 0);
  EXPECT_EQ(of_silo(1).charges().size(), 2U);
}

TEST_F(SiloAccountsTest, APrivateChoiceIsCharged) {
  run_silos(3, "--method ls --choose --mu 1", 0);
  const LedgerState state = of_silo(3);
  EXPECT_TRUE(std::ranges::any_of(state.charges(), [](const auto& one) { return one.entry.selection.has_value(); }));
  EXPECT_THAT(log(3), HasSubstr("a choice of epsilon"));
}

// Its noise protects nothing, so that it costs nothing: any budget would have room for it.
TEST_F(SiloAccountsTest, ASeededRunIsWithinNoBudget) {
  run_silos(3, "--method mean --mu 1 --seed 7 --budget-epsilon 0.1 --budget-delta 1e-6", 2,
            {"--seed and --budget-epsilon with --secure-aggregation"});
  own(2, kBudgetOfTwo);
  run_silos(4, "--threshold 3 --method mean --mu 1 --seed 7", 0,
            {"--seed and --budget-epsilon with --secure-aggregation", "silo 2 is lost"});
}

TEST_F(SiloAccountsTest, ASeededRunIsMarkedAndCostsNothing) {
  run_silos(3, "--method mean --mu 1 --seed 7", 0);
  ASSERT_EQ(of_silo(2).charges().size(), 1U);
  EXPECT_FALSE(of_silo(2).charges()[0].entry.terms.is_private);
}

TEST_F(SiloAccountsTest, ALedgerThatCannotBeUsedIsToldByItsOwner) {
  const std::string options = "--threshold 3 --method mean --mu 0.1";
  run_silos(4, options, 0);
  const auto expect_lost = [&](const std::string& exit, const std::string& message) {
    SCOPED_TRACE(message);
    fs::remove(folder_ / "2.log");
    run_silos(4, options, 0, {message, "silo 2 is lost"});
    EXPECT_THAT(log(2), HasSubstr("end: exit code " + exit + ": "));
  };
  const fs::path key = folder_ / "ledger-silo2.jsonl.signing-key";
  fs::permissions(key, fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
  expect_lost("3", "ledger-silo2.jsonl.signing-key");
  fs::permissions(key, fs::perms::owner_read | fs::perms::owner_write);
  fs::rename(key, folder_ / "kept");
  expect_lost("3", "ledger-silo2.jsonl.signing-key is missing");
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
    run_silos(4, "--threshold 3 --method mean --mu 1", 0, {message, "silo 2 is lost"});
    EXPECT_FALSE(has("ledger-silo2.jsonl"));
  }
  own(2, kBudgetOfTwo);
  run_silos(4, "--threshold 3 --method mean --non-private", 0,
            {"--non-private and --budget-epsilon with --secure-aggregation"});
}

}  // namespace dpreduce::silo_accounts_test
