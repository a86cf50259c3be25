#include "common/ledger/ledger.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/accounting/gaussian_dp.hpp"
#include "common/base/error.hpp"
#include "tests/common/ledger/sample_ledger.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/testing.hpp"
#include "tests/without_calls.hpp"

namespace dpreduce::ledger_test {

namespace fs = std::filesystem;

class LedgerFile : public testing::Test {
 protected:
  std::string content() const { return read_bytes(path_); }
  void set_content(const std::string& text) const { write_bytes(path_, text); }
  std::size_t lines() const { return Ledger::read(path_).head().lines; }
  // The action is refused with these words, and the file is as it was.
  template <typename Expected, typename Action>
  void expect_refused(Action&& action, const std::vector<std::string>& words) const {
    const std::string before = content();
    expect_refusal<Expected>(action, words);
    EXPECT_EQ(content(), before);
  }

  const TemporaryFolder folder_;
  const fs::path path_ = folder_ / "ledger.jsonl";
  Ledger ledger_{path_};
};

// A run of one release.
std::string charge(Ledger& ledger, const std::string& run) {
  const LedgerEntry entry = sample_entry(run + "/means/1");
  ledger.reserve(sample_reservation(run));
  return ledger.append(entry);
}
std::string charge(const fs::path& path, const std::string& run) {
  Ledger ledger(path);
  return charge(ledger, run);
}

// Runs `body` in so many processes at once, each with its number; returns how often each exit status was its result.
std::map<int, int> statuses_in_children(int processes, const std::function<int(int)>& body) {
  std::vector<pid_t> children;
  for (int process = 0; process < processes; ++process) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    int status = 99;
    try {
      status = body(process);
    } catch (...) {
    }
    ::_exit(status);
  }
  std::map<int, int> statuses;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    ++statuses[WIFEXITED(status) ? WEXITSTATUS(status) : -1];
  }
  return statuses;
}
int status_in_child(const std::function<int()>& body) {
  return statuses_in_children(1, [&](int) { return body(); }).begin()->first;
}

TEST_F(LedgerFile, AMissingFileIsAnEmptyLedgerAndStaysMissingAndAnEmptyOneIsOneToo) {
  EXPECT_EQ(Ledger::read(path_).head().lines, 0U);
  EXPECT_EQ(Ledger(path_).current().head().lines, 0U);
  EXPECT_FALSE(Ledger(path_).end("run-1", RunOutcome::kReleased));
  EXPECT_THAT(folder_.names(), IsEmpty());
  set_content("");
  const std::string line = charge(path_, "run-1");
  EXPECT_EQ(line, Ledger::read(path_).head().last_line_sha256);
  EXPECT_EQ(lines(), 3U);
}

TEST_F(LedgerFile, WhatWasWrittenIsRead) {
  ledger_.reserve(sample_reservation("run-1", 3));
  for (const char* round : {"1", "2"}) {
    const std::string line = ledger_.append(sample_entry("run-1/means/" + std::string(round)));
    EXPECT_EQ(line, Ledger::read(path_).head().last_line_sha256);
  }
  const LedgerState state = Ledger::read(path_);
  ASSERT_EQ(state.charges().size(), 2U);
  EXPECT_EQ(state.charges()[1].entry, sample_entry("run-1/means/2"));
  EXPECT_EQ(state.open_run("run-1")->remains, sample_reservation("run-1", 1));
  EXPECT_EQ(state.head().lines, 4U);
  EXPECT_EQ(state.head().public_key, to_hex(find_signing_key(path_)->public_key()));
  EXPECT_EQ(ledger_.current().head(), state.head());
  EXPECT_THAT(content(), StartsWith(R"({"schema":2,"kind":"ledger",)"));
  EXPECT_THAT(lines_of(content()).front(), HasSubstr(R"("version":"0.1.0")"));
}

TEST_F(LedgerFile, TellsTimesInWholeMinutesOfUtc) {
  ledger_.reserve(sample_reservation("run-1", 3));
  ledger_.append(sample_entry("run-1/means/1"));
  ledger_.end("run-1", RunOutcome::kFinished);
  const std::vector<std::string> written = lines_of(content());
  EXPECT_EQ(written.size(), 4U);
  EXPECT_THAT(written, testing::Each(testing::ContainsRegex("\"time\":\"....-..-..T..:..:00Z\"")));
  const std::string time = Ledger::read(path_).charges().at(0).utc_time;
  std::tm parts{};
  ASSERT_NE(::strptime(time.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts), nullptr);
  EXPECT_NEAR(static_cast<double>(::timegm(&parts)), static_cast<double>(std::time(nullptr)), 60);
}

