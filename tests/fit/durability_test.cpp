// What has to be on disk is flushed before what it guards happens, and where a flush fails that does not happen. Seen
// at the system calls: a computer that is switched off in between cannot be had in a test.

#include <cerrno>
#include <mutex>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/output_file.hpp"
#include "common/ledger/run_file.hpp"
#include "common/randomness/private_file.hpp"
#include "tests/common/ledger/sample_ledger.hpp"
#include "tests/fit/fitted_rows.hpp"

namespace dpreduce::durability_test {

using testing::Contains;

struct FileCall {
  enum class Kind { kWrite, kSync, kCut, kName, kRemove };
  Kind kind;
  std::string path;  // of the file; "unnamed" where it has no name yet
  bool operator==(const FileCall&) const = default;
};
using Kind = FileCall::Kind;

// Calls on files in this folder are seen, and those on it, until this is destroyed; one at a time.
class WatchedFiles {
 public:
  explicit WatchedFiles(const std::filesystem::path& folder) : folder_(folder.string()) {
    const std::lock_guard lock(mutex_);
    watch_ = this;
  }
  ~WatchedFiles() {
    const std::lock_guard lock(mutex_);
    watch_ = nullptr;
  }
  WatchedFiles(const WatchedFiles&) = delete;
  WatchedFiles& operator=(const WatchedFiles&) = delete;

  const std::vector<FileCall>& calls() const { return calls_; }

  // The number-th sync from here on fails, as that of a disk that is lost does, where `fails` takes its path.
  void fail_sync(std::size_t number, std::function<bool(const std::string&)> fails) {
    const std::lock_guard lock(mutex_);
    syncs_until_failure_ = number;
    fails_ = std::move(fails);
    has_failed_ = false;
  }
  // Whether that has come to pass.
  bool has_failed() const { return has_failed_; }

  // Of a call that is about to be made; false where it has to fail.
  static bool see(Kind kind, std::string path) {
    const std::lock_guard lock(mutex_);
    if (watch_ == nullptr || watch_->takes(kind, std::move(path))) return true;
    errno = EIO;
    return false;
  }
  static bool see(Kind kind, int file) {
    std::error_code error;
    return see(kind, std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file), error).string());
  }

 private:
  bool takes(Kind kind, std::string path) {
    if (!path.starts_with(folder_)) return true;
    // Without a name yet it is "FOLDER/#123 (deleted)".
    if (path.find("/#") != std::string::npos && path.ends_with(" (deleted)")) path = "unnamed";
    if (kind == Kind::kSync && syncs_until_failure_ > 0 && fails_(path) && --syncs_until_failure_ == 0) {
      has_failed_ = true;
      return false;
    }
    calls_.push_back({kind, std::move(path)});
    return true;
  }

  static inline std::mutex mutex_;
  static inline WatchedFiles* watch_ = nullptr;

  std::string folder_;
  std::vector<FileCall> calls_;
  std::size_t syncs_until_failure_ = 0;
  std::function<bool(const std::string&)> fails_;
  bool has_failed_ = false;
};

}  // namespace dpreduce::durability_test

using dpreduce::durability_test::Kind;
using dpreduce::durability_test::WatchedFiles;

// The calls by which this program changes files, instead of the C library's.
extern "C" {

ssize_t write(int file, const void* bytes, size_t count) {
  WatchedFiles::see(Kind::kWrite, file);
  return syscall(SYS_write, file, bytes, count);
}

int fsync(int file) {
  if (!WatchedFiles::see(Kind::kSync, file)) return -1;
  return static_cast<int>(syscall(SYS_fsync, file));
}

int ftruncate(int file, off_t length) noexcept {
  WatchedFiles::see(Kind::kCut, file);
  return static_cast<int>(syscall(SYS_ftruncate, file, length));
}

int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  WatchedFiles::see(Kind::kName, to);
  return static_cast<int>(syscall(SYS_linkat, from_folder, from, to_folder, to, flags));
}

