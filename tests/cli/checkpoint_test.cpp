// Runs that are killed and go on from their checkpoint, on other numbers of ranks: the same bytes in the end, charged
// once; and everything that is no checkpoint of the run is refused.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <limits>
#include <memory>
#include <random>
#include <set>
#include <thread>

#include "tests/cli/process_watch.hpp"
#include "tests/cli/program_test.hpp"
#include "tests/common/ledger/charged_runs.hpp"
#include "tests/slow_tests.hpp"

namespace dpreduce::checkpoint_test {

namespace fs = std::filesystem;

constexpr int kKillsOfARun = 5;

const std::string kFit = "fit --train-x x.npy --train-y y.npy --classes 3 --epsilon 1.5 --delta 1e-6 --checkpoint run ";

class CheckpointTest : public ProgramTest {
 protected:
  CheckpointTest() : rows_(make_rows({900, 700, 500}, 24)) { write_rows(rows_); }

  ProgramRun fit(const std::string& options, int ranks = 0) const { return run(kFit + options, ranks); }

  // Makes all releases and its model; then its report cannot be written: it has ended by an error, may be resumed, and
  // so has its journal. Kept in "kept".
  void stop_with_all(const std::string& options, int ranks = 0) const {
    const ProgramRun run = fit(options + " --report /dev/full", ranks);
    EXPECT_EQ(run.exit_code, 3) << options << "\n" << run.err;
    fs::remove_all(folder_ / "kept");
    fs::create_directory(folder_ / "kept");
    for (const std::string& name : folder_.names()) {
      if (is_of_the_run(name)) fs::copy(folder_ / name, folder_ / ("kept/" + name), fs::copy_options::recursive);
    }
  }

  static bool is_of_the_run(const std::string& name) { return name == "run" || name.starts_with("ledger.jsonl"); }

  void expect_done(const std::string& options, int ranks = 0) const { succeed(kFit + options, ranks); }

  std::string model() const { return bytes("model.safetensors"); }

  std::vector<std::string> release_files() const {
    std::vector<std::string> files;
    if (!has("run")) return files;
    for (const auto& entry : fs::directory_iterator(folder_ / "run")) {
      const std::string name = entry.path().filename();
      if (name.starts_with("releases-")) files.push_back(name);
    }
    std::sort(files.begin(), files.end());
    return files;
  }

  // What `stop_with_all` kept, as a kill would have left it earlier: so many releases recorded, so many charged, in
  // ledger and journal, no model.
  void cut(std::size_t recorded, std::size_t charged) const {
    clear();
    for (const auto& entry : fs::directory_iterator(folder_ / "kept")) {
      fs::copy(entry.path(), folder_ / entry.path().filename().string(), fs::copy_options::recursive);
    }
    const std::vector<std::string> files = release_files();
    for (std::size_t k = recorded; k < files.size(); ++k) fs::remove(folder_ / ("run/" + files[k]));
    cut_lines("ledger.jsonl", "\"kind\":\"charge\"", charged);
    for (const std::string& name : journals()) cut_lines(name, "charge ", charged);
  }

  // Cuts the file off behind its line number `most` of those that hold `text`.
  void cut_lines(const std::string& name, const std::string& text, std::size_t most) const {
    std::string kept;
    std::size_t found = 0;
    for (const std::string& line : lines_of(bytes(name))) {
      const bool is_one = line.find(text) != std::string::npos;
      if ((is_one && found == most) || line.find("\"kind\":\"end\"") != std::string::npos) break;
      found += is_one ? 1 : 0;
      kept += line + "\n";
    }
    write_bytes(folder_ / name, kept);
    fs::permissions(folder_ / name, fs::perms::owner_read | fs::perms::owner_write);
  }

  void clear_ledger() const { remove_ledger(folder_ / "ledger.jsonl"); }

  void clear() const {
    for (const std::string& name : folder_.names()) {
      if (is_of_the_run(name) || name == "model.safetensors") fs::remove_all(folder_ / name);
    }
  }

  void expect_charged_once(std::size_t releases) const {
    std::set<std::string> ids;
    const LedgerState state = Ledger::read(folder_ / "ledger.jsonl");
    for (const LedgerCharge& charge : state.charges()) ids.insert(charge.entry.release_id);
    EXPECT_EQ(state.charges().size(), releases);
    EXPECT_EQ(ids.size(), releases);
    EXPECT_TRUE(state.open_runs().empty());
    EXPECT_TRUE(journals().empty());
  }

  // What a kill leaves, and on how many ranks the run goes on.
  struct Kill {
    std::size_t recorded;
    std::size_t charged;
    int ranks;
  };