TEST_F(LedgerFile, ARunThatHasEndedChargesNothingMore) {
  ledger_.reserve(sample_reservation("run-1", 2));
  ledger_.append(sample_entry("run-1/means/1"));
  EXPECT_TRUE(ledger_.end("run-1", RunOutcome::kStopped));
  EXPECT_FALSE(ledger_.end("run-1", RunOutcome::kFinished));
  expect_refused<BudgetRefused>([&] { ledger_.append(sample_entry("run-1/means/2")); },
                                {path_.string(), "run run-1 has no reservation", "run-1/means/2"});
  EXPECT_EQ(Ledger::read(path_).outcome("run-1"), RunOutcome::kStopped);
  expect_refusal<ResumeMismatch>([&] { ledger_.reserve(sample_reservation("run-1")); },
                                 {"run run-1 is already recorded; a run reserves once"});
  EXPECT_TRUE(ledger_.end("run-1", RunOutcome::kReleased));
  EXPECT_FALSE(ledger_.end("run-1", RunOutcome::kReleased));
  EXPECT_EQ(Ledger::read(path_).outcome("run-1"), RunOutcome::kReleased);
}

TEST_F(LedgerFile, ARunThatWasReleasedMayGoOnInNoWay) {
  ledger_.reserve(sample_reservation("run-1", 2));
  EXPECT_TRUE(Ledger(path_).end("run-1", RunOutcome::kReleased));
  const std::vector<std::string> messages{path_.string(), "run run-1 was given up (dpreduce ledger release)"};
  expect_refusal<BudgetRefused>([&] { ledger_.append(sample_entry("run-1/means/1")); }, messages);
  expect_refusal<ResumeMismatch>([&] { ledger_.reserve(sample_reservation("run-1")); },
                                 {"run run-1 is already recorded"});
  Reservation anew = sample_reservation("run-2");
  anew.instead_of = "run-1";
  expect_refusal<BudgetRefused>([&] { ledger_.reserve(anew); }, messages);
  EXPECT_EQ(lines(), 3U);
}

TEST_F(LedgerFile, AReplacedRunEndsInTheSameStep) {
  ledger_.reserve(sample_reservation("run-1", 2));
  ledger_.append(sample_entry("run-1/means/1"));
  const DataSetBudget limit{gdp_epsilon(0.36, 1e-6), 1e-6};  // two rounds of mu 0.25
  Reservation anew = sample_reservation("run-2");
  anew.releases[0].mu = 0.26;
  anew.instead_of = "run-1";
  expect_refusal<BudgetRefused>([&] { ledger_.reserve(anew, limit); },
                                {path_.string() + ": recorded runs have spent epsilon 1.07", "; with this run's 1.11"});
  EXPECT_NE(Ledger::read(path_).open_run("run-1"), nullptr) << "nothing was written";
  anew.releases[0].mu = 0.25;
  ledger_.reserve(anew, limit);
  const LedgerState state = Ledger::read(path_);
  EXPECT_EQ(state.head().lines, 4U);
  EXPECT_EQ(state.open_run("run-1"), nullptr);
  EXPECT_NE(state.open_run("run-2"), nullptr);
}

TEST_F(LedgerFile, ARunThatHasEndedNeedsNoReplacement) {
  charge(ledger_, "run-1");
  ledger_.end("run-1", RunOutcome::kStopped);
  Reservation anew = sample_reservation("run-2");
  anew.instead_of = "run-1";
  ledger_.reserve(anew);
  EXPECT_EQ(Ledger::read(path_).open_run("run-2")->remains.instead_of, "");
}

