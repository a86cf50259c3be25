#include "common/ledger/run_file.hpp"

#include "common/base/error.hpp"
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

TEST_F(RunFileTest, OfAnotherConfigurationIsLeftAlone) {
  charged_run(kOtherConfig);
  EXPECT_FALSE(taken().has_value());
  EXPECT_TRUE(taken(kOtherConfig).has_value());
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

TEST_F(RunFileTest, DamageBeforeItsEndIsRefused) {
  const std::string run = charged_run();
  const std::string whole = read_bytes(path_of(run));
  const std::string begin = whole.substr(0, whole.find("release {"));
  const std::string record = whole.substr(begin.size());
  std::string damaged = record;
  damaged.back() ^= 1;
  for (const std::string& text :
       {begin + damaged + record, "dpreduce releases 9" + whole.substr(19), begin + "rest\n" + record}) {
    put(path_of(run), text);
    expect_refusal<BadInput>([&] { taken(); }, {path_of(run).string(), "is damaged"});
    EXPECT_TRUE(RunFile::dead_runs(ledger_, state()).empty());
  }
}

TEST_F(RunFileTest, ACopyUnderAnotherNameIsRefused) {
  const std::string run = charged_run();
  put(path_of(std::string(32, '0')), read_bytes(path_of(run)));
  expect_refusal<BadInput>([&] { RunFile::of_run(ledger_, std::string(32, '1')); },
                           {"is a copy of the file of run " + run});
}

TEST_F(RunFileTest, OthersThanItsOwnerMayNotUseIt) {
  const std::string run = charged_run();
  fs::permissions(path_of(run), fs::perms(0640));
  expect_refusal<BadInput>([&] { taken(); }, {path_of(run).string(), "must have 0600"});
}

TEST_F(RunFileTest, SavesNothingWhereNothingIsToBeSaved) {
  RunFile none;
  none.save("means/1", std::string(64, '1'), {{"sums", values_}});
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

TEST_F(RunFileTest, OfALivingRunGrowsWhileOthersReadIt) {
  constexpr std::size_t kRounds = 60;
  const std::vector<std::int64_t> long_values(20000, 3);
  RunFile file = made();
  Ledger ledger(ledger_);
  ledger.reserve(sample_reservation(file.run_id(), kRounds));
  const LedgerState before = state();
  std::jthread writer([&] {
    for (std::size_t round = 1; round <= kRounds; ++round) {
      file.save("means/" + std::to_string(round), std::string(64, 'd'), {{"sums", long_values}});
    }
  });
  for (int reading = 0; reading < 200; ++reading) {
    EXPECT_TRUE(RunFile::dead_runs(ledger_, before).empty());
    EXPECT_NO_THROW(RunFile::remove_ended(ledger_, before));
  }
}

TEST_F(RunFileTest, OfAnotherLedgerIsNotRemoved) {
  const std::string run = charged_run();
  fs::rename(ledger_, folder_ / "newer.jsonl");
  Ledger older(ledger_);
  RunFile::remove_ended(ledger_, state());
  EXPECT_TRUE(fs::exists(path_of(run)));
}

}  // namespace dpreduce::run_file_test
