// A run that is killed at every flush, write and change of a name in its folder, and gone on with: values that anybody
// sees are at most values charged, none is seen twice under one charge, and a run that goes on ends or is refused. So
// with copies of what a run leaves, two runs that go on at once, and a full disk.
#include "common/ledger/ledger.hpp"
#include "common/ledger/run_file.hpp"
#include "common/model/classifier_file.hpp"
#include "common/randomness/signing_key.hpp"
#include "tests/cli/program_test.hpp"
#include "tests/slow_tests.hpp"

namespace dpreduce::one_account_test {

constexpr std::size_t kRows = 90;
constexpr std::size_t kDim = 4;
constexpr int kSlowTestsAlone = 0;  // a stride

/// A command that releases something, but for --report, --metrics and --ledger.
struct Story {
  std::string name;
  std::string line;
  int stride = 1;  ///< one of so many calls is a test's, unless slow tests are run
  bool has_metrics = true;
  int ranks = 0;
};

// What the files of a folder show: releases by id, with their integers' digest and the norm of each block.
struct Seen {
  std::string digest;
  std::map<std::string, double> norms;
  bool is_noise = false;  ///< whether chance does not give the same values again
};

double norm_of(const std::vector<std::int64_t>& values) {
  double sum = 0.0;
  for (const std::int64_t value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(sum);
}

// Everything that was ever seen of the runs on one ledger.
class History {
 public:
  History() = default;
  explicit History(const fs::path& folder) { look(folder); }
  // Looks at a copy of the folder, as somebody would who reads it at that time.
  void look(const fs::path& folder) {
    const TemporaryFolder copy;
    Strings runs;
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string name = entry.path().filename();
      if (!name.starts_with("ledger.jsonl")) continue;
      fs::copy(entry.path(), copy / name);
      constexpr std::size_t kRunDigits = 32;
      if (name.ends_with(".releases")) runs.push_back(name.substr(std::string("ledger.jsonl.").size(), kRunDigits));
    }
    state_ = Ledger::read(copy / "ledger.jsonl");
    std::set<std::string> saved_now;
    for (const std::string& run : runs) {
      const std::optional<RunFile> file = RunFile::of_run(copy / "ledger.jsonl", run);
      ASSERT_TRUE(file.has_value());
      for (const RunFile::Record& record : file->records()) {
        if (record.line_sha256.empty()) continue;
        saved_now.insert(record.label);
        add(record, file->values_of(record));
      }
    }
    look_at_metrics(folder, saved_now);
  }

  const LedgerState& state() const { return state_; }
  std::size_t values_seen() const { return seen_.size(); }

 private:
  void add(const RunFile::Record& record, const NamedIntegers& values) {
    const LedgerCharge* const charge = state_.charge(record.release_id());
    ASSERT_NE(charge, nullptr) << record.release_id() << " is there and not charged";
    EXPECT_EQ(state_.line_sha256()[charge->line], record.line_sha256);
    Seen seen;
    std::string bytes;
    for (const auto& [name, integers] : values) {
      const auto of_block = std::as_bytes(std::span(integers));
      bytes.append(reinterpret_cast<const char*>(of_block.data()), of_block.size());
      seen.norms[name] = norm_of(integers);
      seen.is_noise = seen.is_noise || (!charge->entry.selection && integers.size() >= kDim);
    }
    seen.digest = to_hex(sha256(bytes));
    const auto [known, is_new] = seen_.emplace(record.release_id(), seen);
    EXPECT_EQ(known->second.digest, seen.digest) << "two values under the charge of " << record.release_id();
    if (!is_new || !seen.is_noise) return;
    EXPECT_TRUE(digests_.insert(seen.digest).second) << "the values of " << record.release_id() << " were seen before";
  }

  // Lines of metrics grow as releases are looked at: each of them was saved before.
  void look_at_metrics(const fs::path& folder, const std::set<std::string>& saved) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (!entry.path().filename().string().starts_with("metrics")) continue;
      for (const std::string& line : lines_of(read_bytes(entry.path()))) {
        const json shown = json::parse(line, nullptr, false);
        if (shown.is_discarded() || !shown.contains("round")) continue;
        const std::string name = shown["phase"];
        const std::string label = shown["rounds"] == 1 ? name : fmt::format("{}/{}", name, shown["round"].get<int>());
        if (state_.open_runs().empty()) continue;  // its file is gone
        EXPECT_TRUE(saved.contains(label)) << label << " was shown before it was saved";
        for (const json& block : shown["blocks"]) {
          EXPECT_TRUE(is_known(label, block["name"], block["norm"])) << line << "\nis of no charge";
        }
      }
    }
  }

  bool is_known(const std::string& label, const std::string& block, double norm) const {
    return std::ranges::any_of(seen_, [&](const auto& known) {
      const std::string of_known = known.first.substr(known.first.find('/') + 1);
      const auto found = known.second.norms.find(block);
      return of_known == label && found != known.second.norms.end() &&
             std::abs(found->second - norm) <= 1e-9 * std::max(1.0, norm);
    });
  }

  LedgerState state_;
  std::map<std::string, Seen> seen_;  // by release id
  std::set<std::string> digests_;
};