// Nothing is charged once for two releases: not by a run that goes on, not by a copy of one.
TEST_F(LedgerFile, AReleaseThatIsOnFileIsRefused) {
  charge(ledger_, "run-1");
  charge(ledger_, "run-2");
  LedgerEntry other = sample_entry("run-1/means/1");
  other.blocks[0].sigma *= 2;
  expect_refused<ResumeMismatch>([&] { ledger_.append(other); }, {path_.string(), "release run-1/means/1"});
  expect_refused<ResumeMismatch>([&] { ledger_.append(sample_entry("run-1/means/1")); },
                                 {path_.string(), "release run-1/means/1 is already recorded"});
  ledger_.end("run-1", RunOutcome::kStopped);
  expect_refused<ResumeMismatch>([&] { Ledger(path_).append(sample_entry("run-1/means/1")); }, {"is already recorded"});
}

TEST_F(LedgerFile, WhatIsNotReservedIsRefused) {
  expect_refusal<BudgetRefused>([&] { ledger_.append(sample_entry("run-1/means/1")); }, {"has no reservation"});
  EXPECT_THAT(folder_.names(), IsEmpty()) << "neither ledger nor key is made for a refusal";
  ledger_.reserve(sample_reservation("run-1"));
  expect_refused<UsageError>([&] { ledger_.append(sample_entry("run-1/gram")); },
                             {"has reserved no (further) release"});
}

TEST_F(LedgerFile, InvalidEntriesAreRefusedBeforeTheFileIsTouched) {
  LedgerEntry entry = sample_entry("run-1/means/1");
  entry.mu = 0;
  expect_refusal<UsageError>([&] { ledger_.append(entry); }, {"ledger entry: mu = 0"});
  Reservation reservation = sample_reservation("run-1");
  reservation.releases.clear();
  expect_refusal<UsageError>([&] { ledger_.reserve(reservation); }, {"ledger reservation: reserves nothing"});
  EXPECT_THAT(folder_.names(), IsEmpty());
}

TEST_F(LedgerFile, ACheckIsRefusedAsTheReservationWouldBeAndWritesNothing) {
  const DataSetBudget limit{gdp_epsilon(0.3, 1e-6), 1e-6};
  ledger_.check(sample_reservation("run-1"), limit);
  EXPECT_THAT(folder_.names(), IsEmpty());
  charge(ledger_, "run-1");
  ledger_.check(sample_reservation("run-2"));
  Reservation of_persons = sample_reservation("run-2");
  of_persons.terms.unit = PrivacyUnit::kPerson;
  expect_refused<BudgetRefused>([&] { ledger_.check(of_persons); }, {path_.string() + ": has charges for one row"});
  expect_refused<BudgetRefused>([&] { ledger_.check(sample_reservation("run-2"), limit); }, {"the total would be"});
  expect_refused<ResumeMismatch>([&] { ledger_.check(sample_reservation("run-1")); }, {"run-1 is already recorded"});
  expect_refused<UsageError>([&] { ledger_.check(sample_reservation("a/b")); }, {"ledger reservation: run must"});
  fs::remove(signing_key_path(path_));
  expect_refused<BadInput>([&] { Ledger(path_).check(sample_reservation("run-2")); }, {"is missing"});
}

TEST_F(LedgerFile, WhatIsTooLongForALineIsRefused) {
  ledger_.reserve(sample_reservation("run-1"));
  LedgerEntry entry = sample_entry("run-1/means/1");
  entry.blocks.assign(20000, entry.blocks[0]);
  expect_refused<UsageError>([&] { ledger_.append(entry); }, {"release run-1/means/1", "too many blocks"});
  Reservation reservation = sample_reservation("run-2");
  for (int release = 0; release < 40000; ++release) {
    reservation.releases.push_back({.name = "r" + std::to_string(release), .mu = 0.25});
  }
  expect_refused<UsageError>([&] { ledger_.reserve(reservation); }, {"more releases than one line"});
}

// Six runs that begin at once, and room for four: four are admitted, and two refused before they have done anything.
TEST_F(LedgerFile, RunsThatBeginAtOnceDoNotShareOneRoom) {
  const DataSetBudget limit{gdp_epsilon(0.5 + 1e-9, 1e-6), 1e-6};  // of mu 0.25 each
  const std::map<int, int> outcomes = statuses_in_children(6, [&](int number) {
    const std::string run = "run-" + std::to_string(number);
    const std::string said = refusal<BudgetRefused>([&] {
      Ledger ledger(path_);
      ledger.reserve(sample_reservation(run), limit);
      ledger.append(sample_entry(run + "/means/1"));
      ledger.end(run, RunOutcome::kFinished);
    });
    return said.empty() ? 0 : 1;
  });
  EXPECT_EQ(outcomes, (std::map<int, int>{{0, 4}, {1, 2}}));
  const LedgerState state = Ledger::read(path_);
  EXPECT_EQ(state.charges().size(), 4U);
  EXPECT_EQ(state.head().lines, 1U + 3 * 4);
}

