#include "common/ledger/run_journal.hpp"

#include <csignal>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/testing.hpp"

namespace dpreduce::run_journal_test {

namespace fs = std::filesystem;

const std::string kBinding(64, 'b');
const std::string kOtherBinding(64, 'c');
const std::string kFingerprint(32, '1');
const std::string kOtherFingerprint(32, '2');

class RunJournalTest : public testing::Test {
 protected:
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const std::string& name : folder_.names()) found.emplace_back(folder_ / name);
    return found;
  }

  static std::vector<std::byte> stream_of(const NoiseKey& secret) {
    std::vector<std::byte> bytes(32);
    secret.stream("test", {}).fill(bytes);
    return bytes;
  }

  RunJournal made(const std::string& binding = kBinding) const {
    return RunJournal::make(ledger_, binding, NoiseKey::from_entropy());
  }

  void expect_refused(const std::string& reason) const {
    expect_refusal<BadInput>([&] { RunJournal::take_over(ledger_, kBinding); }, {files().front().string(), reason});
  }

  const TemporaryFolder folder_;
  const fs::path ledger_ = folder_ / "ledger.jsonl";
};

TEST_F(RunJournalTest, IsItsOwnersAloneAndNamedAfterLedgerAndRun) {
  const RunJournal journal = made();
  ASSERT_EQ(files().size(), 1U) << "nothing else is left";
  EXPECT_EQ(files().front(), folder_ / ("ledger.jsonl." + journal.run_id() + ".journal"));
  struct stat status {};
  ASSERT_EQ(stat(files().front().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600U);
  EXPECT_TRUE(journal.is_new());
  EXPECT_TRUE(journal.is_on_disk());
}

TEST_F(RunJournalTest, IsTakenOverWithAllThatItHeld) {
  std::vector<std::byte> stream;
  std::vector<std::string> runs;
  {
    RunJournal journal = made();
    journal.add_charge("center", kFingerprint);
    journal.add_rows(std::string(64, 'd'));
    journal.begin_run();
    journal.add_charge("gradient/1 of two", kOtherFingerprint);
    stream = stream_of(journal.secret());
    runs = journal.run_ids();
  }
  const std::optional<RunJournal> taken = RunJournal::take_over(ledger_, kBinding);
  ASSERT_TRUE(taken.has_value());
  EXPECT_FALSE(taken->is_new());
  EXPECT_EQ(taken->run_ids(), runs);
  EXPECT_EQ(stream_of(taken->secret()), stream);
  EXPECT_TRUE(taken->secret().is_private());
  EXPECT_EQ(taken->rows(), std::string(64, 'd'));
  ASSERT_NE(taken->fingerprint_of(runs[0], "center"), nullptr);
  EXPECT_EQ(*taken->fingerprint_of(runs[0], "center"), kFingerprint);
  EXPECT_EQ(taken->fingerprint_of(runs[1], "center"), nullptr);
  ASSERT_NE(taken->fingerprint_of(runs[1], "gradient/1 of two"), nullptr);
}

TEST_F(RunJournalTest, OfASeededRunSaysSo) {
  const std::vector<std::byte> stream = stream_of(NoiseKey::from_seed(3));
  { const RunJournal journal = RunJournal::make(ledger_, kBinding, NoiseKey::from_seed(3)); }
  const std::optional<RunJournal> taken = RunJournal::take_over(ledger_, kBinding);
  EXPECT_FALSE(taken->secret().is_private());
  EXPECT_EQ(stream_of(taken->secret()), stream);
}

TEST_F(RunJournalTest, OnlyThoseOfTheSameBindingAndLedgerAreTakenOverTheNewestFirst) {
  { const RunJournal other = made(kOtherBinding); }
  EXPECT_FALSE(RunJournal::take_over(ledger_, kBinding).has_value());
  std::string newer;
  {
    const RunJournal first = made();
    const RunJournal second = made();
    newer = second.run_id();
    fs::last_write_time(folder_ / ("ledger.jsonl." + first.run_id() + ".journal"),
                        fs::file_time_type::clock::now() - std::chrono::hours(1));
  }
  EXPECT_FALSE(RunJournal::take_over(folder_ / "other.jsonl", kBinding).has_value());
  EXPECT_EQ(RunJournal::take_over(ledger_, kBinding)->run_id(), newer);
}

TEST_F(RunJournalTest, AChargedOneIsNotTakenOverWhereNoneMayBe) {
  {
    RunJournal journal = made();
    journal.add_charge("center", kFingerprint);
  }
  EXPECT_FALSE(RunJournal::take_over(ledger_, kBinding, ResumableJournal::kUncharged).has_value());
  EXPECT_TRUE(RunJournal::take_over(ledger_, kBinding, ResumableJournal::kAny).has_value());
}

TEST_F(RunJournalTest, IsFoundByAnyOfItsRuns) {
  std::vector<std::string> runs;
  {
    RunJournal journal = made();
    journal.begin_run();
    runs = journal.run_ids();
  }
  for (const std::string& run : runs) EXPECT_TRUE(RunJournal::of_run(ledger_, run).has_value());
  EXPECT_FALSE(RunJournal::of_run(ledger_, std::string(32, '0')).has_value());
}

TEST_F(RunJournalTest, ThatOfALivingRunIsRefused) {
  const RunJournal living = made();
  EXPECT_THROW(RunJournal::of_run(ledger_, living.run_id(), LockedJournal::kRefuse), BadInput);
  const auto started = std::chrono::steady_clock::now();
  expect_refused("is alive");
  EXPECT_GE(std::chrono::steady_clock::now() - started, std::chrono::seconds(4))
      << "a killed run may live some seconds";
}

TEST_F(RunJournalTest, ThatOfAKilledProcessIsTakenOverWhenItIsGone) {
  const pid_t child = fork();
  if (child == 0) {
    RunJournal journal = made();
    journal.add_charge("center", kFingerprint);
    pause();
    _exit(0);
  }
  while (files().empty() || read_bytes(files().front()).find("charge") == std::string::npos) usleep(1000);
  kill(child, SIGKILL);
  const std::optional<RunJournal> taken = RunJournal::take_over(ledger_, kBinding);
  waitpid(child, nullptr, 0);
  ASSERT_TRUE(taken.has_value());
  EXPECT_NE(taken->fingerprint_of(taken->run_id(), "center"), nullptr);
}

TEST_F(RunJournalTest, ATornRecordCountsAsNotThereAndIsOverwritten) {
  {
    RunJournal journal = made();
    journal.add_charge("center", kFingerprint);
  }
  const fs::path path = files().front();
  std::ofstream(path, std::ios::app) << "charge " << kOtherFingerprint << " grad";
  {
    std::optional<RunJournal> taken = RunJournal::take_over(ledger_, kBinding);
    ASSERT_TRUE(taken.has_value());
    EXPECT_EQ(taken->fingerprint_of(taken->run_id(), "grad"), nullptr);
    taken->add_charge("gradient/1", kOtherFingerprint);
  }
  const std::optional<RunJournal> again = RunJournal::take_over(ledger_, kBinding);
  ASSERT_TRUE(again.has_value());
  EXPECT_NE(again->fingerprint_of(again->run_id(), "gradient/1"), nullptr);
}

TEST_F(RunJournalTest, IsOverwrittenAndRemovedWhenItIsDestroyed) {
  RunJournal journal = made();
  const fs::path path = files().front();
  const fs::path second_name = folder_ / "kept";
  fs::create_hard_link(path, second_name);
  const std::string before = read_bytes(path);
  journal.destroy();
  EXPECT_FALSE(fs::exists(path));
  EXPECT_FALSE(journal.is_on_disk());
  const std::string after = read_bytes(second_name);
  const std::string secret = before.substr(before.find("private ") + 8, 64);
  EXPECT_EQ(after.find(secret), std::string::npos);
  for (std::size_t k = 0; k + 8 <= secret.size(); k += 8) {
    EXPECT_EQ(after.find(secret.substr(k, 8)), std::string::npos);
  }
}

// As a kill leaves it between overwriting and removing.
TEST_F(RunJournalTest, AnOverwrittenOneIsNoneAndIsRemoved) {
  { const RunJournal journal = made(); }
  const fs::path path = files().front();
  const std::size_t size = fs::file_size(path);
  std::ofstream(path, std::ios::binary) << std::string(size, '\0');
  EXPECT_FALSE(RunJournal::take_over(ledger_, kBinding).has_value());
  EXPECT_TRUE(files().empty());
}

TEST_F(RunJournalTest, OthersThanItsOwnerMayNotUseIt) {
  { const RunJournal journal = made(); }
  for (const mode_t mode : {0640U, 0604U, 0400U, 0700U}) {
    chmod(files().front().c_str(), mode);
    expect_refused("0600");
  }
}

TEST_F(RunJournalTest, AnotherUsersIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may give a file away";
  { const RunJournal journal = made(); }
  ASSERT_EQ(chown(files().front().c_str(), 12345, 12345), 0);
  expect_refused("another user");
}

TEST_F(RunJournalTest, ACopyUnderAnotherNameIsRefused) {
  const fs::path own = [&] {
    const RunJournal journal = made();
    return files().front();
  }();
  const fs::path copy = ledger_.string() + "." + std::string(32, '0') + ".journal";
  fs::copy_file(own, copy);
  fs::remove(own);
  expect_refused("is a copy of the journal of run");
}

TEST_F(RunJournalTest, WhatIsNoJournalIsRefused) {
  { const RunJournal journal = made(); }
  const fs::path path = files().front();
  const std::string whole = read_bytes(path);
  const auto write = [&](const std::string& text) { std::ofstream(path, std::ios::binary) << text; };
  const std::string run = whole.substr(whole.find("run "));
  for (const std::string& text :
       {std::string("x"), whole.substr(0, whole.find("run ")), whole + run, whole + "charge 12\n",
        whole + "charge xy a\n", whole + "charge 12 a\ncharge 13 a\n", whole + "what 12\n", "\n" + whole}) {
    write(text);
    expect_refused("is damaged");
  }
  write("dpreduce journal 1" + whole.substr(whole.find('\n')));
  expect_refused("is of another version of dpreduce");
  fs::remove(path);
  fs::create_symlink(folder_ / "elsewhere", path);
  expect_refused("cannot be opened");
  fs::remove(path);
  fs::create_directory(path);
  EXPECT_THROW(RunJournal::take_over(ledger_, kBinding), BadInput);
}

TEST_F(RunJournalTest, CannotBeMadeWhereThereIsNoFolder) {
  EXPECT_THROW(RunJournal::make(folder_ / "missing/ledger.jsonl", kBinding, NoiseKey::from_entropy()), BadInput);
}

TEST_F(RunJournalTest, InMemoryLeavesNoFile) {
  RunJournal journal(NoiseKey::from_entropy());
  journal.add_charge("center", kFingerprint);
  journal.begin_run();
  journal.add_rows(kBinding);
  EXPECT_EQ(journal.run_ids().size(), 2U);
  EXPECT_NE(journal.fingerprint_of(journal.run_ids().front(), "center"), nullptr);
  EXPECT_FALSE(journal.is_on_disk());
  EXPECT_TRUE(files().empty());
}

TEST_F(RunJournalTest, OneLabelOfARunHasOneFingerprint) {
  RunJournal journal = made();
  journal.add_charge("center", kFingerprint);
  journal.add_charge("center", kFingerprint);
  EXPECT_THROW(journal.add_charge("center", kOtherFingerprint), std::logic_error);
  journal.begin_run();
  journal.add_charge("center", kOtherFingerprint);
}

}  // namespace dpreduce::run_journal_test