class OneAccountTest : public ProgramTest {
 protected:
  OneAccountTest() {
    write_rows(make_rows({kRows / 3, kRows / 3, kRows / 3}, kDim));
    write_rows(make_rows({20, 20, 20}, kDim), "test_x.npy", "test_y.npy");
    write_rows(make_rows({12, 12, 12}, kDim), "public_x.npy", "public_y.npy");
    write_rows(make_rows({40, 50}, kDim), "two_x.npy", "two_y.npy");
    write_numbers("persons.npy", kRows, [](std::size_t row) { return row / 3; });
    succeed(
        "fit --method gd --rounds 5 --train-x two_x.npy --train-y two_y.npy --classes 2 --mu 1 --ledger other.jsonl "
        "--out two.safetensors");
    for (const std::string& name : folder_.names()) data_.insert(name);
  }

  void clear() const {
    for (const std::string& name : folder_.names()) {
      if (!data_.contains(name)) fs::remove_all(folder_ / name);
    }
  }
  LedgerState ledger() const { return Ledger::read(folder_ / "ledger.jsonl"); }
  std::size_t charges() const { return ledger().charges().size(); }
  // Goes on with the run, to its end.
  void resume(const Story& story) const {
    const ProgramRun run = start(story, "--resume");
    ASSERT_EQ(run.exit_code, 0) << run.err;
  }

  ProgramRun start(const Story& story, const std::string& more, long at = 0, const std::string& how = {},
                   const std::string& count = {}) const {
    RunOptions options{.ranks = story.ranks, .form = Form::kProgram, .keeps_files = true};
    if (at > 0 || !count.empty()) {
      options.environment = {{"LD_PRELOAD", DPREDUCE_WRITE_KILLER},
                             {"DPREDUCE_KILLER_FOLDER", folder_.path()},
                             {"DPREDUCE_KILLER_AT", std::to_string(at)},
                             {"DPREDUCE_KILLER_HOW", how},
                             {"DPREDUCE_KILLER_COUNT", count}};
    }
    const std::string metrics = story.has_metrics ? " --metrics metrics.jsonl" : "";
    return run_with(options, story.line + " --report report.json" + metrics + " " + more);
  }

  // How many calls a whole run makes that change a file here.
  long calls_of(const Story& story) const {
    clear();
    const TemporaryFolder elsewhere;
    const ProgramRun whole = start(story, "", 0, "before", elsewhere / "count");
    EXPECT_EQ(whole.exit_code, 0) << story.name << "\n" << whole.err;
    return static_cast<long>(fs::file_size(elsewhere / "count"));
  }

