// kill -9 at random points of a run, two hundred times (twenty, but in the long form): what was charged is repeated bit
// for bit, nothing is released without its ledger line, and other data never meet the same noise.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include "tests/cli/program_test.hpp"
#include "tests/common/ledger/charged_runs.hpp"
#include "tests/slow_tests.hpp"

namespace dpreduce::crash_replay_test {

// A number of kills of the long form, or a tenth of it.
int number_of_kills(int of_long_form) {
  return runs_slow_tests() ? of_long_form : of_long_form / 10;
}

// A folder with data, ledger and model.
class Site {
 public:
  explicit Site(std::string method = "--method mean --mu 0.5")
      : method_(std::move(method)), rows_(make_rows({900, 700, 500}, 48)) {
    write_npy(rows_, folder_ / "x.npy", folder_ / "y.npy");
  }

  std::vector<std::string> fit() const {
    return split_arguments("fit --train-x x.npy --train-y y.npy --classes 3 --center dp --resume --memory 1 " +
                           method_);
  }

  std::string model() const {
    std::ifstream file(folder_ / "model.safetensors", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  LedgerState ledger() const { return Ledger::read(folder_ / "ledger.jsonl"); }
  std::size_t charges() const { return ledger().charges().size(); }

  // The ledger with its key and its journals.
  void forget_ledger() const { remove_ledger(folder_ / "ledger.jsonl"); }

  // Seconds that a whole run takes; also the first charge.
  double whole_run() const {
    const ProgramRun run = run_program(fit(), {.folder = folder_.path()});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return run.seconds;
  }

  // Starts a run and kills it after a random part of `seconds`.
  void kill_somewhere(double seconds) {
    kill_when(std::uniform_real_distribution<>(0.0, 1.1 * seconds)(engine_), [] { return false; });
  }

  // Starts a run and kills it soon after one more of its releases is charged.
  void kill_after_a_charge(double seconds) {
    const std::size_t charged = charges();
    kill_when(3.0 * seconds, [&] {
      return std::filesystem::exists(folder_ / "model.safetensors") ||
             (std::filesystem::exists(folder_ / "ledger.jsonl") &&
              charges_in(read_bytes(folder_ / "ledger.jsonl")).size() > charged);
    });
  }

  void kill_when(double seconds, const std::function<bool()>& is_time) {
    RunningProgram run(fit(), {.folder = folder_.path()});
    const double end = seconds_now() + seconds;
    while (seconds_now() < end && !is_time()) std::this_thread::sleep_for(std::chrono::microseconds(200));
    kill(run.pid(), SIGKILL);
    run.finish();
  }

  // Moves row 3 to another class and back.
  void relabel(std::int64_t step) {
    rows_.labels[3] = (rows_.labels[3] + step) % 3;
    write_npy(rows_, folder_ / "x.npy", folder_ / "y.npy");
  }

  const TemporaryFolder& folder() const { return folder_; }

 private:
  std::string method_;
  TemporaryFolder folder_;
  TrainingRows rows_;
  std::mt19937 engine_{7};
};

// Kills runs of a method that makes so many releases, and sees what they leave. A run that finished is over; the next
// one begins on a new ledger.
void kill_and_resume(const std::string& method, std::size_t releases, int kills) {
  // How long a run takes is measured elsewhere, so that the first charge falls under a kill as well.
  const double seconds = Site(method).whole_run();
  Site site(method);
  std::set<std::string> models;  // of the run at hand
  int killed_before_a_model = 0;
  int killed_with_charges = 0;
  const auto end_run = [&] {
    site.whole_run();
    models.insert(site.model());
    EXPECT_EQ(models.size(), 1U) << "the same charge, another release";
    const LedgerState state = site.ledger();
    EXPECT_EQ(state.charges().size(), releases);
    EXPECT_TRUE(state.open_runs().empty());
    std::set<std::string> runs;
    for (const LedgerCharge& charge : state.charges()) runs.insert(run_of(charge.entry.release_id));
    EXPECT_EQ(runs.size(), 1U) << "it went on as another run";
    for (const std::string& name : site.folder().names()) {
      EXPECT_FALSE(name.ends_with(".journal")) << name;
      EXPECT_EQ(name.find(".tmp"), std::string::npos) << name;
    }
    site.forget_ledger();
    models.clear();
  };
  // On a fast disk runs may end before their kills: then more follow.
  const auto is_enough = [&] { return killed_before_a_model > kills / 10 && killed_with_charges > 0; };
  for (int round = 0; round < kills || !is_enough(); ++round) {
    ASSERT_LT(round, 10 * kills) << "the kills came too early or too late to test anything";
    std::filesystem::remove(site.folder() / "model.safetensors");
    if (round % 3 == 2) {
      site.kill_after_a_charge(seconds);
    } else {
      site.kill_somewhere(seconds);
    }
    const LedgerState state = site.ledger();  // throws where a line is torn
    const std::size_t charged = state.charges().size();
    ASSERT_LE(charged, releases) << "round " << round;
    const std::string released = site.model();
    if (released.empty()) {
      ++killed_before_a_model;
      killed_with_charges += charged > 0 ? 1 : 0;
      continue;
    }
    ASSERT_EQ(charged, releases) << "a release without its ledger lines";
    models.insert(released);
    const bool has_finished = state.open_runs().empty();
    if (!has_finished) {
      end_run();  // killed between model and end: it is the same model again
    } else {
      site.forget_ledger();
      models.clear();
    }
  }
  end_run();
}

TEST(CrashReplay, AChargedReleaseIsRepeatedBitForBitAndChargedOnce) {
  kill_and_resume("--method mean --mu 0.5", 3, number_of_kills(200));
}

// One charge, and noise that is drawn part by part.
TEST(CrashReplay, SoAreThePartsOfARelease) {
  kill_and_resume("--method ls --mu 0.5", 3, number_of_kills(80));
}

// Center in two steps, Gram matrix and three gradients, each of which depends on all that came before.
TEST(CrashReplay, SoAreTheRoundsOfAMethod) {
  kill_and_resume("--method fc --rounds 3 --mu 0.5", 6, number_of_kills(80));
}

// A round whose coins were tossed before the kill is repeated with these coins.
TEST(CrashReplay, SoAreRoundsOnSamples) {
  kill_and_resume("--method gd --rounds 4 --batch 0.3 --epsilon 2 --delta 1e-6 --accountant rdp", 6,
                  number_of_kills(60));
}

// A run that ends by an error when all is charged may be resumed as a killed one may.
TEST(CrashReplay, ChangedDataAreChargedAnewWithFreshNoise) {
  Site site;
  const auto stopped_run = [&] {
    const ProgramRun run =
        run_program(joined(site.fit(), split_arguments("--report /dev/full")), {.folder = site.folder().path()});
    EXPECT_EQ(run.exit_code, 3) << run.err;
    return site.model();
  };
  const std::string before = stopped_run();
  ASSERT_EQ(site.charges(), 3U);
  site.relabel(1);
  EXPECT_NE(stopped_run(), before);
  // The center does not depend on labels: its releases are the same ones. The class sums do.
  const LedgerState state = site.ledger();
  ASSERT_EQ(state.charges().size(), 4U);
  EXPECT_NE(run_of(state.charges()[2].entry.release_id), run_of(state.charges()[3].entry.release_id));
  site.relabel(2);
  site.whole_run();
  EXPECT_EQ(site.model(), before) << "back to the first data: they are paid for";
  EXPECT_EQ(site.charges(), 4U);
}

TEST(CrashReplay, AFinishedRunIsMadeAnewWithResumeAndWithout) {
  Site site;
  std::set<std::string> models;
  for (const bool resumes : {true, true, false}) {
    auto arguments = site.fit();
    if (!resumes) std::erase(arguments, "--resume");
    ASSERT_EQ(run_program(arguments, {.folder = site.folder().path()}).exit_code, 0);
    models.insert(site.model());
  }
  EXPECT_EQ(models.size(), 3U);
  EXPECT_EQ(site.charges(), 9U);
}

// A selection on file, as a library's user may charge it: from then on epsilon is compared, not mu.
TEST(CrashReplay, SelectionsOnFileCountAgainstTheBudgetOfTheDataSet) {
  Site site;
  const RunTerms terms{.method = "public",
                       .adjacency = Adjacency::kAddRemove,
                       .accountant = Accountant::kPld,
                       .is_private = true,
                       .epsilon = std::nullopt,
                       .delta = std::nullopt,
                       .config_digest = std::string(64, 'a'),
                       .version = "0.1.0"};
  const SelectionTerms choice{.epsilon = 0.5, .candidates = 100, .groups = 3};
  Ledger ledger(site.folder() / "ledger.jsonl");
  ledger.reserve({.run_id = "by-hand", .terms = terms, .releases = {}, .selections = {{"choice", choice}}});
  LedgerEntry entry;
  entry.release_id = "by-hand/choice";
  entry.terms = terms;
  entry.selection = choice;
  ledger.append(entry);
  ledger.end("by-hand", RunOutcome::kFinished);
  const auto run = [&](const std::string& mu) {
    return run_program(
        split_arguments("fit --method mean --train-x x.npy --train-y y.npy --classes 3 --budget-epsilon 1 "
                        "--budget-delta 1e-5 --mu " +
                        mu),
        {.folder = site.folder().path()});
  };
  const ProgramRun refused = run("0.25");  // alone it would pass: the limit is mu = 0.268
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_NE(refused.err.find("the data set's budget of epsilon 1 at delta 1e-05"), std::string::npos) << refused.err;
  EXPECT_EQ(site.charges(), 1U);
  EXPECT_EQ(run("0.1").exit_code, 0);

  const ProgramRun shown = run_program(split_arguments("ledger show"), {.folder = site.folder().path()});
  EXPECT_NE(shown.out.find("selection by exponential: 1 of 100 candidates in each of 3 groups, epsilon 0.5\n"),
            std::string::npos)
      << shown.out;
  EXPECT_NE(shown.out.find(" at delta 1e-05 together (rho 0.0363)\n"), std::string::npos) << shown.out;
  const json json = run_program(split_arguments("ledger show --format json"), {.folder = site.folder().path()}).json();
  EXPECT_TRUE(json["releases"][0]["mu"].is_null());
  EXPECT_EQ(json["releases"][0]["selection"]["mechanism"], "exponential");
  EXPECT_NEAR(json["mu"].get<double>(), 0.1, 1e-9);
  EXPECT_NEAR(json["rho"].get<double>(), 0.03625, 1e-9);
}

}  // namespace dpreduce::crash_replay_test
