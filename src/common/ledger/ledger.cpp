#include "common/ledger/ledger.hpp"

#include <array>
#include <cerrno>
#include <ctime>
#include <mutex>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/file_descriptor.hpp"
#include "common/ledger/ledger_line.hpp"

namespace dpreduce {
namespace {

namespace fs = std::filesystem;

constexpr off_t kLargestLedger = off_t{1} << 30;

[[noreturn]] void refuse(const fs::path& path, const std::string& what, int error_number) {
  throw BadInput(path.string() + ": " + what + ": " + std::generic_category().message(error_number));
}

// Repeats a system call that a signal interrupted.
template <typename Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

struct stat status_of(int file, const fs::path& path) {
  struct stat status;
  if (::fstat(file, &status) != 0) refuse(path, "cannot examine the ledger", errno);
  return status;
}

// Locks an open file. False where, meanwhile, another file has got its name: then the lock is on the wrong one.
bool lock(int file, const fs::path& path, int kind) {
  const struct stat opened = status_of(file, path);
  if (!S_ISREG(opened.st_mode)) throw BadInput(path.string() + ": the ledger must be a regular file");
  if (uninterrupted([&] { return ::flock(file, kind); }) != 0) {
    throw BadInput(path.string() + ": cannot lock the ledger: " + reason_of(errno, FileFeature::kLocks));
  }
  struct stat named;
  return ::stat(path.c_str(), &named) == 0 && named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

// None where there is no file, and none is to be made.
FileDescriptor open_locked(const fs::path& path, int flags, int kind) {
  require_local(path);
  while (true) {
    // Without O_NONBLOCK, opening a pipe would wait for its other end.
    FileDescriptor file(
        uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644); }));
    if (file.get() < 0 && errno == ENOENT && !(flags & O_CREAT)) return file;
    if (file.get() < 0) refuse(path, "cannot open the ledger", errno);
    if (lock(file.get(), path, kind)) return file;
  }
}

std::string read_all(int file, const fs::path& path) {
  const off_t size = status_of(file, path).st_size;
  if (size > kLargestLedger) throw BadInput(path.string() + ": the ledger is larger than 1 GiB; start a new one");
  std::string text(static_cast<std::size_t>(size), '\0');
  const auto done = read_at(file, std::as_writable_bytes(std::span(text)));
  if (!done) refuse(path, "cannot read the ledger", errno);
  text.resize(*done);
  return text;
}

// One write of the whole line at the end of the file, then sync; whatever fails, the file gets its former length again.
void write_durably(int file, const fs::path& path, const std::string& line, std::size_t former_length) {
  const ssize_t written = uninterrupted([&] { return ::write(file, line.data(), line.size()); });
  int error_number = written < 0 ? errno : 0;
  std::string what = "cannot write the ledger";
  if (written >= 0 && static_cast<std::size_t>(written) < line.size()) {
    // The kernel reports the reason of a short write only at the next one.
    error_number = ENOSPC;
    what = "cannot write the ledger (only " + std::to_string(written) + " of " + std::to_string(line.size()) +
           " bytes fitted: disk, quota or size limit)";
  } else if (written >= 0 && ::fsync(file) != 0) {
    error_number = errno;
    what = "cannot sync the ledger";
  }
  if (error_number == 0) return;
  const off_t length = static_cast<off_t>(former_length);
  if (uninterrupted([&] { return ::ftruncate(file, length); }) != 0) what += "; a torn last line remains";
  refuse(path, what, error_number);
}

/// Locked (flock) for as long as it exists. Errors are BadInput with path and reason.
class LedgerFile {
 public:
  enum class Use {
    kRead,   ///< under a shared lock; a missing file is an empty one
    kExtend  ///< under an exclusive lock; a missing file is made
  };

  /// Throws also where it is not a regular file.
  LedgerFile(fs::path path, Use use)
      : path_(std::move(path)),
        file_(use == Use::kRead ? open_locked(path_, O_RDONLY, LOCK_SH)
                                : open_locked(path_, O_RDWR | O_APPEND | O_CREAT, LOCK_EX)) {
    if (file_.get() >= 0) text_ = read_all(file_.get(), path_);
  }