TEST_F(LedgerFile, WhatARunGivesBackIsFreeForOthers) {
  const DataSetBudget limit{gdp_epsilon(0.36, 1e-6), 1e-6};
  ledger_.reserve(sample_reservation("run-1", 2), limit);
  ledger_.append(sample_entry("run-1/means/1"));
  expect_refusal<BudgetRefused>(
      [&] { ledger_.reserve(sample_reservation("run-2"), limit); },
      {path_.string() + ": recorded runs have spent epsilon 1.07", ", open runs may still charge 1.07"});
  ledger_.end("run-1", RunOutcome::kStopped);
  ledger_.reserve(sample_reservation("run-2"), limit);
}

TEST_F(LedgerFile, AnEditedOrTornLedgerIsNeitherReadNorExtended) {
  for (const char* run : {"run-1", "run-2"}) charge(ledger_, run);
  const std::string intact = content();
  std::string edited = intact;
  edited.replace(edited.rfind("122241.5"), 8, "122241.6");
  const std::string torn = intact.substr(0, intact.size() - 10);
  for (const auto& [text, fault] : {std::pair{edited, "the signature does not match this line"}, {torn, "torn"}}) {
    set_content(text);
    const std::vector<std::string> messages{path_.string() + ":5", fault};
    expect_refused<LedgerCorrupt>([&] { ledger_.append(sample_entry("run-2/means/2")); }, messages);
    expect_refused<LedgerCorrupt>([&] { ledger_.reserve(sample_reservation("run-3")); }, messages);
    expect_refused<LedgerCorrupt>([&] { ledger_.end("run-1", RunOutcome::kFinished); }, messages);
    expect_refused<LedgerCorrupt>([&] { ledger_.current(); }, messages);
    expect_refused<LedgerCorrupt>([&] { charge(path_, "run-3"); }, messages);
    expect_refused<LedgerCorrupt>([&] { Ledger::read(path_); }, messages);
  }
  set_content(replaced(intact, "\"schema\":2", "\"schema\":1"));
  expect_refused<LedgerCorrupt>([&] { charge(path_, "run-3"); }, {path_.string() + ":1", "its schema is not 2"});
}

// Lines that an object has read before are checked by their hash; an edit among them is found all the same.
TEST_F(LedgerFile, AnEditBetweenTwoCallsOfOneObjectIsFound) {
  for (const char* run : {"run-1", "run-2"}) charge(ledger_, run);
  const std::string intact = content();
  std::string edited = intact;
  edited.replace(edited.find("run-1"), 5, "run-9");
  set_content(edited);
  expect_refusal<LedgerCorrupt>([&] { charge(ledger_, "run-4"); }, {path_.string() + ":2", "signature"});
  set_content(intact.substr(intact.find('\n') + 1));
  expect_refusal<LedgerCorrupt>([&] { charge(ledger_, "run-4"); }, {path_.string() + ":1", "chain"});
  set_content(intact);
  charge(ledger_, "run-4");
}

TEST_F(LedgerFile, LinesThatAreGoneBetweenTwoCallsOfOneObjectAreMissed) {
  ledger_.reserve(sample_reservation("run-1", 3));
  const std::string before = content();
  ledger_.append(sample_entry("run-1/means/1"));
  const std::string intact = content();
  set_content(before);
  expect_refused<LedgerCorrupt>([&] { ledger_.append(sample_entry("run-1/means/2")); },
                                {path_.string() + ": has 2 lines, and had 3", "cut off"});
  Ledger(path_).append(sample_entry("run-1/means/2"));
  expect_refusal<LedgerCorrupt>([&] { ledger_.current(); }, {"line 3 has changed"});
  fs::remove(path_);
  expect_refusal<LedgerCorrupt>([&] { ledger_.current(); }, {"is not signed, and was signed with"});
  set_content(intact);
  ledger_.append(sample_entry("run-1/means/2"));
}

