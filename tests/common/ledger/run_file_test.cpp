#include "common/ledger/run_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/file_descriptor.hpp"
#include "common/ledger/ledger.hpp"
#include "common/ledger/old_journals.hpp"
#include "tests/common/ledger/sample_ledger.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/testing.hpp"

namespace dpreduce::run_file_test {

namespace fs = std::filesystem;

const std::string kConfig(64, 'b');
const std::string kOtherConfig(64, 'c');

class RunFileTest : public testing::Test {
 protected:
  RunFile made(const std::string& config = kConfig, SavesReleases saves = SavesReleases::kYes) const {
    return RunFile::make(ledger_, config, saves);
  }
  // A run with a reservation, which has charged one of two rounds and saved it.
  std::string charged_run(const std::string& config = kConfig) const {
    RunFile file = made(config);
    Ledger ledger(ledger_);
    ledger.reserve(sample_reservation(file.run_id(), 2));
    file.save("means/1", ledger.append(sample_entry(file.run_id() + "/means/1")),
              {{"sums", values_}, {"counts", one_}});
    return file.run_id();
  }
  LedgerState state() const { return Ledger::read(ledger_); }
  std::optional<RunFile> taken(const std::string& config = kConfig) const {
    return RunFile::take_over(ledger_, config, state());
  }
  fs::path path_of(const std::string& run) const { return ledger_.string() + "." + run + ".releases"; }
  fs::path journal_of(const std::string& run) const { return ledger_.string() + "." + run + ".journal"; }
  void put(const fs::path& path, const std::string& bytes) const {
    write_bytes(path, bytes);
    fs::permissions(path, fs::perms(0600));
  }

  const std::vector<std::int64_t> values_{5, -7, std::numeric_limits<std::int64_t>::min()};
  const std::vector<std::int64_t> one_{1};
  const TemporaryFolder folder_;
  const fs::path ledger_ = folder_ / "ledger.jsonl";
};

TEST_F(RunFileTest, IsItsOwnersAloneAndNamedAfterLedgerAndRun) {
  const RunFile file = made();
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"ledger.jsonl." + file.run_id() + ".releases"});
  EXPECT_EQ(fs::status(path_of(file.run_id())).permissions(), fs::perms(0600));
  EXPECT_TRUE(file.is_new());
}

TEST_F(RunFileTest, IsTakenOverByAnotherRunWithAllThatItHeld) {
  const std::string first = charged_run();
  std::string second;
  {
    RunFile file = taken().value();
    second = file.run_id();
    EXPECT_NE(second, first);
    EXPECT_FALSE(file.is_new());
    EXPECT_EQ(file.run_ids(), (std::vector{first, second}));
    ASSERT_EQ(file.records().size(), 1U);
    const RunFile::Record& record = file.records().front();
    EXPECT_EQ(record.release_id(), first + "/means/1");
    EXPECT_EQ(record.line_sha256, state().line_sha256().back());
    EXPECT_EQ(file.values_of(record), (NamedIntegers{{"sums", values_}, {"counts", one_}}));
    file.announce_run();
    file.save("branch", {}, {{"decision", one_}});
  }
  const RunFile third = taken().value();
  EXPECT_EQ(third.run_ids().size(), 3U);
  ASSERT_EQ(third.records().size(), 2U);
  EXPECT_EQ(third.records()[1].run_id, second);
  EXPECT_EQ(third.values_of(third.records()[1]).front().second, one_);
}

// Of a run that finished, was given up, or never wrote a line.
TEST_F(RunFileTest, OfARunThatIsOverIsNeverTakenAndGoes) {
  const std::string unwritten = made().run_id();
  const std::string finished = charged_run();
  const std::string given_up = charged_run();
  const std::string stopped = charged_run();
  const std::string killed = charged_run();
  Ledger ledger(ledger_);
  ledger.end(finished, RunOutcome::kFinished);
  ledger.end(given_up, RunOutcome::kReleased);
  ledger.end(stopped, RunOutcome::kStopped);
  EXPECT_EQ(RunFile::dead_runs(ledger_, state()).size(), 2U);
  for (const std::string& run : {unwritten, finished, given_up}) EXPECT_TRUE(fs::exists(path_of(run)));
  const RunFile living = made();
  RunFile::remove_ended(ledger_, state());
  for (const std::string& run : {unwritten, finished, given_up}) EXPECT_FALSE(fs::exists(path_of(run)));
  for (const std::string& run : {stopped, killed, living.run_id()}) EXPECT_TRUE(fs::exists(path_of(run)));
  std::set<std::string> runs;
  for (int time = 0; time < 2; ++time) {
    const RunFile file = taken().value();
    runs.insert(file.run_ids().front());
    ledger.end(file.run_ids().front(), RunOutcome::kReleased);
  }
  EXPECT_EQ(runs, (std::set{stopped, killed}));
}

