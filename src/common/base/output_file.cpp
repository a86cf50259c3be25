#include "common/base/output_file.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <system_error>

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kShownOfName = 32;  // the rest of a long name is in its hash

std::string folder_of(const std::string& target) {
  const std::string folder = std::filesystem::path(target).parent_path().string();
  return folder.empty() ? "." : folder;
}

// Follows symbolic links at the end of the path, also to where nothing is yet.
std::string without_links(const std::string& path) {
  std::filesystem::path target(path);
  std::error_code error;
  for (int hops = 0; std::filesystem::is_symlink(target, error); ++hops) {
    if (hops == 40) throw BadInput("{}: {}", path, std::strerror(ELOOP));
    target = target.parent_path() / std::filesystem::read_symlink(target, error);
    if (error) throw BadInput("{}: {}", path, error.message());
  }
  return target.string();
}

// Removes a folder of files. Async-signal-safe.
void remove_folder(const char* name) noexcept {
  const FileDescriptor folder(::open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  alignas(dirent64) std::array<char, 4096> entries;
  for (ssize_t length; (length = ::getdents64(folder.get(), entries.data(), entries.size())) > 0;) {
    for (ssize_t at = 0; at < length;) {
      const auto* const entry = reinterpret_cast<const dirent64*>(entries.data() + at);
      ::unlinkat(folder.get(), entry->d_name, 0);
      at += entry->d_reclen;
    }
  }
  ::rmdir(name);
}

// Names that a signal handler may have to remove: slots of fixed memory, each taken before its name is complete. A name
// that is too long, or finds no slot, is removed by the destructor only.
class UnfinishedNames {
 public:
  void add(const std::string& name, bool is_folder = false) {
    for (Slot& slot : slots_) {
      if (name.size() >= slot.name.size() || slot.taken.exchange(true)) continue;
      std::copy(name.begin(), name.end(), slot.name.begin());
      slot.name[name.size()] = '\0';
      slot.is_folder = is_folder;
      slot.complete = true;
      return;
    }
  }

  void remove(const std::string& name) {
    for (Slot& slot : slots_) {
      if (!slot.complete || name != slot.name.data()) continue;
      slot.complete = false;
      slot.taken = false;
    }
  }

  void unlink_all() noexcept {
    for (Slot& slot : slots_) {
      if (!slot.complete) continue;
      if (slot.is_folder) {
        remove_folder(slot.name.data());
      } else {
        ::unlink(slot.name.data());
      }
    }
  }

 private:
  struct Slot {
    std::atomic<bool> taken = false;
    std::atomic<bool> complete = false;
    bool is_folder = false;
    std::array<char, 4096> name{};
  };
  std::array<Slot, 12> slots_;
};

UnfinishedNames unfinished_names;

std::string name_in_proc(int fd) {
  return fmt::format("/proc/self/fd/{}", fd);
}

bool link_to(const std::string& from, const std::string& to) {
  return ::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

std::string name_beside(const std::string& target) {
  const std::filesystem::path path(target);
  const std::string name = path.filename().string();
  // Not much longer than the name itself may be: file systems bound it.
  return (path.parent_path() /
          fmt::format(".{}.{:x}.{}.tmp", name.substr(0, kShownOfName), std::hash<std::string>{}(name), ::getpid()))
      .string();
}

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw BadInput("{}: {} ({})", path, what, std::generic_category().message(errno));
}

std::filesystem::path best_parent() {
  const std::filesystem::path memory = "/dev/shm";
  std::error_code error;
  if (std::filesystem::is_directory(memory, error) && access(memory.c_str(), W_OK | X_OK) == 0) return memory;
  const std::filesystem::path usual = std::filesystem::temp_directory_path(error);
  return error ? "/tmp" : usual;
}

// The exclusive right to write a file of some name, held by one living process of a machine at a time, also before the
// file exists. Of several runs with the same output, one gets the claim. The claim is the name of a socket, which the
// kernel releases when the process ends, and which leaves nothing in the folder. `target` is the file itself, in an
// existing folder; `path` may be a link to it. Throws UsageError naming `path` if it is already claimed.
FileDescriptor claim_of(const std::string& path, const std::string& target) {
  FileDescriptor none(-1);
  struct stat status {};
  if (::stat(folder_of(target).c_str(), &status) != 0) return none;
  // The same for every path to the file, whoever asks. All users of the machine can list such names: the name reveals
  // no file's.
  const std::string name = fmt::format("dpreduce {:x} {:x} {:x}", status.st_dev, status.st_ino,
                                       std::hash<std::string>{}(std::filesystem::path(target).filename().string()));
  FileDescriptor made(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (made.get() < 0) return none;  // where sockets are forbidden there are no claims
  if (with_kernel_name(::bind, made.get(), name) == 0) return made;
  if (errno != EADDRINUSE) return none;
  throw UsageError("{}: another process is writing it; give another name, or wait until it has ended", path);
}

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

std::string lower_suffix(const std::string& path) {
  std::string suffix = std::filesystem::path(path).extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return suffix;
}

}  // namespace

NewFile::NewFile(std::string target, unsigned mode) : target_(std::move(target)) {
  file_ = FileDescriptor(::open(folder_of(target_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode));
  if (file_.get() >= 0 && ::access(name_in_proc(file_.get()).c_str(), F_OK) == 0) return;
  begin_beside();
  file_ = FileDescriptor(::open(beside_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode));
}

NewFile::~NewFile() {
  drop_beside();
}

void NewFile::begin_beside() {
  beside_ = name_beside(target_);
  ::unlink(beside_.c_str());  // of a killed process that had this number
  unfinished_names.add(beside_);
}

void NewFile::drop_beside() {
  if (beside_.empty()) return;
  ::unlink(beside_.c_str());
  unfinished_names.remove(beside_);
  beside_.clear();
}

bool NewFile::take_name() {
  // Like a link, this never replaces, and does without one.
  const bool is_renamed =
      is_beside() && ::renameat2(AT_FDCWD, beside_.c_str(), AT_FDCWD, target_.c_str(), RENAME_NOREPLACE) == 0;
  if (!is_renamed) {
    if (is_beside() && errno == EEXIST) return false;
    if (!link_to(is_beside() ? beside_ : name_in_proc(file_.get()), target_)) return false;
  }
  drop_beside();
  return true;
}

bool NewFile::replace() {
  if (!is_beside()) {
    begin_beside();
    if (!link_to(name_in_proc(file_.get()), beside_)) return false;
  }
  if (::rename(beside_.c_str(), target_.c_str()) != 0) return false;
  drop_beside();
  return true;
}

bool is_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

void AtomicFile::fail(const std::string& what) const {
  const int reason = errno;
  throw BadInput("{}: {}: {}", path_, what, std::strerror(reason));
}

void refuse_existing(const std::string& path) {
  throw BadInput("{}: already exists; give another name, or --overwrite to replace it", path);
}

AtomicFile::AtomicFile(const std::string& path, Existing existing, Readers readers) : path_(path), existing_(existing) {
  if (path.empty()) throw BadInput("an output path is empty; name a file");
  require_local(path);
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (!exists && errno == ENAMETOOLONG) fail("cannot be written");
  if ((exists && S_ISDIR(status.st_mode)) || path.back() == '/') {
    throw BadInput("{}: is a directory; name a file to write", path);
  }
  if (exists && !S_ISREG(status.st_mode)) {
    device_ = FileDescriptor(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    if (device_.get() < 0) fail("cannot be written");
    return;
  }
  const std::string target = without_links(path);
  claim_ = claim_of(path, target);
  if (existing_ == Existing::kKeep && is_file(target)) refuse_existing(path_);  // perhaps by who had the claim before
  std::optional<unsigned> mode;
  if (exists) mode = status.st_mode & 07777;
  if (readers == Readers::kOwnerOnly) mode = S_IRUSR | S_IWUSR;
  file_.emplace(target, mode.value_or(0666));
  if (number() < 0) fail(fmt::format("cannot be written in directory {}", folder_of(target)));
  if (mode) ::fchmod(number(), *mode);  // the umask may have taken some of it
  if (readers != Readers::kOwnerOnly) return;
  if (const std::string fault = forced_mode(number()); !fault.empty()) throw BadInput("{}: {}", path_, fault);
}

void AtomicFile::remove_unfinished() noexcept {
  unfinished_names.unlink_all();
}

void AtomicFile::remove_when_ended(const std::string& path) {
  unfinished_names.add(path);
}

void AtomicFile::reserve(std::uint64_t bytes) {
  if (!file_ || bytes == 0) return;
  // Asked first, because a reservation that fails half-way has filled the disk for everybody else.
  struct statvfs disk {};
  if (::fstatvfs(number(), &disk) == 0 && disk.f_blocks > 0 && bytes / disk.f_frsize >= disk.f_bavail) {
    errno = ENOSPC;
    fail(fmt::format("no room for {} bytes", bytes));
  }
  if (::fallocate(number(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) == 0) return;
  if (errno == ENOSPC || errno == EFBIG || errno == EDQUOT) fail(fmt::format("no room for {} bytes", bytes));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  DPREDUCE_ASSERT(!committed_);
  const std::size_t taken = write_all(number(), bytes);
  written_ += taken;
  if (taken < bytes.size()) fail(fmt::format("cannot be written after {} bytes", written_));
}

void AtomicFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text.data(), text.size())));
}