TEST_F(LedgerFile, WithoutItsSigningKeyItIsReadAndNotExtended) {
  charge(path_, "run-1");
  fs::remove(signing_key_path(path_));
  expect_refused<BadInput>([&] { charge(ledger_, "run-2"); },
                           {path_.string() + ": its signing key " + path_.string() + ".signing-key is missing",
                            "restore the key, or start a new ledger"});
  expect_refused<BadInput>([&] { ledger_.end("run-1", RunOutcome::kFinished); }, {"is missing"});
  EXPECT_FALSE(fs::exists(signing_key_path(path_)));
  EXPECT_EQ(lines(), 3U);
}

TEST_F(LedgerFile, WithAnotherSigningKeyItIsNotExtended) {
  charge(path_, "run-1");
  fs::remove(signing_key_path(path_));
  find_or_make_signing_key(path_);
  expect_refused<LedgerCorrupt>([&] { charge(path_, "run-2"); },
                                {path_.string() + ": is signed with the key ", "was replaced"});
}

TEST_F(LedgerFile, ObjectsThatTakeTurnsSeeEachOthersLines) {
  Ledger left(path_);
  Ledger right(path_);
  for (int turn = 0; turn < 5; ++turn) {
    charge(left, "left-" + std::to_string(turn));
    charge(right, "right-" + std::to_string(turn));
  }
  EXPECT_THROW(left.append(sample_entry("right-4/means/1")), ResumeMismatch);
  EXPECT_EQ(lines(), 21U);
}

TEST_F(LedgerFile, EightProcessesOfFiftyReleasesLeaveAllTheirLines) {
  constexpr int kProcesses = 8;
  constexpr int kReleases = 50;
  const std::map<int, int> statuses = statuses_in_children(kProcesses, [&](int process) {
    Ledger ledger(path_);
    const std::string run = "run-" + std::to_string(process);
    ledger.reserve(sample_reservation(run, kReleases));
    for (int release = 0; release < kReleases; ++release) {
      ledger.append(sample_entry(run + "/means/" + std::to_string(release)));
    }
    return 0;
  });
  EXPECT_EQ(statuses, (std::map<int, int>{{0, kProcesses}}));
  const LedgerState state = Ledger::read(path_);
  EXPECT_EQ(state.charges().size(), static_cast<std::size_t>(kProcesses * kReleases));
  for (const auto& [run, open] : state.open_runs()) EXPECT_TRUE(open.remains.is_empty()) << run;
}

TEST_F(LedgerFile, WhatIsNoRegularFileIsRefusedWithoutWaiting) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const fs::path in_none = folder_ / "missing/ledger.jsonl";
  const std::vector<std::pair<fs::path, std::string>> paths{
      {folder_.path(), "directory"}, {path_, "regular file"}, {"/dev/null", "regular file"}, {in_none, "No such file"}};
  for (const auto& [path, reason] : paths) {
    expect_refusal<BadInput>([&, path = path] { charge(path, "run-1"); }, {path.string(), reason});
  }
  for (const fs::path& path : {fs::path(folder_.path()), path_}) {
    expect_refusal<BadInput>([&] { Ledger::read(path); }, {path.string(), "regular file"});
  }
}

TEST_F(LedgerFile, AFileSystemWithoutLocksIsNamedWithACure) {
  set_content("");
  const auto read = [&] {
    expect_refusal<BadInput>([&] { Ledger::read(path_); }, {"cannot lock the ledger", "has no locks (flock)"});
  };
  if (!run_without({SYS_flock}, ENOLCK, read)) GTEST_SKIP();
}

TEST_F(LedgerFile, AFileWithoutPermissionIsNamed) {
  charge(path_, "run-1");
  fs::permissions(path_, fs::perms::owner_read);
  const auto attempt = [&] {
    if (::geteuid() == 0 && ::seteuid(65534) != 0) return 3;  // permissions do not bind root
    const std::string said = refusal<BadInput>([&] { charge(path_, "run-2"); });
    const bool is_named = said.find(path_.string()) != std::string::npos;
    return is_named && said.find("Permission denied") != std::string::npos ? 0 : 1;
  };
  fs::permissions(folder_.path(), fs::perms::owner_all | fs::perms::others_exec | fs::perms::others_read);
  EXPECT_EQ(status_in_child(attempt), 0);
  EXPECT_EQ(lines(), 3U);
}