TEST_F(RunFileTest, OfALivingRunIsWaitedForAndThenRefused) {
  const std::string run = charged_run();
  const RunFile living = taken().value();
  expect_refusal<BadInput>([&] { taken(); }, {path_of(run).string(), "its run is still running"});
  expect_refusal<BadInput>([&] { RunFile::of_run(ledger_, run); }, {"its run is still running"});
  EXPECT_TRUE(RunFile::dead_runs(ledger_, state()).empty());
}

// Who waited for a run to go on with, and saw it end, does not begin another one that nobody asked for.
TEST_F(RunFileTest, ThatEndsWhileAnotherWaitsForItIsNotBegunAnew) {
  const std::string run = charged_run();
  RunFile living = taken().value();
  std::jthread end([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    living.remove();
  });
  expect_refusal<BadInput>([&] { taken(); }, {path_of(run).string(), "its run has ended in the meantime"});
}

TEST_F(RunFileTest, ATornEndCountsAsNotThere) {
  const std::string run = charged_run();
  const std::string whole = read_bytes(path_of(run));
  const std::size_t record = whole.find("release {");
  for (std::size_t length = record; length < whole.size(); ++length) {
    put(path_of(run), whole.substr(0, length));
    std::optional<RunFile> file = taken();
    ASSERT_TRUE(file.has_value()) << length;
    EXPECT_TRUE(file->records().empty()) << length;
    EXPECT_EQ(fs::file_size(path_of(run)), record) << "the torn end is cut off";
  }
  std::string flipped = whole;
  flipped.back() ^= 1;  // blocks of the disk that a crash left unwritten
  put(path_of(run), flipped);
  EXPECT_TRUE(taken()->records().empty());
}

// Of its own lines, and of records: of the last one too where that is no record at all.
TEST_F(RunFileTest, DamageBeforeItsEndIsRefused) {
  const std::string run = charged_run();
  const std::string whole = read_bytes(path_of(run));
  const std::string begin = whole.substr(0, whole.find("release {"));
  const std::string record = whole.substr(begin.size());
  const std::string first = "dpreduce releases 1\n";
  const std::string config = "config " + kConfig + "\n";
  const std::string name = "run " + run + "\n";
  std::vector<std::string> damaged{"",
                                   "\n",
                                   first,
                                   "dpreduce releases 9" + whole.substr(19),
                                   whole.substr(20),
                                   first + config,
                                   first + config + record,
                                   first + config + "run " + std::string(32, 'A') + "\n"};
  for (const std::string& line :
       {std::string(), std::string("config"), "config " + run, "config " + std::string(64, 'B')}) {
    damaged.push_back(first + line + "\n" + name);
  }
  for (const char* line : {"rest", "run 7", "release", "release ", "release {", "release []", "release {}", ""}) {
    damaged.push_back(begin + line + "\n" + record);
    damaged.push_back(begin + line + "\n");
  }
  damaged.push_back(begin + std::string(1 << 16, 'x') + "\n");
  for (const char* field : {"run", "label", "line", "blocks"}) {
    damaged.push_back(begin + replaced(record, fmt::format("\"{}\":", field), fmt::format("\"{}\":7,\"x\":", field)));
    damaged.push_back(begin + replaced(record, fmt::format("\"{}\":", field), "\"other\":"));
  }
  damaged.push_back(begin + replaced(record, "means/1", "means/2") + record);
  damaged.push_back(begin + replaced(record, kConfig, kOtherConfig) + record);
  damaged.push_back(begin + replaced(record, "\"sha256\":", "\"other\":") + record);
  damaged.push_back(begin + replaced(record, "{", "{\"more\":1,") + record);
  damaged.push_back(begin + replaced(record, "\"sha256\":", "\"sha256\":7,\"x\":"));
  for (const char* longer : {"[\"sums\",9", "[\"sums\",-"}) {
    damaged.push_back(begin + replaced(record, "[\"sums\",", longer) + record);
  }
  damaged.push_back(begin + record.substr(0, record.size() - 1) + "x" + record);
  const LedgerState state = this->state();
  for (const std::string& text : damaged) {
    SCOPED_TRACE(text.substr(0, 400));
    put(path_of(run), text);
    expect_refusal<BadInput>(
        [&] { RunFile::take_over(ledger_, kConfig, state); },
        {"releases " + path_of(run).string() + ": is damaged; restore it, or remove it", "`dpreduce ledger release`"});
    EXPECT_TRUE(RunFile::dead_runs(ledger_, state).empty());
    RunFile::remove_ended(ledger_, state);
    EXPECT_EQ(read_bytes(path_of(run)), text);
  }
}