  // The report lists every charge of its runs, shown or not, and promises no more than they cost together.
  void expect_honest(const History& history) const {
    const json report = document("report.json");
    std::set<std::string> runs{report["ledger"]["run"]};
    for (const std::string run : report["ledger"].value("goes_on_from", json::array())) runs.insert(run);
    std::multiset<std::string> charged;
    double squared_mu = 0.0;
    for (const LedgerCharge& charge : history.state().charges()) {
      const std::string& id = charge.entry.release_id;
      if (!runs.contains(run_of(id))) continue;
      charged.insert(id.substr(id.find('/') + 1));
      squared_mu += charge.entry.mu * charge.entry.mu;
    }
    std::multiset<std::string> listed;
    const auto list = [&](const json& items, const char* key) {
      std::set<std::string> shown;
      std::string last;
      for (const json& item : items) {
        const std::string label = item[key];
        if (!item.contains("shown")) {
          if (shown.insert(label).second) listed.insert(label);
        } else if (label != last) {
          listed.insert(label);
        }
        last = item.contains("shown") ? label : "";
      }
    };
    list(report["privacy"]["releases"], "release");
    list(report["privacy"].value("selections", json::array()), "name");
    EXPECT_EQ(listed, charged);
    if (report["privacy"]["mu"].is_number()) {
      EXPECT_GE(report["privacy"]["mu"].get<double>(), std::sqrt(squared_mu) * (1 - 1e-9));
    }
    if (has("model.safetensors")) {
      const Classifier model = load_classifier(folder_ / "model.safetensors");
      ASSERT_TRUE(model.parts().privacy.has_value());
      EXPECT_EQ(*model.parts().privacy->epsilon, report["privacy"]["epsilon"].get<double>());
    }
  }

  void expect_nothing_left() const {
    EXPECT_EQ(run_files(), Strings{});
    for (const std::string& name : folder_.names()) EXPECT_EQ(name.find(".tmp"), std::string::npos) << name;
  }

  // Goes on with what is there; it ends, or is refused because the run had ended.
  void go_on(const Story& story, History& history) const {
    const bool has_charged = !history.state().charges().empty();
    const bool had_ended = has_charged && history.state().open_runs().empty() && has("report.json");
    const ProgramRun resumed = start(story, "--resume");
    history.look(folder_.path());
    // Of a run that has charged nothing a file of metrics may be there, which is not known for its own.
    if ((had_ended || !has_charged) && resumed.exit_code == 3) {
      EXPECT_THAT(resumed.err, HasSubstr("already exists"));
      return;
    }
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_TRUE(history.state().open_runs().empty());
    expect_honest(history);
    expect_nothing_left();
  }

  void kill_everywhere(const Story& story, const std::string& how) const {
    const long calls = calls_of(story);
    ASSERT_GT(calls, 10) << story.name;
    const int stride = runs_slow_tests() ? 1 : story.stride;
    int with_values = 0;
    for (long at = 1 + static_cast<long>(how.size()) % stride; at <= calls; at += stride) {
      SCOPED_TRACE(fmt::format("{}, {} at call {} of {}", story.name, how, at, calls));
      clear();
      const ProgramRun killed = start(story, "", at, how);
      // Reports differ in length from run to run, and so may the number of their writes.
      if (killed.exit_code == 0 && at + 4 > calls) break;
      EXPECT_NE(killed.exit_code, 0);
      if (has("ledger.jsonl") && !bytes("ledger.jsonl").empty() && !bytes("ledger.jsonl").ends_with('\n')) {
        EXPECT_EQ(start(story, "--resume").exit_code, 6) << "half a line is for its owner to look at";
        continue;
      }
      History history(folder_.path());
      if (history.values_seen() > 0) ++with_values;
      go_on(story, history);
      if (HasFatalFailure() || HasNonfatalFailure()) return;
    }
    if (runs_slow_tests()) {
      EXPECT_GT(with_values, 0) << story.name;
    }
  }