  /// All of it, as it was when it was locked.
  const std::string& text() const { return text_; }

  /// Returns once the lines, each with its newline, are durable: one write() at the end of the file, then sync, of the
  /// folder too where the file was empty. Whatever fails, the file has its former length again.
  void append(const std::string& lines) {
    // The name first: a synced line in a file without a name is lost.
    if (text_.empty() && !sync_folder_of(path_)) refuse(path_, "cannot sync the ledger's folder", errno);
    write_durably(file_.get(), path_, lines, text_.size());
    text_ += lines;
  }

  /// Removes the name of a file that is empty, as opening may have made it. Who waits for the lock will find it gone.
  void remove_if_empty() noexcept {
    struct stat status {};
    struct stat named {};
    if (file_.get() < 0 || ::fstat(file_.get(), &status) != 0 || status.st_size != 0) return;
    // A symbolic link would go itself, and the next run would begin another ledger under this name.
    if (::lstat(path_.c_str(), &named) == 0 && S_ISREG(named.st_mode)) ::unlink(path_.c_str());
  }

 private:
  fs::path path_;
  FileDescriptor file_;
  std::string text_;
};

// Whole minutes, rounded down: a ledger's readers are not told how long a pass over rows took, to the second.
std::string utc_now() {
  constexpr std::time_t kMinute = 60;
  const std::time_t now = std::time(nullptr) / kMinute * kMinute;
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

// The next line of a ledger, chained to the one before, and ahead of it the first one where there is none, with
// `version` of this library; each with its newline. Throws UsageError, which begins with `too_long`, where one is.
std::string next_lines(const SigningKey& key, const LedgerHead& head, decltype(LedgerRecord::content) content,
                       const std::string& version, const std::string& too_long) {
  std::string previous = head.last_line_sha256;
  std::string text;
  const auto add = [&](decltype(LedgerRecord::content) own) {
    const std::string line = sign_line(print_unsigned({std::move(own), utc_now(), previous}), key);
    if (line.size() > kLongestLedgerLine) {
      throw UsageError("{}: {} bytes, at most {}", too_long, line.size(), kLongestLedgerLine);
    }
    previous = to_hex(sha256(line));
    text += line + "\n";
  };
  if (head.public_key.empty()) add(LedgerStart{to_hex(key.public_key()), version});
  add(std::move(content));
  return text;
}

void require_writable(const std::string& what, const std::string& fault) {
  if (!fault.empty()) throw UsageError(what + ": " + fault);
}

void require_not_released(const LedgerState& state, const fs::path& path, const std::string& run_id) {
  if (state.outcome(run_id) != RunOutcome::kReleased) return;
  throw BudgetRefused(path.string() + ": run " + run_id +
                      " was given up (dpreduce ledger release), and cannot charge any more; start a new run");
}

// Throws unless the state takes the reservation, under that limit.
void require_reservable(const LedgerState& state, const Reservation& reservation,
                        const std::optional<DataSetBudget>& limit, const fs::path& path) {
  if (state.open_run(reservation.run_id) != nullptr || state.outcome(reservation.run_id)) {
    throw ResumeMismatch(path.string() + ": run " + reservation.run_id +
                         " is already recorded; a run reserves once, and a resumed run has another name");
  }
  require_not_released(state, path, reservation.instead_of);
  require_one_unit(state, reservation.terms.unit, path);
  if (limit) require_room(state, reservation, *limit, path);
}

// The state of a text whose lines are all verified. Those of the text that this process has verified before are not
// verified again if they are the same bytes: a run reads its ledger several times.
LedgerState verified(const std::string& text, const std::string& source) {
  static std::mutex mutex;
  static LedgerState known;
  const std::lock_guard lock(mutex);
  LedgerState state = text.starts_with(known.text()) ? known : LedgerState{};
  state.extend(text, source);
  known = state;
  return state;
}

}  // namespace