TEST_F(RunFileTest, OfAnotherKindIsNamedAndStaysWhereItIs) {
  const fs::path path = path_of(std::string(32, '0'));
  const fs::path target = folder_ / "target";
  const std::vector<std::pair<std::function<void()>, std::string>> kinds{
      {[&] { fs::create_directory(path); }, "cannot be opened: Is a directory"},
      {[&] { fs::create_symlink(target, path); }, "cannot be opened: Too many levels of symbolic links"},
      {[&] { fs::create_symlink(folder_.path(), path); }, "cannot be opened: Too many levels of symbolic links"},
      {[&] { ::mkfifo(path.c_str(), 0600); }, "must be a regular file"},
      {[&] { write_bytes(path, ""); }, "must have 0600"}};
  for (const auto& kind : kinds) {
    kind.first();
    expect_refusal<BadInput>([&] { RunFile::of_run(ledger_, std::string(32, '1')); }, {path.string(), kind.second});
    EXPECT_TRUE(RunFile::dead_runs(ledger_, state()).empty());
    RunFile::remove_ended(ledger_, state());
    EXPECT_TRUE(fs::remove(path)) << kind.second;
  }
}

TEST_F(RunFileTest, OfAnotherNameIsNoFileOfARun) {
  const std::string id(32, 'a');
  const std::string upper(32, 'A');
  for (const std::string& name :
       std::vector<std::string>{"ledger.jsonl." + id + ".released", "ledger.jsonX." + id + ".releases",
                                "ledger.jsonl." + upper + ".releases", "ledger.jsonl.aa.releases"}) {
    write_bytes(folder_ / name, "");
  }
  EXPECT_THAT(files_of_runs(ledger_, ".releases"), IsEmpty());
  EXPECT_THAT(files_of_runs(folder_ / "missing/ledger.jsonl", ".releases"), IsEmpty());
  EXPECT_FALSE(RunFile::of_run(folder_ / "missing/ledger.jsonl", id).has_value());
  expect_refusal<BadInput>([&] { RunFile::make(folder_ / "missing/ledger.jsonl", kConfig, SavesReleases::kYes); },
                           {folder_ / "missing/ledger.jsonl.", "cannot be made: No such file"});
  EXPECT_THROW(made("no digest"), std::logic_error);
}

TEST_F(RunFileTest, OfALedgerWithoutAFolderLiesInTheWorkingFolder) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path());
  const std::string run = charged_run();
  EXPECT_THAT(files_of_runs("ledger.jsonl", ".releases"), ElementsAre(fs::path("ledger.jsonl." + run + ".releases")));
  EXPECT_TRUE(RunFile::of_run("ledger.jsonl", run).has_value());
  fs::current_path(before);
}

TEST_F(RunFileTest, ThatLosesItsEndOrItsNameInTheMeantimeIsRefused) {
  charged_run();
  RunFile file = taken().value();
  const fs::path path = path_of(file.run_ids().front());
  fs::resize_file(path, fs::file_size(path) - 1);
  expect_refusal<BadInput>([&] { file.values_of(file.records().front()); }, {path.string(), "is damaged"});
  fs::remove(path);
  fs::create_directory(path);
  expect_refusal<BadInput>([&] { file.remove(); }, {path.string(), "cannot be removed: Is a directory"});
  fs::remove(path);
  EXPECT_NO_THROW(file.remove());
  EXPECT_NO_THROW(file.remove());
}

TEST_F(RunFileTest, ThatOthersMayReadIsRefusedAndACopyUnderAnotherName) {
  const std::string run = charged_run();
  fs::permissions(path_of(run), fs::perms(0640));
  expect_refusal<BadInput>([&] { taken(); }, {path_of(run).string(), "must have 0600"});
  fs::permissions(path_of(run), fs::perms(0600));
  put(path_of(std::string(32, '0')), read_bytes(path_of(run)));
  expect_refusal<BadInput>([&] { RunFile::of_run(ledger_, std::string(32, '1')); },
                           {"is a copy of the file of run " + run});
}

TEST_F(RunFileTest, SavesNothingWhereNothingIsToBeSaved) {
  RunFile none;
  none.save("means/1", std::string(64, '1'), {{"sums", values_}});
  none.make_room(1 << 20);
  none.announce_run();
  none.remove();
  RunFile empty = made(kConfig, SavesReleases::kNo);
  const std::string before = read_bytes(path_of(empty.run_id()));
  empty.save("means/1", std::string(64, '1'), {{"sums", values_}});
  EXPECT_EQ(read_bytes(path_of(empty.run_id())), before);
  empty.remove();
  EXPECT_TRUE(folder_.names().empty());
}