 private:
  std::set<std::string> data_;
};

const std::string kFit = "fit --train-x x.npy --train-y y.npy --classes 3 --threads 1 --memory 1 ";
const std::string kRelease = "release --train-x x.npy --train-y y.npy --classes 3 --statistics ";
const std::string kBudget = " --epsilon 1.5 --delta 1e-6";

class KilledAtEveryWriteTest : public OneAccountTest, public testing::WithParamInterface<Story> {};

TEST_P(KilledAtEveryWriteTest, ARunShowsNothingThatIsNotChargedAndIsGoneOnWith) {
  if (GetParam().stride == kSlowTestsAlone && !runs_slow_tests()) GTEST_SKIP() << "a long test";
  kill_everywhere(GetParam(), "before");
  kill_everywhere(GetParam(), "torn");
}

// Each kind of run that is charged in several steps.
std::vector<Story> stories() {
  std::vector<Story> all{
      {"mean", kFit + "--method mean --center dp", 3},
      {"ls", kFit + "--method ls", 4},
      {"ls_shared", kFit + "--method ls --shared-gram --choose", 6},
      {"fc", kFit + "--method fc --rounds 2 --center dp --isotropy-share 0.1", 9},
      {"batch", kFit + "--method gd --rounds 2 --batch 0.4 --accountant rdp", 6},
      {"choose", kFit + "--method gd --rounds 2 --choose", 6},
      {"evaluated_share", kFit + "--method mean --test-x test_x.npy --test-y test_y.npy --evaluate-share 0.2", 6},
      {"evaluation",
       "evaluate --private --model two.safetensors --test-x two_x.npy --test-y two_y.npy --metrics accuracy,auc "
       "--positive 1 --ledger ledger.jsonl",
       6, false},
      {"release", kRelease + "gram,class_sums,class_sizes", 6, false},
      {"release_grams", kRelease + "class_grams", 6, false},
      {"persons", kFit + "--method mean --train-person persons.npy --rows-per-person 2", 5}};
  for (Story& story : all) story.line += kBudget;
  all.push_back({"public", kFit + "--method public --public-x public_x.npy --epsilon 1", 5});
  return all;
}

// The same on three ranks: slow tests, but for three of them, a few calls of each.
std::vector<Story> stories_over_ranks() {
  std::map<std::string, int> strides{{"mean", 16}, {"ls", 12}, {"fc", 20}};
  std::vector<Story> all = stories();
  for (Story& story : all) {
    story.stride = strides.emplace(story.name, kSlowTestsAlone).first->second;
    story.ranks = 3;
  }
  return all;
}

const auto name_of_story = [](const auto& tested) { return tested.param.name; };
INSTANTIATE_TEST_SUITE_P(Alone, KilledAtEveryWriteTest, testing::ValuesIn(stories()), name_of_story);
INSTANTIATE_TEST_SUITE_P(OverRanks, KilledAtEveryWriteTest, testing::ValuesIn(stories_over_ranks()), name_of_story);

TEST_F(OneAccountTest, ARunThatIsKilledAgainAndAgainEnds) {
  const Story story{"gd", kFit + "--method gd --rounds 4 --center dp" + kBudget, 1, false};
  History history;
  int starts = 0;
  for (long at = 16; starts < 40; ++starts, at = 16 + (at * 7) % 11) {
    const ProgramRun run = start(story, "--resume", at, "before");
    history.look(folder_.path());
    if (run.exit_code == 0) break;
  }
  ASSERT_LT(starts, 40) << "it never ends";
  ASSERT_GT(starts, 3);
  expect_honest(history);
  expect_nothing_left();
}