  // Makes all releases on so many ranks, seeded or with a secret of its own, and goes on after each of the kills to the
  // same bytes. Seeded, a checkpoint changes nothing.
  void expect_resumed(const std::string& options, int ranks_of_whole, std::size_t files, std::size_t charges,
                      bool is_seeded, const std::vector<Kill>& kills) const {
    SCOPED_TRACE(is_seeded ? "seeded" : "with a secret of its own");
    const std::string all = options + (is_seeded ? " --seed 5" : "");
    clear();
    stop_with_all(all, ranks_of_whole);
    const std::string whole = model();
    ASSERT_EQ(release_files().size(), files);
    if (is_seeded) {
      succeed("fit --train-x x.npy --train-y y.npy --classes 3 --epsilon 1.5 --delta 1e-6 --ledger other.jsonl " + all,
              ranks_of_whole == 0 ? 2 : 0);
      EXPECT_TRUE(model() == whole);
    }
    for (const auto& [recorded, charged, ranks] : kills) {
      SCOPED_TRACE(fmt::format("{} recorded, {} charged, {} ranks", recorded, charged, ranks));
      cut(recorded, charged);
      expect_done("--resume " + all, ranks);
      EXPECT_TRUE(model() == whole);
      expect_charged_once(charges);
      if (files != charges) continue;
      EXPECT_EQ(release_files().size(), files) << "each release is one record";
    }
  }