TEST_F(RunFileTest, JournalsOfEarlierVersionsAreRemovedAndTheirRunsGivenUp) {
  Ledger ledger(ledger_);
  const std::string run(32, 'a');
  const std::string later(32, 'd');
  const std::string finished(32, 'e');
  for (const std::string& some : {run, later, finished}) ledger.reserve(sample_reservation(some, 2));
  ledger.end(later, RunOutcome::kStopped);
  ledger.end(finished, RunOutcome::kFinished);
  put(journal_of(run), "dpreduce journal 2\nbinding bb\nsecret private 00\nrun " + run + "\ncharge 11 means/1\nrun " +
                           later + "\ncharge 22 mea");
  put(journal_of(finished), "dpreduce journal 2\nrun " + finished + "\n");
  EXPECT_EQ(give_up_journals(ledger_), (std::vector{run, later}));
  EXPECT_FALSE(fs::exists(journal_of(run)) || fs::exists(journal_of(finished)));
  EXPECT_EQ(state().outcome(run), RunOutcome::kReleased);
  EXPECT_EQ(state().outcome(later), RunOutcome::kReleased);
  EXPECT_EQ(state().outcome(finished), RunOutcome::kFinished);
  EXPECT_TRUE(give_up_journals(ledger_).empty());
}

TEST_F(RunFileTest, WhatIsNoJournalIsNeitherOverwrittenNorInTheWay) {
  const std::string note = "a private note\nrun " + std::string(32, 'a') + "\n";
  const fs::path named = journal_of(std::string(32, 'a'));
  const fs::path linked = journal_of(std::string(32, 'b'));
  put(named, note);
  put(folder_ / "elsewhere", "dpreduce journal 2\n" + note);
  fs::create_symlink(folder_ / "elsewhere", linked);
  fs::create_directory(journal_of(std::string(32, 'd')));
  EXPECT_TRUE(give_up_journals(ledger_).empty());
  EXPECT_EQ(read_bytes(named), note);
  EXPECT_TRUE(fs::is_symlink(linked));
  EXPECT_EQ(read_bytes(folder_ / "elsewhere"), "dpreduce journal 2\n" + note);
}

TEST_F(RunFileTest, AJournalOfALivingRunOrOfAnotherUserStays) {
  const std::string run(32, 'a');
  const std::string other(32, 'b');
  Ledger(ledger_).reserve(sample_reservation(run));
  put(journal_of(run), "dpreduce journal 2\nrun " + run + "\nrun " + other.substr(1) + "\nrun " + other + "\n");
  {
    const FileDescriptor living(::open(journal_of(run).c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(::flock(living.get(), LOCK_EX), 0);
    EXPECT_TRUE(give_up_journals(ledger_).empty());
  }
  if (::chown(journal_of(run).c_str(), 65534, 65534) == 0) {  // root alone may
    EXPECT_TRUE(give_up_journals(ledger_).empty());
    ASSERT_EQ(::chown(journal_of(run).c_str(), ::geteuid(), ::getegid()), 0);
  }
  EXPECT_EQ(state().outcome(run), std::nullopt);
  EXPECT_EQ(give_up_journals(ledger_), std::vector{run});
}

TEST_F(RunFileTest, OfALivingRunGrowsWhileOthersReadIt) {
  constexpr std::size_t kRounds = 60;
  const std::vector<std::int64_t> long_values(20000, 3);
  RunFile file = made();
  Ledger ledger(ledger_);
  ledger.reserve(sample_reservation(file.run_id(), kRounds));
  const LedgerState before = state();
  std::atomic<bool> grows = true;
  std::atomic<std::size_t> readings = 0;
  std::jthread writer([&] {  // each round but the first is saved while the file is read
    for (std::size_t round = 1; round <= kRounds; ++round) {
      const std::size_t before_saving = readings;
      file.save("means/" + std::to_string(round), std::string(64, 'd'), {{"sums", long_values}});
      readings.wait(before_saving);
    }
    grows = false;
  });
  while (grows) {
    EXPECT_NO_THROW({
      EXPECT_TRUE(RunFile::dead_runs(ledger_, before).empty());
      RunFile::remove_ended(ledger_, before);
    });
    ++readings;
    readings.notify_all();
  }
}

TEST_F(RunFileTest, OfAnotherConfigurationOrLedgerIsLeftAlone) {
  const std::string run = charged_run(kOtherConfig);
  EXPECT_FALSE(taken().has_value());
  EXPECT_TRUE(taken(kOtherConfig).has_value());
  fs::rename(ledger_, folder_ / "newer.jsonl");
  Ledger older(ledger_);
  RunFile::remove_ended(ledger_, state());
  EXPECT_TRUE(fs::exists(path_of(run)));
}

}  // namespace dpreduce::run_file_test