int rename(const char* from, const char* to) noexcept {
  WatchedFiles::see(Kind::kName, to);
  return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0U));
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  WatchedFiles::see(Kind::kName, to);
  return static_cast<int>(syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

int unlink(const char* path) noexcept {
  WatchedFiles::see(Kind::kRemove, path);
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

}  // extern "C"

namespace dpreduce::durability_test {

constexpr std::uint64_t kRoundsOfFit = 3;
const std::string kLedger = "/ledger.jsonl";
const std::string kRunFile = ".releases";

// Follows the calls of a run, and says where one of them comes too early.
class Order {
 public:
  Order(const TemporaryFolder& folder, const std::vector<FileCall>& calls) : folder_(folder.path()) {
    for (const FileCall& call : calls) follow(call);
    for (const std::string& path : dirty_) complain(path + " was not flushed at the end");
  }
  const std::vector<std::string>& complaints() const { return complaints_; }
  std::size_t writes_to_ledger() const { return writes_to_ledger_; }
  std::size_t records() const { return records_; }
  std::size_t files_removed() const { return files_removed_; }

 private:
  void require_clean(const std::string& ending, const std::string& what, const std::string& before) {
    if (std::ranges::any_of(dirty_, [&](const std::string& path) { return path.ends_with(ending); }))
      complain(fmt::format("{} before {} was flushed", before, what));
  }

  void follow(const FileCall& call) {
    const std::string& path = call.path;
    const bool is_run_file = path.ends_with(kRunFile);
    if (call.kind == Kind::kSync) dirty_.erase(path);
    if (call.kind == Kind::kWrite) {
      if (path.ends_with(kLedger)) {  // a line, before which its predecessor's record is there
        ++writes_to_ledger_;
        require_clean(kRunFile, "the record before it", "a line of the ledger");
        require_clean(folder_, "the folder of ledger and run file", "a line of the ledger");
      }
      if (is_run_file) {  // a value, which is paid for
        ++records_;
        require_clean(kLedger, "the ledger", "a record");
      }
      dirty_.insert(path);
    }
    if (call.kind == Kind::kName && dirty_.contains("unnamed")) complain(path + " got its name before it was flushed");
    if (call.kind == Kind::kRemove && is_run_file) {
      ++files_removed_;
      require_clean(kLedger, "the end of the run", "the removal of its file");
    }
    if (call.kind == Kind::kName || call.kind == Kind::kRemove)
      dirty_.insert(std::filesystem::path(path).parent_path().string());
  }
  void complain(std::string what) { complaints_.push_back(std::move(what)); }

  std::string folder_;
  std::set<std::string> dirty_;  // changed since it was flushed last; a folder: its names
  std::vector<std::string> complaints_;
  std::size_t writes_to_ledger_ = 0;
  std::size_t records_ = 0;
  std::size_t files_removed_ = 0;
};

FitOptions options_in(const TemporaryFolder& folder) {
  FitOptions options = seeded_fit("adam", folder);
  options.privacy.seed.reset();
  options.method.rounds = kRoundsOfFit;
  return options;
}
void fit_in(const TemporaryFolder& folder) {
  fitted_run(options_in(folder), FittedRows(30, 1).all(), Accounts::kLedger);
}

TEST(DurabilityTest, OfAFitEachFlushComesBeforeWhatItGuards) {
  const TemporaryFolder folder;
  WatchedFiles watched(folder.path());
  fit_in(folder);
  const Order order(folder, watched.calls());
  EXPECT_THAT(order.complaints(), IsEmpty());
  EXPECT_EQ(order.writes_to_ledger(), kRoundsOfFit + 2);  // a reservation, charges, an end
  EXPECT_EQ(order.records(), 2 * kRoundsOfFit);           // a line and a block each
  EXPECT_EQ(order.files_removed(), 1U);
}

// Whichever flush fails, the fit says so, and no release is saved that the ledger does not have.
TEST(DurabilityTest, AFlushThatFailsEndsTheFitBeforeWhatItGuards) {
  for (std::size_t number = 1;; ++number) {
    SCOPED_TRACE(number);
    const TemporaryFolder folder;
    WatchedFiles watched(folder.path());
    std::string failed;
    watched.fail_sync(number, [&](const std::string& path) {
      failed = path;
      return path != folder.path();  // that a name is gone is more than all file systems can promise
    });
    const std::string said = refusal<Error>([&] { fit_in(folder); });
    if (!watched.has_failed()) {
      EXPECT_GT(number, 2 * kRoundsOfFit);  // ledger and run file each round, and more before and after
      break;
    }
    EXPECT_NE(said, "") << failed;
    const std::string ledger = options_in(folder).privacy.ledger;
    const LedgerState state = Ledger::read(ledger);
    for (const RunFile::DeadRun& dead : RunFile::dead_runs(ledger, state)) {
      EXPECT_LE(dead.releases, state.charges().size()) << failed;
    }
  }
}

TEST(DurabilityTest, ALedgerLineIsFlushedBeforeTheCallReturnsOrIsTakenBack) {
  const TemporaryFolder folder;
  const std::string path = folder / "ledger.jsonl";
  const Reservation reservation{.run_id = "run",
                                .terms = sample_terms(),
                                .releases = {{.name = "sums", .rounds = 1, .mu = 1.0, .sampling_rate = 1.0}},
                                .selections = {}};
  WatchedFiles watched(folder.path());
  Ledger ledger(path);
  watched.fail_sync(1, [&](const std::string& synced) { return synced == path; });
  EXPECT_THROW(ledger.reserve(reservation, {}), BadInput);
  ASSERT_TRUE(watched.has_failed());
  EXPECT_TRUE(Ledger::read(path).open_runs().empty());
  ledger.reserve(reservation, {});
  EXPECT_EQ(Ledger::read(path).open_runs().size(), 1U);
  const FileCall written{Kind::kWrite, path};
  const FileCall flushed{Kind::kSync, path};
  EXPECT_EQ(watched.calls().back(), flushed);
  const auto calls_since = [&](std::size_t first) {
    return std::vector(watched.calls().begin() + static_cast<std::ptrdiff_t>(first), watched.calls().end());
  };
  const std::size_t before = watched.calls().size();
  ledger.end("run", RunOutcome::kStopped);
  EXPECT_THAT(calls_since(before), ElementsAre(written, flushed));

  std::filesystem::remove(path);  // its key stays, so that nothing else flushes the folder
  Ledger anew(path);
  const std::size_t first = watched.calls().size();
  anew.reserve(reservation, {});
  EXPECT_THAT(calls_since(first), ElementsAre(FileCall{Kind::kSync, folder.path()}, written, flushed))
      << "the name, before a line that would be lost without it";
}

TEST(DurabilityTest, ARunFileIsWholeAndFlushedBeforeItHasItsName) {
  const TemporaryFolder folder;
  const std::string ledger = folder / "ledger.jsonl";
  const std::string config(64, 'b');
  WatchedFiles watched(folder.path());
  watched.fail_sync(1, [](const std::string&) { return true; });
  EXPECT_THROW(RunFile::make(ledger, config, SavesReleases::kYes), BadInput);
  EXPECT_TRUE(folder.names().empty());
  RunFile file = RunFile::make(ledger, config, SavesReleases::kYes);
  const std::vector<std::int64_t> values{1, 2, 3};
  const auto size = [&] { return std::filesystem::file_size(folder / folder.names().front()); };
  const std::uintmax_t before = size();
  watched.fail_sync(1, [](const std::string&) { return true; });
  EXPECT_THROW(file.save("sums", std::string(64, '1'), {{"sums", values}}), BadInput);
  EXPECT_EQ(size(), before);
  file.save("sums", std::string(64, '1'), {{"sums", values}});
  EXPECT_GT(size(), before);
  EXPECT_EQ(watched.calls().back().kind, Kind::kSync);
  EXPECT_THAT(Order(folder, watched.calls()).complaints(), IsEmpty());
}

TEST(DurabilityTest, AFileThatIsReplacedIsFlushedBeforeItHasItsName) {
  const TemporaryFolder folder;
  const std::string path = folder / "model";
  for (const Existing existing : {Existing::kKeep, Existing::kReplace}) {
    WatchedFiles watched(folder.path());
    {
      AtomicFile file(path, existing);
      file.write("whole");
      watched.fail_sync(1, [](const std::string&) { return true; });
      EXPECT_THROW(file.commit(), BadInput);
    }
    EXPECT_EQ(std::filesystem::exists(path), existing == Existing::kReplace);
    AtomicFile again(path, existing);
    again.write("whole");
    again.commit();
    EXPECT_THAT(Order(folder, watched.calls()).complaints(), IsEmpty());
  }
}

// The watch itself: calls in another order are complained of.
TEST(DurabilityTest, AnotherOrderIsSeen) {
  const TemporaryFolder folder;
  const std::string ledger = folder / "ledger.jsonl";
  const std::string file = folder / "ledger.jsonl.1.releases";
  const auto complaints = [&](const std::vector<FileCall>& calls) { return Order(folder, calls).complaints(); };
  const FileCall line{Kind::kWrite, ledger};
  const FileCall flushed{Kind::kSync, ledger};
  const FileCall record{Kind::kWrite, file};
  EXPECT_THAT(complaints({line, record, flushed, {Kind::kSync, file}}),
              Contains(HasSubstr("a record before the ledger was flushed")));
  EXPECT_THAT(complaints({record, line, flushed, {Kind::kSync, file}}),
              Contains(HasSubstr("a line of the ledger before the record before it was flushed")));
  EXPECT_THAT(complaints({{Kind::kWrite, "unnamed"}, {Kind::kName, file}, {Kind::kSync, "unnamed"}}),
              Contains(HasSubstr("got its name before it was flushed")));
  EXPECT_THAT(complaints({line, {Kind::kRemove, file}}), Contains(HasSubstr("the removal of its file before")));
  EXPECT_THAT(complaints({line}), Contains(HasSubstr("was not flushed at the end")));
  EXPECT_THAT(complaints({line, flushed}), IsEmpty());
}

}  // namespace dpreduce::durability_test