  TrainingRows rows_;
};

struct Choices {
  std::string name;
  std::string options;
  std::size_t releases;
};

class CheckpointOfMethodsTest : public CheckpointTest, public testing::WithParamInterface<Choices> {};

TEST_P(CheckpointOfMethodsTest, GoesOnWithAnyNumberOfRanksToTheSameBytes) {
  const auto& [name, options, releases] = GetParam();
  // After a record; before the first record. All of it; between a charge and its record; before the first charge.
  expect_resumed(options, 0, releases, releases, false, {{releases - 1, releases - 1, 0}, {0, releases, 2}});
  expect_resumed(options, 3, releases, releases, true, {{releases, releases, 2}, {1, 2, 5}, {0, 0, 1}});
}

INSTANTIATE_TEST_SUITE_P(Methods, CheckpointOfMethodsTest,
                         testing::Values(Choices{"gd", "--method gd --rounds 4 --center dp", 6},
                                         Choices{"adam", "--method adam --rounds 3 --warm-start", 4},
                                         Choices{"gd_batch",
                                                 "--method gd --rounds 3 --batch 0.3 --accountant rdp --center dp", 5},
                                         Choices{"fc", "--method fc --rounds 3 --center dp", 6},
                                         Choices{"newton", "--method newton --rounds 3", 3},
                                         Choices{"mean", "--method mean --center dp --select 9", 3},
                                         Choices{"ls", "--method ls --shared-gram --center dp --pca 6", 4}),
                         [](const auto& tested) { return tested.param.name; });

TEST_F(CheckpointTest, AChoiceIsRepeatedAtNoCharge) {
  expect_resumed("--method gd --rounds 4 --choose", 2, 4, 5, false,
                 {{4, 5, 3}, {2, 2, 0}});  // four rounds, one selection
}

// Of a release in parts some classes are recorded: they are taken, the others are made with the noise that they would
// have had, on other ranks and so in another order.
TEST_F(CheckpointTest, ARidgeByClassGoesOnAfterAnyClass) {
  write_rows(make_rows({300, 200, 100}, 24), "other_x.npy", "other_y.npy");
  const std::string ridge = "--method ls --center dp";
  for (const bool is_seeded : {true, false}) {  // the center in two steps, and three classes
    expect_resumed(ridge + " --choose --validation-x other_x.npy --validation-y other_y.npy", 0, 5, 3, is_seeded,
                   {{0, 0, 3}, {0, 3, 0}, {1, 1, 5}, {2, 2, 5}, {2, 3, 2}, {3, 3, 2}, {4, 3, 5}, {5, 3, 3}});
    expect_refused(kFit + "--resume " + ridge + (is_seeded ? " --seed 5" : ""), 7, "candidates is 12 there and 1 here");
  }
}

// kill -9 of the program, or of a rank, again and again until it ends.
TEST_F(CheckpointTest, AKilledRunEndsInTheSameBytesHoweverOftenItIsKilled) {
  constexpr std::size_t kReleases = 62;  // the center in two steps, and a gradient a round
  const std::string options = "--method gd --rounds 60 --center dp --threads 1 --memory 1 ";
  const ProgramRun timed = fit(options);
  ASSERT_EQ(timed.exit_code, 0) << timed.err;
  std::mt19937 engine(7);
  std::uniform_real_distribution<> share(0.0, 1.1);
  const int runs = runs_slow_tests() ? 12 : 2;
  int killed_on_the_way = 0;
  // On a fast disk a run may end before its kill: then more runs follow.
  for (int run = 0; run < runs || killed_on_the_way <= runs; ++run) {
    SCOPED_TRACE(run);
    ASSERT_LT(run, 10 * runs) << "the kills came too early or too late to test anything";
    clear();
    for (int kill_number = 0; kill_number < kKillsOfARun; ++kill_number) {
      const int ranks = kill_number % 3 == 2 ? 2 : 0;
      RunningProgram program(split_arguments(kFit + options + "--resume"),
                             {.folder = folder_.path(), .ranks = ranks, .form = Form::kProgram});
      // At a random moment, or a moment after so many releases are on disk.
      const std::size_t target = release_files().size() + engine() % 3;
      const bool by_time = engine() % 3 == 0;
      const double end = seconds_now() + (by_time ? share(engine) : 3.0) * timed.seconds + (ranks > 0 ? 0.5 : 0.0);
      while (seconds_now() < end && !has("model.safetensors")) {
        if (!by_time && release_files().size() >= target) break;
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
      std::this_thread::sleep_for(std::chrono::duration<double>(share(engine) * timed.seconds / kReleases));
      const pid_t victim = ranks == 0 ? program.pid() : worker_of_rank(program.mark(), 0).value_or(-1);
      if (victim > 0) ::kill(victim, SIGKILL);
      const ProgramRun ended = program.finish();
      EXPECT_FALSE(ended.timed_out);
      Ledger::read(folder_ / "ledger.jsonl");  // throws where a line is torn
      if (has("model.safetensors")) break;
      if (!release_files().empty()) ++killed_on_the_way;
    }
    // To its report, which cannot be written; then the same in one go: nothing recorded, every release repeated.
    const LedgerState state = Ledger::read(folder_ / "ledger.jsonl");
    const bool has_finished = state.charges().size() == kReleases && state.open_runs().empty();
    if (!has_finished) {
      stop_with_all(options + "--resume");
      const std::string resumed = model();
      cut(0, kReleases);
      expect_done(options + "--resume");
      EXPECT_TRUE(model() == resumed);
    } else {  // killed after its last line: perhaps before the end of its journal
      const std::string finished = model();
      expect_done(options + "--resume");
      EXPECT_TRUE(model() == finished);
    }
    expect_charged_once(kReleases);
    for (const std::string& name : folder_.names()) EXPECT_EQ(name.find(".tmp"), std::string::npos) << name;
  }
}

// Nothing is lost, and the same command begins. A folder would tell that a row has ended the run.
TEST_F(CheckpointTest, ARunThatEndedBeforeItsFirstReleaseBeginsAgain) {
  const std::string options = "--method gd --rounds 3 --resume ";
  TrainingRows bad = rows_;
  bad.features.back() = std::numeric_limits<float>::quiet_NaN();
  write_rows(bad);
  for (const int ranks : {0, 2}) {  // of two the last one has it
    EXPECT_EQ(fit(options, ranks).exit_code, 3);
    EXPECT_TRUE(journals().empty());
    EXPECT_FALSE(has("run"));
  }
  write_rows(rows_);
  expect_done(options);
  expect_charged_once(3);
}

TEST_F(CheckpointTest, AFinishedRunWritesItsModelAgainAndPaysNothing) {
  const std::string options = "--method fc --rounds 2 --report report.json ";
  expect_done(options);
  const std::string whole = model();
  fs::remove(folder_ / "model.safetensors");
  const auto ledger = bytes("ledger.jsonl");
  expect_done(options + "--resume", 2);
  EXPECT_TRUE(model() == whole);
  EXPECT_EQ(bytes("ledger.jsonl"), ledger);
  const auto report = document("report.json");
  EXPECT_EQ(report["checkpoint"]["resumed_releases"], 3);
}

TEST_F(CheckpointTest, ReleasesMayBeWrittenEverySoManySeconds) {
  const std::string options = "--method gd --rounds 4 --checkpoint-every 1000 ";
  stop_with_all(options);
  const std::string whole = model();
  EXPECT_EQ(release_files().size(), 4U) << "one each, at the end";
  cut(1, 4);
  expect_done(options + "--resume --checkpoint-every 0");
  EXPECT_TRUE(model() == whole);
}

// Options that change nothing that is released or computed may change; so may the place of the rows.
TEST_F(CheckpointTest, WhereAndHowFastItRunsIsFree) {
  const std::string options = "--method gd --rounds 3 ";
  stop_with_all(options + "--threads 1 --memory 1");
  const std::string whole = model();
  cut(2, 2);
  write_rows(rows_.part(0, 1000), "part_0.npy", "label_0.npy");
  write_rows(rows_.part(1000, 1100), "part_1.npy", "label_1.npy");
  succeed(
      "fit --train-x part_{rank}.npy --train-y label_{rank}.npy --classes 3 --epsilon 1.5 --delta 1e-6 --checkpoint "
      "run --resume --out other.safetensors --threads 2 --memory 64 --budget-epsilon 9 --budget-delta 1e-5 " +
          options,
      2);
  EXPECT_TRUE(bytes("other.safetensors") == whole);
  expect_charged_once(3);
}

TEST_F(CheckpointTest, OtherPublicRowsAreRefused) {
  write_rows(make_rows({50, 60, 70}, 24), "public.npy", "unused.npy");
  const std::string options = "--method gd --rounds 3 --pca 5 --public-x public.npy ";
  stop_with_all(options);
  const std::string whole = model();
  cut(2, 1);
  expect_done(options + "--resume", 3);
  EXPECT_TRUE(model() == whole);
  cut(2, 1);
  write_rows(make_rows({50, 60, 71}, 24), "public.npy", "unused.npy");
  expect_refused(kFit + options + "--resume", 7, "--public-x");
}

class CheckpointRefusalTest : public CheckpointTest {
 protected:
  static constexpr const char* kOptions = "--method gd --rounds 3 ";

  CheckpointRefusalTest() {
    stop_with_all(kOptions);
    cut(2, 2);
  }

  void expect_refused(const std::string& options, int code, const std::string& message, int ranks = 0) const {
    ProgramTest::expect_refused(kFit + options, code, message, ranks);
  }
};

TEST_F(CheckpointRefusalTest, AnotherRunIsExitSeven) {
  const std::string resume = "--resume --method gd ";
  expect_refused(resume + "--rounds 4", 7, "rounds is 3 there and 4 here");
  expect_refused(resume + "--rounds 4", 7, "rounds is 3 there and 4 here", 3);
  expect_refused("--resume --method adam --rounds 3", 7, "method is \"gd\" there and \"adam\" here");
  for (const auto& [option, name] :
       std::vector<std::pair<std::string, std::string>>{{"--epsilon 1.6", "epsilon is 1.5 there and 1.6 here"},
                                                        {"--delta 1e-7", "delta is 1e-06 there and 1e-07 here"},
                                                        {"--accountant zcdp", "accountant"},
                                                        {"--adjacency replace-one", "adjacency"},
                                                        {"--clip 2", "clip_norm"},
                                                        {"--normalize none", "normalize"},
                                                        {"--center dp", "center"},
                                                        {"--pool 2", "pool"},
                                                        {"--pca 4", "pca"},
                                                        {"--select 4", "select"},
                                                        {"--loss sigmoid", "loss"},
                                                        {"--iterate average", "iterate"},
                                                        {"--learning-rate 0.5", "learning_rate"},
                                                        {"--radius 3", "radius"},
                                                        {"--warm-start", "residual_norm is 0.7 there and 1.0 here"},
                                                        {"--bad-rows zero", "bad_rows"},
                                                        {"--seed 3", "private is true there and false here"}}) {
    expect_refused(resume + "--rounds 3 " + option, 7, name);
  }
}

TEST_F(CheckpointRefusalTest, OtherRowsAreExitSeven) {
  rows_.labels[7] = (rows_.labels[7] + 1) % 3;
  write_rows(rows_);
  expect_refused(std::string(kOptions) + "--resume", 7, "other training rows");
  rows_.labels[7] = (rows_.labels[7] + 2) % 3;
  write_rows(rows_.part(0, 2099));
  expect_refused(std::string(kOptions) + "--resume", 7, "other training rows", 2);
}

TEST_F(CheckpointRefusalTest, AnotherLedgerIsExitSeven) {
  fs::rename(folder_ / "ledger.jsonl", folder_ / "other");
  fs::remove(folder_ / "ledger.jsonl.signing-key");
  fs::rename(folder_ / journals().at(0), folder_ / "journal");
  expect_refused(std::string(kOptions) + "--resume", 7, "--ledger ledger.jsonl: has no line of release", 2);
}

// What is recorded is taken; what is not can be repeated by nobody.
TEST_F(CheckpointRefusalTest, WithoutItsJournalARunGoesNoFurtherThanItsCheckpoint) {
  fs::remove(folder_ / journals().at(0));
  expect_refused(std::string(kOptions) + "--resume", 7, "has ended, and its journal is gone");
  expect_refused(std::string(kOptions) + "--resume", 7, "release gradient/3", 2);
}

TEST_F(CheckpointRefusalTest, ALivingRunIsWaitedForAndThenRefused) {
  const std::string journal = journals().at(0);
  const std::string run = journal.substr(std::string("ledger.jsonl.").size(), 32);
  const std::optional<RunJournal> living = RunJournal::of_run(folder_ / "ledger.jsonl", run);
  ASSERT_TRUE(living.has_value());
  expect_refused(std::string(kOptions) + "--resume", 3, "its run is alive");
}

TEST_F(CheckpointRefusalTest, WithoutResumeACheckpointIsLeftAlone) {
  expect_refused(kOptions, 7, "add --resume");
  expect_refused(kOptions, 7, "add --resume", 2);
}

TEST_F(CheckpointRefusalTest, DamageIsBadInput) {
  const std::string path = folder_ / "run/releases-000002.safetensors";
  const std::string whole = read_bytes(path);
  write_bytes(path, whole.substr(0, whole.size() / 2));
  expect_refused(std::string(kOptions) + "--resume", 3, "releases-000002.safetensors");
  expect_refused(std::string(kOptions) + "--resume", 3, "the checkpoint is damaged", 2);
  write_bytes(path, whole);
  write_bytes(folder_ / "run/checkpoint.json", "{}");
  expect_refused(std::string(kOptions) + "--resume", 3, "checkpoint.json: is no checkpoint");
  fs::remove(folder_ / "run/checkpoint.json");
  expect_refused(std::string(kOptions) + "--resume", 3, "checkpoint.json: is missing");
}

TEST_F(CheckpointRefusalTest, AFolderThatCannotBeWrittenIsBadInput) {
  fs::remove_all(folder_ / "run");
  write_bytes(folder_ / "run", "a file");
  expect_refused(kOptions, 3, "--checkpoint run");
  fs::remove(folder_ / "run");
  fs::create_directory(folder_ / "run");
  fs::permissions(folder_ / "run",
                  fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read | fs::perms::others_exec);
  fs::permissions(folder_.path(), fs::perms::all);
  clear_ledger();
  const ProgramRun run =
      run_program(split_arguments(kFit + kOptions), {.folder = folder_.path(), .privileges = Privileges::kNone});
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("run/checkpoint.json"));
  EXPECT_TRUE(journals().empty());
  EXPECT_TRUE(Ledger::read(folder_ / "ledger.jsonl").open_runs().empty()) << "what it reserved is given back";
}

TEST_F(CheckpointRefusalTest, OptionsThatDoNotFitAreUsage) {
  const std::string plain = "fit --train-x x.npy --train-y y.npy --classes 3 ";
  const auto refused = [&](const std::string& options, const std::string& message) {
    ProgramTest::expect_refused(plain + options, 2, message);
  };
  refused("--non-private --checkpoint new", "--checkpoint with --non-private");
  refused("--mu 1 --checkpoint-every 3", "--checkpoint-every goes with --checkpoint");
  refused("--mu 1 --checkpoint new --checkpoint-every -1", "--checkpoint-every -1");
  refused("--mu 1 --checkpoint model.safetensors", "--checkpoint and --out are both");
}

// Public values only: not the secret, no digest of rows, not how many there are.
TEST_F(CheckpointRefusalTest, HoldsNoSecretNoDigestOfRowsAndNoNumberOfThem) {
  std::vector<std::string> secrets;
  for (const std::string& line : lines_of(bytes(journals().at(0)))) {
    if (line.starts_with("secret ") || line.starts_with("rows ") || line.starts_with("charge ")) {
      const std::size_t first = line.starts_with("secret ") ? line.rfind(' ') + 1 : line.find(' ') + 1;
      secrets.push_back(line.substr(first, 16));
    }
  }
  ASSERT_GE(secrets.size(), 4U);
  for (const auto& [name, content] : content_of(folder_ / "run")) {
    for (const std::string& secret : secrets) EXPECT_EQ(content.find(secret), std::string::npos) << name;
    EXPECT_EQ(content.find(" 2100"), std::string::npos) << name;  // as numbers are printed; digests have no spaces
  }
}

}  // namespace dpreduce::checkpoint_test