// Makes state_ that of the text, whose lines are verified, but for the signatures of lines that are this object's own.
// Lines that it has read before must still be there.
void Ledger::verify_text(const std::string& text, LedgerState::Signatures signatures) {
  try {
    if (!state_.text().empty() && text.starts_with(state_.text())) {
      state_.extend(text, path_.string(), signatures);
    } else {
      state_ = verified(text, path_.string());
    }
    if (last_head_.lines > 0) require_contains(state_, last_head_, path_.string());
  } catch (...) {
    state_ = {};
    throw;
  }
  last_head_ = state_.head();
}

template <typename Step>
void Ledger::extend(Step lines_of) {
  LedgerFile file(path_, LedgerFile::Use::kExtend);
  try {
    verify_text(file.text(), LedgerState::Signatures::kToVerify);
    const std::string lines = lines_of();
    if (lines.empty()) return;
    file.append(lines);
    // Read, too, so that the next call misses these lines if they are gone.
    verify_text(file.text(), LedgerState::Signatures::kOwn);
  } catch (...) {
    file.remove_if_empty();
    throw;
  }
}

const SigningKey& Ledger::key() {
  const std::string signer = state_.head().public_key;
  if (signer.empty()) return key_.emplace(find_or_make_signing_key(path_));
  const auto is_there = [&] { return key_ && to_hex(key_->public_key()) == signer; };
  if (!is_there()) key_ = find_signing_key(path_);
  if (is_there()) return *key_;
  const std::string key_path = signing_key_path(path_).string();
  if (!key_) {
    throw BadInput(path_.string() + ": its signing key " + key_path +
                   " is missing, and only its owner can add lines; restore the key, or start a new ledger");
  }
  throw LedgerCorrupt(path_.string() + ": is signed with the key " + signer + ", not with " + key_path +
                      ": the ledger or its key was replaced");
}

void Ledger::check(const Reservation& reservation, const std::optional<DataSetBudget>& limit) {
  require_writable("ledger reservation", fault_of(reservation));
  require_reservable(current(), reservation, limit, path_);
  if (!state_.head().public_key.empty()) key();  // it is there, and its owner's alone
}

void Ledger::reserve(Reservation reservation, const std::optional<DataSetBudget>& limit) {
  require_writable("ledger reservation", fault_of(reservation));
  extend([&] {
    require_reservable(state_, reservation, limit, path_);
    if (state_.open_run(reservation.instead_of) == nullptr) reservation.instead_of.clear();
    return next_lines(key(), state_.head(), reservation, reservation.terms.version,
                      "ledger reservation: more releases than one line of the ledger holds");
  });
}

std::string Ledger::append(const LedgerEntry& entry) {
  require_writable("ledger entry", fault_of(entry));
  extend([&]() -> std::string {
    if (state_.charge(entry.release_id) != nullptr) {
      throw ResumeMismatch(path_.string() + ": release " + entry.release_id +
                           " is already recorded; each release needs a charge under its own id");
    }
    const std::string run = run_of(entry.release_id);
    require_not_released(state_, path_, run);
    const OpenRun* open = state_.open_run(run);
    if (open == nullptr) {
      throw BudgetRefused(path_.string() + ": run " + run + " has no reservation, and cannot charge release " +
                          entry.release_id);
    }
    require_writable("ledger entry", uncovered(open->remains, entry));
    return next_lines(key(), state_.head(), entry, entry.terms.version,
                      "ledger entry: release " + entry.release_id + " has too many blocks for one line");
  });
  return state_.head().last_line_sha256;
}

bool Ledger::end(const std::string& run_id, RunOutcome outcome) {
  std::error_code error;
  if (!fs::exists(path_, error) && !error) return false;
  bool ends = false;
  extend([&]() -> std::string {
    const RunEnd end{run_id, outcome};
    ends = state_.open_run(run_id) != nullptr || state_.may_be_released(end);
    if (!ends) return {};
    return next_lines(key(), state_.head(), end, {}, "ledger end");  // not the first line: its reservation is before
  });
  return ends;
}

const LedgerState& Ledger::current() {
  const LedgerFile file(path_, LedgerFile::Use::kRead);
  verify_text(file.text(), LedgerState::Signatures::kToVerify);
  return state_;
}

LedgerState Ledger::read(const fs::path& path) {
  const LedgerFile file(path, LedgerFile::Use::kRead);
  return verified(file.text(), path.string());
}

}  // namespace dpreduce
