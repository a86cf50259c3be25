#include "dpreduce/privacy/ledger.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dpreduce/config/error.hpp"
#include "dpreduce/privacy/argument_checks.hpp"
#include "dpreduce/privacy/gaussian_dp.hpp"

namespace dpreduce {
namespace {

namespace fs = std::filesystem;

constexpr off_t kLargestLedger = off_t{1} << 30;

[[noreturn]] void refuse(const fs::path& path, const std::string& what, int error_number) {
  throw BadInput(path.string() + ": " + what + ": " + std::generic_category().message(error_number));
}

/// Repeats a system call that a signal interrupted.
template <typename Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const { return number_; }

 private:
  int number_;
};

struct stat status_of(const Descriptor& file, const fs::path& path) {
  struct stat status;
  if (::fstat(file.get(), &status) != 0) refuse(path, "cannot examine the ledger", errno);
  return status;
}

// Opens and locks. While a process waits for the lock, the file it has opened may be moved away and replaced by another
// one; then the lock is on the wrong file, and the wait starts anew.
Descriptor open_locked(const fs::path& path, int flags, int lock) {
  while (true) {
    // Without O_NONBLOCK, opening a pipe would wait for its other end.
    Descriptor file(
        uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644); }));
    if (file.get() < 0) {
      if (errno == ENOENT && !(flags & O_CREAT)) return file;
      refuse(path, "cannot open the ledger", errno);
    }
    const struct stat opened = status_of(file, path);
    if (!S_ISREG(opened.st_mode)) throw BadInput(path.string() + ": the ledger must be a regular file");
    if (uninterrupted([&] { return ::flock(file.get(), lock); }) != 0) refuse(path, "cannot lock the ledger", errno);
    struct stat named;
    const bool still_there = ::stat(path.c_str(), &named) == 0;
    if (still_there && named.st_dev == opened.st_dev && named.st_ino == opened.st_ino) return file;
  }
}

std::string read_all(const Descriptor& file, const fs::path& path) {
  const off_t size = status_of(file, path).st_size;
  if (size > kLargestLedger) throw BadInput(path.string() + ": the ledger is larger than 1 GiB; start a new one");
  std::string text(static_cast<std::size_t>(size), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t got = uninterrupted(
        [&] { return ::pread(file.get(), text.data() + done, text.size() - done, static_cast<off_t>(done)); });
    if (got < 0) refuse(path, "cannot read the ledger", errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  text.resize(done);
  return text;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

// One write of the whole line at the end of the file, then sync; whatever fails, the file gets its former length again.
void write_durably(int file, const fs::path& path, const std::string& line, std::size_t former_length) {
  const ssize_t written = uninterrupted([&] { return ::write(file, line.data(), line.size()); });
  int error_number = written < 0 ? errno : 0;
  std::string what = "cannot write the ledger";
  if (written >= 0 && static_cast<std::size_t>(written) < line.size()) {
    // The kernel tells the reason of a short write only to the next one.
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

void sync_folder(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const Descriptor handle(uninterrupted([&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (handle.get() < 0 || ::fsync(handle.get()) != 0) refuse(folder, "cannot sync the ledger's folder", errno);
}

}  // namespace

// Makes records_ the records of text, all of it verified.
void Ledger::verify_text(std::string_view text) {
  if (text.size() < verified_length_ || sha256_hex(text.substr(0, verified_length_)) != verified_sha256_) {
    records_.clear();
    verified_length_ = 0;
  }
  try {
    extend_records(records_, text, verified_length_, path_.string());
  } catch (...) {
    records_.clear();
    verified_length_ = 0;
    throw;
  }
  verified_length_ = text.size();
  verified_sha256_ = sha256_hex(text);
}

Charge Ledger::append(const LedgerEntry& entry, const std::optional<Allowance>& allowance) {
  if (const std::string fault = fault_of(entry); !fault.empty()) throw UsageError("ledger entry: " + fault);

  const Descriptor file = open_locked(path_, O_RDWR | O_APPEND | O_CREAT, LOCK_EX);
  const std::string text = read_all(file, path_);
  try {
    return append_locked(file.get(), text, entry, allowance);
  } catch (...) {
    // Nothing was charged: the name that opening may have made goes again. Who waits for the lock will find it gone.
    if (text.empty() && status_of(file, path_).st_size == 0) ::unlink(path_.c_str());
    throw;
  }
}

Charge Ledger::append_locked(int file, const std::string& text, const LedgerEntry& entry,
                             const std::optional<Allowance>& allowance) {
  verify_text(text);
  const auto same_id = std::find_if(records_.begin(), records_.end(), [&](const LedgerRecord& record) {
    return record.entry.release_id == entry.release_id;
  });
  if (same_id != records_.end()) {
    if (same_id->entry == entry) return Charge::kAlreadyOnFile;
    throw ResumeMismatch(path_.string() + ":" + std::to_string(same_id - records_.begin() + 1) + ": release " +
                         entry.release_id + " is on file with another content; another release needs another id");
  }
  if (allowance) require_allowed(*allowance, records_, path_);

  const std::string line =
      print_record({.entry = entry, .utc_time = utc_now(), .previous_sha256 = next_previous_sha256(text)}) + "\n";
  if (line.size() > kLongestLedgerLine) {
    throw UsageError("ledger entry: release " + entry.release_id + " has too many blocks for one line: " +
                     std::to_string(line.size()) + " bytes, at most " + std::to_string(kLongestLedgerLine));
  }
  if (text.empty()) sync_folder(path_);  // the name first: a synced line in a file without a name is lost
  write_durably(file, path_, line, text.size());
  return Charge::kWritten;
}

std::vector<LedgerRecord> Ledger::read(const fs::path& path) {
  const Descriptor file = open_locked(path, O_RDONLY, LOCK_SH);
  if (file.get() < 0) return {};
  return parse_ledger(read_all(file, path), path.string());
}

void require_allowed(const Allowance& allowance, std::span<const LedgerRecord> records, const fs::path& path) {
  const DataSetBudget& limit = allowance.limit;
  const Spending on_file = spending_of(records, allowance.adjacency);
  const Spending total = composed(on_file, allowance.planned);
  const auto refuse_budget = [&](const std::string& on_file_cost, double planned, double sum, const std::string& most) {
    throw BudgetRefused(path.string() + ": the runs on file have " + on_file_cost + ", with this one's " +
                        print_number(planned) + " it would be " + print_number(sum) +
                        ", above the data set's budget of " + most + "; ask for less, or stop here");
  };
  if (total.is_gaussian()) {
    const double limit_mu = gdp_mu(limit.epsilon, limit.delta);
    if (total.mu <= limit_mu) return;
    refuse_budget("mu " + print_number(on_file.mu), allowance.planned.mu, total.mu, "mu " + print_number(limit_mu));
  }
  const double epsilon = epsilon_of(total, limit.delta);
  if (epsilon <= limit.epsilon) return;
  refuse_budget("epsilon " + print_number(epsilon_of(on_file, limit.delta)), epsilon_of(allowance.planned, limit.delta),
                epsilon, "epsilon " + print_number(limit.epsilon) + " at delta " + print_number(limit.delta));
}

double composed_mu(std::span<const LedgerRecord> records) {
  return spending_of(records, Adjacency::kAddRemove).mu;
}

double composed_rho(std::span<const LedgerRecord> records) {
  return rho_of(spending_of(records, Adjacency::kAddRemove));
}

}  // namespace dpreduce