TEST_F(LedgerFile, ABareFileNameLiesInTheWorkingFolder) {
  const int status = status_in_child([&] {
    fs::current_path(folder_.path());
    return charge("ledger.jsonl", "run-1").empty() ? 1 : 0;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(lines(), 3U);
}

// Without the link the next run under that name would begin a ledger of its own.
TEST_F(LedgerFile, ARefusalLeavesASymbolicLinkToTheLedger) {
  const fs::path link = folder_ / "link.jsonl";
  fs::create_symlink(path_, link);
  Ledger ledger(link);
  EXPECT_THROW(ledger.append(sample_entry("run-1/means/1")), BudgetRefused);
  EXPECT_TRUE(fs::is_symlink(link));
}

// While a process waits for the lock, the ledger is moved away: its line belongs in the file that has the name now.
TEST_F(LedgerFile, AWaitingProcessWritesToTheFileThatHasTheName) {
  charge(path_, "run-1");
  const int holder = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(holder, LOCK_EX), 0);
  std::thread waiting([&] { Ledger(path_).reserve(sample_reservation("run-2")); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  fs::rename(path_, folder_ / "archive.jsonl");
  ::close(holder);
  waiting.join();
  EXPECT_EQ(Ledger::read(folder_ / "archive.jsonl").charges().at(0).entry.release_id, "run-1/means/1");
  ASSERT_EQ(lines(), 2U);
  EXPECT_NE(Ledger::read(path_).open_run("run-2"), nullptr);
}

class LedgerKey : public LedgerFile {};

TEST_F(LedgerKey, IsMadeOnceForItsOwnerAloneBesideTheLedger) {
  EXPECT_FALSE(find_signing_key(path_).has_value());
  const PublicKey made = find_or_make_signing_key(path_).public_key();
  EXPECT_EQ(find_or_make_signing_key(path_).public_key(), made);
  EXPECT_EQ(find_signing_key(path_)->public_key(), made);
  EXPECT_EQ(fs::status(folder_ / "ledger.jsonl.signing-key").permissions(), fs::perms(0600));
  EXPECT_THAT(folder_.names(), ElementsAre("ledger.jsonl.signing-key"));
}

TEST_F(LedgerKey, IsRefusedWithOtherPermissions) {
  charge(path_, "run-1");
  for (const mode_t mode : {0640, 0644, 0660, 0400, 0700}) {
    ::chmod(signing_key_path(path_).c_str(), mode);
    const std::vector<std::string> words{signing_key_path(path_).string(), fmt::format("{:04o}", mode), "chmod 600"};
    expect_refusal<BadInput>([&] { find_signing_key(path_); }, words);
    expect_refusal<BadInput>([&] { charge(path_, "run-2"); }, words);
  }
}

TEST_F(LedgerKey, IsNeverTakenFromAFileOfAnotherKind) {
  for (const std::string& text : {std::string(32, 'k'), std::string(), std::string(5000, 'k'),
                                  std::string("-----BEGIN PRIVATE KEY-----\nAAAA\n")}) {
    write_bytes(signing_key_path(path_), text);
    ::chmod(signing_key_path(path_).c_str(), 0600);
    expect_refusal<BadInput>([&] { find_signing_key(path_); },
                             {signing_key_path(path_).string(), "must hold an Ed25519 private key"});
  }
}

TEST_F(LedgerKey, IsOneForProcessesThatMeetAnAbsentFile) {
  constexpr int kProcesses = 8;
  const auto report_of = [&](int process) { return folder_ / std::to_string(process); };
  const std::map<int, int> statuses = statuses_in_children(kProcesses, [&](int process) {
    write_bytes(report_of(process), to_hex(find_or_make_signing_key(path_).public_key()));
    return 0;
  });
  EXPECT_EQ(statuses, (std::map<int, int>{{0, kProcesses}}));
  std::set<std::string> keys;
  for (int process = 0; process < kProcesses; ++process) keys.insert(read_bytes(report_of(process)));
  EXPECT_EQ(keys.size(), 1U);
}

}  // namespace dpreduce::ledger_test
