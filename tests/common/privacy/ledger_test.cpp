#include "dpreduce/privacy/ledger.hpp"

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "sample_entry.hpp"
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dpreduce/config/error.hpp"
#include "dpreduce/privacy/gaussian_dp.hpp"

namespace dpreduce {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class LedgerFile : public testing::Test {
 protected:
  LedgerFile() {
    std::string pattern = (fs::temp_directory_path() / "dpreduce-ledger-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    path_ = folder_ / "ledger.jsonl";
  }
  ~LedgerFile() override { fs::remove_all(folder_); }

  std::string content() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void set_content(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }

  template <typename Failure>
  static void expect_failure(const std::function<void()>& action, const std::vector<std::string>& messages) {
    try {
      action();
      FAIL() << "no error";
    } catch (const Failure& error) {
      for (const std::string& message : messages) EXPECT_THAT(error.what(), HasSubstr(message));
    }
  }

  fs::path folder_;
  fs::path path_;
};

// Runs the body in a process of its own; its exit status is the body's result.
int status_in_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    int status = 99;
    try {
      status = body();
    } catch (...) {
    }
    ::_exit(status);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(LedgerFile, AMissingFileIsAnEmptyLedgerAndStaysMissing) {
  EXPECT_TRUE(Ledger::read(path_).empty());
  EXPECT_EQ(Ledger::verify(path_), 0u);
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(LedgerFile, AnEmptyFileIsAnEmptyLedger) {
  set_content("");
  EXPECT_EQ(Ledger::verify(path_), 0u);
  EXPECT_EQ(Ledger(path_).append(sample_entry("run-1")), Charge::kWritten);
  EXPECT_EQ(Ledger::verify(path_), 1u);
}

TEST_F(LedgerFile, WhatWasAppendedIsRead) {
  Ledger ledger(path_);
  for (const char* id : {"run-1", "run-2", "run-3"}) EXPECT_EQ(ledger.append(sample_entry(id)), Charge::kWritten);
  const std::vector<LedgerRecord> records = Ledger::read(path_);
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].entry, sample_entry("run-1"));
  EXPECT_EQ(records[2].entry, sample_entry("run-3"));
  EXPECT_EQ(Ledger::verify(path_), 3u);
}

TEST_F(LedgerFile, TimesAreNowInUtc) {
  Ledger(path_).append(sample_entry("run-1"));
  const std::string time = Ledger::read(path_).at(0).utc_time;
  std::tm parts{};
  ASSERT_NE(::strptime(time.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts), nullptr);
  EXPECT_NEAR(static_cast<double>(::timegm(&parts)), static_cast<double>(std::time(nullptr)), 60);
}

TEST_F(LedgerFile, AReplayedReleaseIsChargedOnce) {
  Ledger ledger(path_);
  ledger.append(sample_entry("run-1"));
  ledger.append(sample_entry("run-2"));
  const std::string before = content();
  EXPECT_EQ(ledger.append(sample_entry("run-1")), Charge::kAlreadyOnFile);
  EXPECT_EQ(content(), before);
}

TEST_F(LedgerFile, AnotherReleaseUnderTheSameIdIsRefused) {
  Ledger ledger(path_);
  ledger.append(sample_entry("run-1"));
  const std::string before = content();
  LedgerEntry other = sample_entry("run-1");
  other.data_digest.back() = '8';
  expect_failure<ResumeMismatch>([&] { ledger.append(other); }, {path_.string() + ":1", "release run-1"});
  EXPECT_EQ(content(), before);
}

TEST_F(LedgerFile, InvalidEntriesAreRefusedBeforeTheFileIsTouched) {
  LedgerEntry entry = sample_entry("run-1");
  entry.mu = 0;
  expect_failure<UsageError>([&] { Ledger(path_).append(entry); }, {"mu = 0"});
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(LedgerFile, EntriesTooLongForALineAreRefused) {
  LedgerEntry entry = sample_entry("run-1");
  entry.blocks.assign(20000, entry.blocks[0]);
  expect_failure<UsageError>([&] { Ledger(path_).append(entry); }, {"release run-1", "too many blocks"});
  EXPECT_EQ(content(), "");
}

TEST_F(LedgerFile, ABrokenChainIsNeitherReadNorExtended) {
  Ledger ledger(path_);
  for (const char* id : {"run-1", "run-2", "run-3"}) ledger.append(sample_entry(id));
  std::string edited = content();
  edited.replace(edited.find("run-2"), 5, "run-9");
  set_content(edited);
  const std::vector<std::string> messages{path_.string() + ":3", "the chain is broken"};
  expect_failure<LedgerCorrupt>([&] { ledger.append(sample_entry("run-4")); }, messages);
  expect_failure<LedgerCorrupt>([&] { Ledger::read(path_); }, messages);
  expect_failure<LedgerCorrupt>([&] { Ledger::verify(path_); }, messages);
  EXPECT_EQ(content(), edited);
}

// Lines that an object has read before are checked by their hash; an edit among them is found all the same.
TEST_F(LedgerFile, AnEditBetweenTwoAppendsOfOneObjectIsFound) {
  Ledger ledger(path_);
  for (const char* id : {"run-1", "run-2", "run-3"}) ledger.append(sample_entry(id));
  const std::string intact = content();
  std::string edited = intact;
  edited.replace(edited.find("run-1"), 5, "run-9");
  set_content(edited);
  expect_failure<LedgerCorrupt>([&] { ledger.append(sample_entry("run-4")); }, {path_.string() + ":2", "chain"});
  set_content(intact.substr(intact.find('\n') + 1));
  expect_failure<LedgerCorrupt>([&] { ledger.append(sample_entry("run-4")); }, {path_.string() + ":1", "chain"});
  set_content(intact);
  EXPECT_EQ(ledger.append(sample_entry("run-4")), Charge::kWritten);
  fs::remove(path_);
  EXPECT_EQ(ledger.append(sample_entry("run-1")), Charge::kWritten);
  EXPECT_EQ(Ledger::verify(path_), 1u);
}

TEST_F(LedgerFile, ObjectsThatTakeTurnsSeeEachOthersLines) {
  Ledger left(path_);
  Ledger right(path_);
  for (int turn = 0; turn < 5; ++turn) {
    left.append(sample_entry("left-" + std::to_string(turn)));
    right.append(sample_entry("right-" + std::to_string(turn)));
  }
  EXPECT_EQ(left.append(sample_entry("right-4")), Charge::kAlreadyOnFile);
  EXPECT_EQ(Ledger::verify(path_), 10u);
}

TEST_F(LedgerFile, ATornLastLineIsNeitherReadNorExtended) {
  Ledger ledger(path_);
  for (const char* id : {"run-1", "run-2"}) ledger.append(sample_entry(id));
  const std::string torn = content().substr(0, content().size() - 10);
  set_content(torn);
  const std::vector<std::string> messages{path_.string() + ":2", "torn"};
  expect_failure<LedgerCorrupt>([&] { ledger.append(sample_entry("run-3")); }, messages);
  expect_failure<LedgerCorrupt>([&] { Ledger::verify(path_); }, messages);
  EXPECT_EQ(content(), torn);
}

TEST_F(LedgerFile, EightProcessesOfFiftyReleasesLeaveFourHundredChainedLines) {
  constexpr int kProcesses = 8;
  constexpr int kReleases = 50;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      int status = 0;
      try {
        Ledger ledger(path_);
        for (int release = 0; release < kReleases; ++release) {
          ledger.append(sample_entry(std::to_string(process) + "-" + std::to_string(release)));
        }
      } catch (...) {
        status = 1;
      }
      ::_exit(status);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  std::set<std::string> ids;
  for (const LedgerRecord& record : Ledger::read(path_)) ids.insert(record.entry.release_id);
  EXPECT_EQ(ids.size(), static_cast<std::size_t>(kProcesses * kReleases));
}

// A size limit that the line crosses stands for a full disk: write() accepts a part.
TEST_F(LedgerFile, AShortWriteLeavesTheFileAsBefore) {
  Ledger(path_).append(sample_entry("run-1"));
  const std::string before = content();
  const int status = status_in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{before.size() + 100, before.size() + 100};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      Ledger(path_).append(sample_entry("run-2"));
    } catch (const BadInput& error) {
      const std::string what = error.what();
      return what.find(path_.string()) != std::string::npos && what.find("only 100 of") != std::string::npos ? 0 : 1;
    }
    return 2;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(content(), before);
  EXPECT_EQ(Ledger(path_).append(sample_entry("run-2")), Charge::kWritten);
  EXPECT_EQ(Ledger::verify(path_), 2u);
}

TEST_F(LedgerFile, AWriteThatFailsAltogetherLeavesTheFileAsBefore) {
  Ledger(path_).append(sample_entry("run-1"));
  const std::string before = content();
  const int status = status_in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{before.size(), before.size()};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      Ledger(path_).append(sample_entry("run-2"));
    } catch (const BadInput& error) {
      return std::string(error.what()).find("File too large") != std::string::npos ? 0 : 1;
    }
    return 2;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(content(), before);
}