void AtomicFile::commit() {
  DPREDUCE_ASSERT(!committed_);
  if (!file_) {
    if (!device_.close()) fail("cannot be written");
    committed_ = true;
    return;
  }
  if (::fsync(number()) != 0) fail("cannot be flushed to disk");
  rename_onto_target();
  committed_ = true;
  claim_ = FileDescriptor(-1);
  // The rename itself is durable once its directory is; a file system that cannot do this has done what it can.
  if (!sync_folder_of(file_->target()) && errno == EIO) {
    fail("is written, but may be lost: its directory cannot be flushed");
  }
}

void AtomicFile::rename_onto_target() {
  if (file_->take_name()) return;
  const int reason = errno;
  const bool may_rename = existing_ == Existing::kReplace || is_for_want_of(reason, FileFeature::kLinks);
  if (reason != EEXIST && !(file_->is_beside() && may_rename)) {
    throw BadInput("{}: cannot be given its name: {}", path_, reason_of(reason, FileFeature::kLinks));
  }
  // A file system may have neither links nor a rename that never replaces; then the name is looked at.
  if (existing_ == Existing::kKeep && (reason == EEXIST || is_file(file_->target()))) refuse_existing(path_);
  if (!file_->replace()) fail("cannot be replaced");
}

MadeFiles::~MadeFiles() {
  if (keeps_) return;
  std::error_code error;
  for (const std::string& file : files_) std::filesystem::remove(file, error);
  for (auto folder = folders_.rbegin(); folder != folders_.rend(); ++folder) std::filesystem::remove(*folder, error);
}