// Without room for a line, a record or a report nothing is seen that is not charged, and the run is gone on with.
TEST_F(OneAccountTest, AFullDiskAtAnyCallLosesNothingThatIsPaidForAndSaved) {
  const Story story{"gd", kFit + "--method gd --rounds 2 --center dp" + kBudget};
  const long calls = calls_of(story);
  for (long at = 1; at <= calls; at += runs_slow_tests() ? 1 : 5) {
    SCOPED_TRACE(fmt::format("full at call {} of {}", at, calls));
    clear();
    const ProgramRun full = start(story, "", at, "full");
    if (full.exit_code == 0) continue;  // only flushes and names were left
    EXPECT_EQ(full.exit_code, 3) << full.err;
    History history(folder_.path());
    go_on(story, history);
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

class CopiesTest : public OneAccountTest {
 protected:
  static constexpr const char* kRecord = "release {\"";

  CopiesTest() : story_{"gd", kFit + "--method gd --rounds 4" + kBudget, 1, false} {}

  // A run that has charged and saved so many releases and was killed, in this folder.
  void die_after(std::size_t releases) {
    for (long at = 10 + 6 * static_cast<long>(releases); at < 80; ++at) {
      clear();
      start(story_, "", at, "before");
      if (saved() == releases && charges() == releases) return;
    }
    FAIL() << "no kill leaves " << releases << " releases";
  }

  std::string run_file() const { return run_files().at(0); }
  // A record that the kill has torn is cut off by this look.
  std::size_t saved() const {
    const std::vector<RunFile::DeadRun> dead = RunFile::dead_runs(folder_ / "ledger.jsonl", ledger());
    return dead.empty() ? 0 : dead.front().releases;
  }
  void restore(const std::string& name, const std::string& content) const {
    write_bytes(folder_ / name, content);
    fs::permissions(folder_ / name, fs::perms::owner_read | fs::perms::owner_write);
  }

  Story story_;
};

// The saved file as it was one release before: that release is made again, and paid for again.
TEST_F(CopiesTest, AnOlderFileIsPaidForAgain) {
  die_after(3);
  History history(folder_.path());
  const std::size_t charged = charges();
  const std::string file = run_file();
  const std::string text = bytes(file);
  restore(file, text.substr(0, text.rfind(kRecord)));
  go_on(story_, history);
  EXPECT_EQ(charges(), charged + 2) << "the third round, and the fourth";
}

TEST_F(CopiesTest, WithoutItsFileARunBeginsAnew) {
  die_after(2);
  History history(folder_.path());
  const std::size_t charged = charges();
  fs::remove(folder_ / run_file());
  resume(story_);
  history.look(folder_.path());
  EXPECT_EQ(charges(), charged + 4);
}

TEST_F(CopiesTest, AFileWithoutItsLinesIsRefused) {
  die_after(2);
  const std::string file = run_file();
  const std::string saved = bytes(file);
  const std::string ledger = bytes("ledger.jsonl");
  restore("ledger.jsonl", ledger.substr(0, ledger.find(charges_in(ledger).front())));
  const ProgramRun run = start(story_, "--resume");
  EXPECT_EQ(run.exit_code, 7) << run.err;
  EXPECT_THAT(run.err, HasSubstr("has no line for release"));
  EXPECT_EQ(bytes(file), saved);
}

TEST_F(CopiesTest, TwoCopiesOfAFolderShareNoNoise) {
  die_after(2);
  const TemporaryFolder before;
  for (const std::string& name : folder_.names()) fs::copy(folder_ / name, before / name);
  std::set<std::string> models;
  for (int copy = 0; copy < 2; ++copy) {
    clear();
    for (const std::string& name : before.names()) {
      fs::copy(before / name, folder_ / name, fs::copy_options::overwrite_existing);
    }
    resume(story_);
    EXPECT_EQ(charges(), 4U);
    models.insert(bytes("model.safetensors"));
  }
  EXPECT_EQ(models.size(), 2U);
}

TEST_F(CopiesTest, OfTwoThatGoOnAtOnceOneHasTheRun) {
  die_after(2);
  const RunOptions here{.folder = folder_.path(), .form = Form::kProgram, .keeps_files = true};
  RunningProgram first(split_arguments(story_.line + " --resume --report one.json --out one.safetensors"), here);
  RunningProgram second(split_arguments(story_.line + " --resume --report two.json --out two_model.safetensors"), here);
  const ProgramRun one = first.finish();
  const ProgramRun two = second.finish();
  // The other waits for it and is refused, when it has ended or after some seconds. Where it comes later, it begins.
  std::size_t ended = 0;
  for (const ProgramRun* run : {&one, &two}) {
    ended += run->exit_code == 0 ? 1 : 0;
    if (run->exit_code == 0) continue;
    EXPECT_THAT(run->err, AnyOf(HasSubstr("its run is still running"), HasSubstr("its run has ended in the meantime")));
  }
  ASSERT_GE(ended, 1U) << one.err << two.err;
  EXPECT_EQ(charges(), 4U * ended);
  EXPECT_TRUE(History(folder_.path()).state().open_runs().empty());
}

// Rows of zeros: what is published is the noise itself.
TEST_F(OneAccountTest, OneRunTwiceSharesNoNoise) {
  TrainingRows zeros{.dim = kDim, .features = std::vector<float>(kDim * kRows, 0.0F), .labels = {}};
  for (std::size_t row = 0; row < kRows; ++row) zeros.labels.push_back(static_cast<std::int64_t>(row % 3));
  write_rows(zeros);
  std::set<std::string> weights;
  for (int time = 0; time < 2; ++time) {
    clear();
    succeed(kFit + "--method mean --clip 1 --normalize none" + kBudget);
    weights.insert(bytes("model.safetensors"));
  }
  EXPECT_EQ(weights.size(), 2U);
}

TEST_F(CopiesTest, WithoutResumeARunIsNewAndSaysWhatTheDeadOneLeft) {
  die_after(2);
  const ProgramRun run = start(story_, "");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, AllOf(HasSubstr("ended early with 2 releases"), HasSubstr("to resume it, repeat the command")));
  EXPECT_EQ(ledger().open_runs().size(), 1U);
  const ProgramRun other =
      run_with({.form = Form::kProgram}, story_.line + " --clip 2 --report other.json --out o.safetensors");
  EXPECT_THAT(other.err, HasSubstr("its options differ from this run's"));
}

TEST_F(OneAccountTest, AFinishedRunIsMadeAnewWithResumeAndWithout) {
  const std::string line = kFit + "--method mean --mu 0.5 --overwrite ";
  std::set<std::string> models;
  for (const char* resume : {"--resume", "--resume", ""}) {
    succeed(line + resume);
    models.insert(bytes("model.safetensors"));
  }
  EXPECT_EQ(models.size(), 3U);
  EXPECT_EQ(charges(), 3U);
}

// All is saved, and the report cannot be written, time and again: each message names a run that can be given up.
TEST_F(OneAccountTest, ARunThatEndsAtItsReportNamesARunThatTheLedgerKnows) {
  std::string run;
  for (int time = 0; time < 3; ++time) {
    const ProgramRun ended =
        run_with({.form = Form::kProgram}, kFit + "--method mean" + kBudget + " --resume --report /dev/full");
    EXPECT_EQ(ended.exit_code, 3) << ended.err;
    if (time == 0) run = run_of(ledger().charges().front().entry.release_id);
    EXPECT_THAT(ended.err, HasSubstr("dpreduce ledger release " + run));
  }
  succeed("ledger release " + run);
  expect_nothing_left();
}

TEST_F(OneAccountTest, RunsThatPromiseNothingAreNotGoneOnWith) {
  expect_refused(kFit + "--method mean --mu 1 --seed 3 --resume", 2, "--resume: this run saves nothing");
  expect_refused("fit --train-x x.npy --train-y y.npy --classes 3 --method fedavg --mu 1 --resume", 2, "--resume");
}

}  // namespace dpreduce::one_account_test