TEST_F(LedgerFile, AFirstShortWriteLeavesAnEmptyLedger) {
  const int status = status_in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{50, 50};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      Ledger(path_).append(sample_entry("run-1"));
    } catch (const BadInput&) {
      return 0;
    }
    return 2;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Ledger::verify(path_), 0u);
}

TEST_F(LedgerFile, AFolderInItsPlaceIsRefused) {
  expect_failure<BadInput>([&] { Ledger(folder_).append(sample_entry("run-1")); }, {folder_.string(), "directory"});
  expect_failure<BadInput>([&] { Ledger::read(folder_); }, {folder_.string(), "regular file"});
}

TEST_F(LedgerFile, APipeInItsPlaceIsRefusedWithoutWaiting) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  expect_failure<BadInput>([&] { Ledger(path_).append(sample_entry("run-1")); }, {path_.string(), "regular file"});
  expect_failure<BadInput>([&] { Ledger::read(path_); }, {path_.string(), "regular file"});
}

TEST_F(LedgerFile, ADeviceInItsPlaceIsRefused) {
  expect_failure<BadInput>([&] { Ledger("/dev/null").append(sample_entry("run-1")); }, {"/dev/null", "regular file"});
}

TEST_F(LedgerFile, AMissingFolderIsNamed) {
  const fs::path path = folder_ / "missing" / "ledger.jsonl";
  expect_failure<BadInput>([&] { Ledger(path).append(sample_entry("run-1")); }, {path.string(), "No such file"});
}