void MadeFiles::make_folder(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> missing;
  std::error_code error;
  for (auto path = folder; !path.empty() && !std::filesystem::is_directory(path, error); path = path.parent_path()) {
    missing.push_back(path);
  }
  for (auto path = missing.rbegin(); path != missing.rend(); ++path) {
    error.clear();
    if (std::filesystem::create_directory(*path, error)) folders_.push_back(*path);
    if (error == std::errc::file_exists) error = make_error_code(std::errc::not_a_directory);
    if (error) throw BadInput("{}: cannot be made: {}", folder.string(), error.message());
  }
}

int LineFile::opened(Existing existing) {
  if (path_.empty()) throw BadInput("an output path is empty; name a file");
  require_local(path_);
  std::error_code error;
  if (is_file(path_) || !std::filesystem::exists(path_, error)) {
    claim_ = claim_of(path_, std::filesystem::weakly_canonical(path_, error));
  }
  const int made = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
  is_new_ = made >= 0;
  if (is_new_) return made;
  if (errno != EEXIST) fail(path_, "cannot be written");
  if (existing == Existing::kKeep && is_file(path_)) refuse_existing(path_);
  const int file = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) fail(path_, "cannot be written");
  return file;
}

LineFile::LineFile(const std::string& path, Existing existing) : path_(path), file_(opened(existing)) {}

LineFile::~LineFile() {
  if (is_new_ && !is_written_) ::unlink(path_.c_str());
}

void LineFile::write(std::string_view line) {
  struct stat status {};
  if (!is_written_ && ::fstat(file_.get(), &status) == 0 && S_ISREG(status.st_mode) &&
      ::ftruncate(file_.get(), 0) != 0) {
    fail(path_, "cannot be written");
  }
  is_written_ = true;
  const std::string bytes = std::string(line) + "\n";
  if (write_all(file_.get(), std::as_bytes(std::span(bytes))) < bytes.size()) fail(path_, "a line cannot be written");
}

PrivateFolder::PrivateFolder() {
  std::string name = best_parent() / "dpreduce.XXXXXX";
  if (mkdtemp(name.data()) == nullptr) {
    throw BadInput(name + ": cannot make a private folder: " + std::generic_category().message(errno));
  }
  path_ = name;
  unfinished_names.add(name, true);
}

PrivateFolder::~PrivateFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
  unfinished_names.remove(path_.string());
}

CsvWriter::CsvWriter(const std::string& path, std::span<const std::string> columns, Existing existing)
    : file_(path, existing), columns_(columns.size()) {
  DPREDUCE_ASSERT(columns_ > 0);
  for (const std::string& column : columns) add(std::string_view(column));
}

void CsvWriter::add(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    buffer_ += text;
  } else {
    buffer_ += '"';
    for (const char character : text) {
      if (character == '"') buffer_ += '"';
      buffer_ += character;
    }
    buffer_ += '"';
  }
  fields_ = (fields_ + 1) % columns_;
  buffer_ += fields_ == 0 ? '\n' : ',';
  if (buffer_.size() >= kBufferBytes) flush();
}

void CsvWriter::flush() {
  file_.write(buffer_);
  buffer_.clear();
}

void CsvWriter::commit() {
  DPREDUCE_ASSERT(fields_ == 0);
  flush();
  file_.commit();
}

bool is_csv(const std::string& path) {
  return lower_suffix(path) == ".csv";
}

void require_table_path(const std::string& option, const std::string& path) {
  const std::string suffix = lower_suffix(path);
  if (suffix.empty() || suffix == ".npy" || suffix == ".csv") return;
  throw UsageError("{} {}: tables are written as .npy or .csv; end the name with one of these", option, path);
}

}  // namespace dpreduce
