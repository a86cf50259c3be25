// Output files of a run: files that appear whole, files that grow line by line, and private folders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "common/base/file_descriptor.hpp"

namespace dpreduce {

// A file that appears whole or not at all.

/// Treatment of a file that has the target's name already. Devices and pipes are written in any case.
enum class Existing {
  kKeep,    ///< it is an error
  kReplace  ///< the new file takes its place, at once and whole
};

/// Users who may read a file that is created.
enum class Readers {
  kAsUsual,   ///< as the process's umask, or the file in its place, has it
  kOwnerOnly  ///< 0600, whatever was there
};

/// Returns whether a regular file of this name exists; links are followed.
bool is_file(const std::string& path);

/// Throws BadInput for a file that exists and is to be kept.
[[noreturn]] void refuse_existing(const std::string& path);

/// A new file that gets its name when it is whole: without one until then, in the folder of its target (O_TMPFILE);
/// where the file system has none, or there is no /proc to name it by, a file beside it, ".<name>....tmp". A link of
/// the target's name is not followed. Destruction removes every name but the target's, and so does remove_unfinished().
class NewFile {
 public:
  /// Makes it with these permissions, less the umask. Where it cannot be made, number() is below 0, and errno the
  /// reason.
  NewFile(std::string target, unsigned mode);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  int number() const { return file_.get(); }
  const std::string& target() const { return target_; }
  bool is_beside() const { return !beside_.empty(); }

  /// Gives it the target's name, and never replaces a file. Returns whether it has the name; if not, errno is the
  /// reason: EEXIST where there is such a file.
  bool take_name();
  /// Puts it in the place of the file of that name, if there is one, at once and whole. Returns whether it could, as
  /// take_name.
  bool replace();

 private:
  void begin_beside();
  void drop_beside();

  std::string target_;
  std::string beside_{};  // to be removed; empty where the file has no name
  FileDescriptor file_{-1};
};

/// While open, bytes go to a NewFile. commit() flushes them to disk and renames them onto the target, which other
/// processes see either unchanged or whole. Destruction without commit(), and a killed process, leave the target
/// unchanged and, with O_TMPFILE, no trace. (Replacing an existing target needs a name for the moment between link and
/// rename.)
///
/// The name is claimed until the file exists: other processes that would write the same file are refused before they do
/// any work. Processes that do not share the machine's network (other machines, containers with their own network) do
/// not see each other's claims.
///
/// A symbolic link is followed: what it points to is replaced, with its permissions kept. A device or pipe, such as
/// /dev/stdout, is written directly.
class AtomicFile {
 public:
  /// Throws BadInput with the path and the system's reason where the path is empty or a directory, its directory is
  /// missing or not writable, or the file exists and is to be kept: known before any work is done. (commit() throws
  /// where it has come to be there since.) UsageError where another process is writing it.
  explicit AtomicFile(const std::string& path, Existing existing = Existing::kKeep,
                      Readers readers = Readers::kAsUsual);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// The path as given to the constructor.
  const std::string& path() const { return path_; }

  /// Reserves `bytes` of disk space now, if the file system can, so that a full disk is found before the work. Throws
  /// BadInput if there is not enough space.
  void reserve(std::uint64_t bytes);

  /// Appends. Throws BadInput (disk full, quota, ...).
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);

  /// Makes the file appear, durably: fsync, rename, fsync of the directory. Once only; nothing may be written after
  /// (both asserted). Throws BadInput; the target is then as it was.
  void commit();
  /// Appends these bytes or this text, and commits: for a file that is written at once.
  template <typename Content>
  void commit(const Content& content) {
    write(content);
    commit();
  }

  /// Removes the names that unfinished files of this process have at this moment. For a signal handler that ends the
  /// process: async-signal-safe.
  static void remove_unfinished() noexcept;
  /// Declares the path an unfinished file, or a folder that is empty by then: it is of use only while this process
  /// lives.
  static void remove_when_ended(const std::string& path);

 private:
  [[noreturn]] void fail(const std::string& what) const;
  int number() const { return file_ ? file_->number() : device_.get(); }
  void rename_onto_target();

  std::string path_;  // as given
  Existing existing_;
  FileDescriptor claim_{-1};     // longer than a name beside the target
  std::optional<NewFile> file_;  // of path_ without symbolic links at its end
  FileDescriptor device_{-1};    // written directly, instead
  std::uint64_t written_ = 0;
  bool committed_ = false;
};

/// Files and folders that a call makes all of, or none.
class MadeFiles {
 public:
  MadeFiles() = default;
  MadeFiles(const MadeFiles&) = delete;
  MadeFiles& operator=(const MadeFiles&) = delete;
  /// Removes the files that were added, and then the folders that were made and are empty, unless keep() was called.
  ~MadeFiles();

  /// Makes the folder, and those above it, where they are not there. Throws BadInput naming it where one cannot be
  /// made.
  void make_folder(const std::filesystem::path& folder);
  /// A file that is written now.
  void add(std::string file) { files_.push_back(std::move(file)); }
  void keep() { keeps_ = true; }

 private:
  std::vector<std::string> files_;
  std::vector<std::filesystem::path> folders_;  // a folder stands behind those above it
  bool keeps_ = false;
};

// A file that grows line by line, for readers who follow it.

/// Each line is complete in the file when write() returns. An existing file is replaced at the first line, not sooner:
/// a refused run leaves it unchanged.
class LineFile {
 public:
  /// Throws BadInput where the path is empty or a directory, the file cannot be written, or exists and is to be kept;
  /// UsageError where another process is writing it.
  LineFile(const std::string& path, Existing existing);
  /// Removes a file that it has made and never written to.
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  /// `line` without its end. Throws BadInput (disk full, quota, ...).
  void write(std::string_view line);

 private:
  int opened(Existing existing);

  std::string path_;
  bool is_new_ = false;
  FileDescriptor claim_{-1};
  FileDescriptor file_;
  bool is_written_ = false;
};

// A private folder of this process, in memory if the system has such a place, removed with the object.

class PrivateFolder {
 public:
  /// Makes a new folder (mode 0700) in /dev/shm, or else in the system's folder for temporary files. Throws BadInput
  /// with the path and the reason. AtomicFile::remove_unfinished removes it, too. (A process that is killed leaves it
  /// behind.)
  PrivateFolder();
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// Tables as CSV files (RFC 4180, but lines end with \n), appearing whole or not at all.

class CsvWriter {
 public:
  /// The first line names the columns. Throws BadInput as AtomicFile does.
  CsvWriter(const std::string& path, std::span<const std::string> columns, Existing existing = Existing::kKeep);

  /// The next field of a row, and behind its last one the end of the line. A text with a comma, a quote or the end of a
  /// line is quoted; a float has the digits that bring it back. Throws BadInput.
  void add(std::string_view text);
  template <typename Number>
  requires std::is_arithmetic_v<Number>
  void add(Number number) { add(fmt::format("{}", number)); }

  /// Makes the file appear. Precondition (asserted): rows are whole. Throws BadInput.
  void commit();

 private:
  void flush();

  AtomicFile file_;
  std::size_t columns_;
  std::size_t fields_ = 0;  // of the row
  std::string buffer_;
};

/// Returns whether the name ends with .csv. Otherwise the table is an .npy file.
bool is_csv(const std::string& path);

/// Throws UsageError where the name ends with a suffix other than .npy and .csv. Without one (a device, a pipe) it is
/// .npy.
void require_table_path(const std::string& option, const std::string& path);

}  // namespace dpreduce