TEST_F(LedgerFile, AFileWithoutPermissionIsNamed) {
  Ledger(path_).append(sample_entry("run-1"));
  fs::permissions(path_, fs::perms::owner_read);
  const auto attempt = [&] {
    if (::geteuid() == 0 && ::seteuid(65534) != 0) return 3;  // permissions do not bind root
    try {
      Ledger(path_).append(sample_entry("run-2"));
    } catch (const BadInput& error) {
      const std::string what = error.what();
      return what.find(path_.string()) != std::string::npos && what.find("Permission denied") != std::string::npos ? 0
                                                                                                                   : 1;
    }
    return 2;
  };
  fs::permissions(folder_, fs::perms::owner_all | fs::perms::others_exec | fs::perms::others_read);
  EXPECT_EQ(status_in_child(attempt), 0);
  EXPECT_EQ(Ledger::verify(path_), 1u);
}

TEST_F(LedgerFile, ABareFileNameLiesInTheWorkingFolder) {
  const int status = status_in_child([&] {
    fs::current_path(folder_);
    return Ledger("ledger.jsonl").append(sample_entry("run-1")) == Charge::kWritten ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Ledger::verify(path_), 1u);
}

// While a process waits for the lock, the ledger is moved away: its line belongs in the file that has the name now.
TEST_F(LedgerFile, AWaitingProcessWritesToTheFileThatHasTheName) {
  Ledger(path_).append(sample_entry("run-1"));
  const int holder = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(holder, LOCK_EX), 0);
  std::thread waiting([&] { Ledger(path_).append(sample_entry("run-2")); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  fs::rename(path_, folder_ / "archive.jsonl");
  ::close(holder);
  waiting.join();
  EXPECT_EQ(Ledger::read(folder_ / "archive.jsonl").at(0).entry.release_id, "run-1");
  ASSERT_EQ(Ledger::verify(path_), 1u);
  EXPECT_EQ(Ledger::read(path_)[0].entry.release_id, "run-2");
}

TEST_F(LedgerFile, ComposedMuCountsPrivateReleasesOnly) {
  Ledger ledger(path_);
  EXPECT_EQ(composed_mu(Ledger::read(path_)), 0);
  LedgerEntry entry = sample_entry("run-1");
  entry.mu = 3;
  ledger.append(entry);
  entry.release_id = "run-2";
  entry.mu = 4;
  ledger.append(entry);
  entry.release_id = "run-3";
  entry.mu = 100;
  entry.is_private = false;
  ledger.append(entry);
  EXPECT_NEAR(composed_mu(Ledger::read(path_)), 5, 1e-14);
}

TEST_F(LedgerFile, SelectionsHaveNoMuAndTheirRho) {
  Ledger ledger(path_);
  LedgerEntry gaussian = sample_entry("run-1");
  gaussian.mu = 0.5;
  ledger.append(gaussian);
  ledger.append(sample_selection("run-2", SelectionMechanism::kExponential, 2));
  ledger.append(sample_selection("run-3", SelectionMechanism::kPermuteAndFlip, 1));
  LedgerEntry seeded = sample_selection("run-4", SelectionMechanism::kExponential, 100);
  seeded.is_private = false;
  ledger.append(seeded);
  const std::vector<LedgerRecord> records = Ledger::read(path_);
  EXPECT_NEAR(composed_mu(records), 0.5, 1e-15);
  EXPECT_NEAR(composed_rho(records), 0.125 + 0.5 + 0.5, 1e-14);
  EXPECT_GE(composed_rho(records), 1.125);
}

// Gaussian lines of mu 0.1 each under a budget that allows mu 0.2, and what rounding adds to that.
TEST_F(LedgerFile, GaussianBudgetsAreComparedInMu) {
  const DataSetBudget limit{gdp_epsilon(0.2 + 1e-12, 1e-6), 1e-6};
  Ledger ledger(path_);
  const auto append = [&](int run) {
    LedgerEntry entry = sample_entry("run-" + std::to_string(run));
    entry.mu = 0.1;
    ledger.append(entry, Allowance{limit, Adjacency::kAddRemove, {.mu = 0.1, .selections = {}}});
  };
  for (int run = 0; run < 4; ++run) append(run);
  expect_failure<BudgetRefused>(
      [&] { append(4); }, {path_.string() + ": the runs on file have mu 0.2", "with this one's 0.1 it would be 0.22",
                           "above the data set's budget of mu 0.", "ask for less"});
  EXPECT_EQ(Ledger::verify(path_), 4u);
}

// epsilon 0.4 + 0.4 + 0.2: pure DP adds up, and at a tiny delta nothing is gained over that.
TEST_F(LedgerFile, BudgetsWithSelectionsAreComparedInEpsilon) {
  const DataSetBudget limit{1.0, 1e-12};
  Ledger ledger(path_);
  const auto append = [&](const std::string& id, double epsilon) {
    ledger.append(sample_selection(id, SelectionMechanism::kPermuteAndFlip, epsilon),
                  Allowance{limit, Adjacency::kAddRemove, {.mu = 0, .selections = {{PureMechanism{epsilon}, 1}}}});
  };
  append("run-1", 0.4);
  append("run-2", 0.4);
  expect_failure<BudgetRefused>([&] { append("run-3", 0.21); },
                                {path_.string() + ": the runs on file have epsilon 0.79", "with this one's 0.2",
                                 "above the data set's budget of epsilon 1 at delta 1e-12; ask for less"});
  append("run-3", 0.2);
  EXPECT_EQ(Ledger::verify(path_), 3u);
}

TEST_F(LedgerFile, GaussiansAndSelectionsShareOneBudget) {
  const DataSetBudget limit{2.0, 1e-6};
  const double mu = gdp_mu(1.9, 1e-6);
  LedgerEntry gaussian = sample_entry("run-1");
  gaussian.mu = mu;
  const Spending planned_gaussian{.mu = mu, .selections = {}};
  const Spending planned_selection{.mu = 0, .selections = {{ExponentialMechanism{0.5}, 1}}};
  const LedgerEntry selection = sample_selection("run-2", SelectionMechanism::kExponential, 0.5);
  {
    Ledger ledger(path_);
    ledger.append(gaussian, Allowance{limit, Adjacency::kAddRemove, planned_gaussian});
    const auto refused = [&] { ledger.append(selection, Allowance{limit, Adjacency::kAddRemove, planned_selection}); };
    expect_failure<BudgetRefused>(refused, {"budget of epsilon 2 at delta 1e-06"});
    EXPECT_EQ(Ledger::verify(path_), 1u);
  }
  fs::remove(path_);
  Ledger ledger(path_);
  ledger.append(selection, Allowance{limit, Adjacency::kAddRemove, planned_selection});
  EXPECT_THROW(ledger.append(gaussian, Allowance{limit, Adjacency::kAddRemove, planned_gaussian}), BudgetRefused);
  ledger.append(selection,
                Allowance{{0.01, 1e-6}, Adjacency::kAddRemove, planned_selection});  // on file: costs nothing
  EXPECT_EQ(Ledger::verify(path_), 1u);
}

TEST_F(LedgerFile, LinesUnderAddRemoveCountTwiceForAReplaceOneBudget) {
  Ledger ledger(path_);
  LedgerEntry gaussian = sample_entry("run-1");
  gaussian.mu = 0.3;
  ledger.append(gaussian);
  ledger.append(sample_selection("run-2", SelectionMechanism::kExponential, 0.5));
  const std::vector<LedgerRecord> records = Ledger::read(path_);
  const Spending one = spending_of(records, Adjacency::kAddRemove);
  const Spending exchange = spending_of(records, Adjacency::kReplaceOne);
  EXPECT_NEAR(one.mu, 0.3, 1e-15);
  EXPECT_EQ(std::get<ExponentialMechanism>(one.selections.at(0).mechanism).epsilon, 0.5);
  EXPECT_NEAR(exchange.mu, 0.6, 1e-15);
  EXPECT_EQ(std::get<ExponentialMechanism>(exchange.selections.at(0).mechanism).epsilon, 1.0);
}

}  // namespace
}  // namespace dpreduce
