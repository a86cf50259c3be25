// What a run has released so far, on disk: its checkpoint.
//
//     DIR/checkpoint.json               the run's name, and what it is bound to
//     DIR/releases-000001.safetensors   release 1 as it became public; each file is whole or absent
//     DIR/releases-000002.safetensors   release 2, ...
//
// Each release has a file of its own, whenever it is written: files of those that became public within some seconds
// would tell how long rounds took, and so how many rows one person has. (Builds that wrote such files are read.)
//
// Methods are functions of their releases, and nothing else leads from rows to a method. So a run that goes on takes
// these releases from here, in the order in which it asks for them, and arrives where it was, bit for bit, on any
// number of ranks. Releases are noised and charged before they come here: the folder holds nothing that is not public
// but for a seeded run, of which nothing is private. Of a release in parts it holds what follows from each part
// (class_solutions.hpp). Of public rows it holds a digest of their sums, to tell whether
// they changed.
//
// Every file carries its own SHA-256, against accidents. Whoever may write into the folder can forge releases. That
// harms the model, never privacy: whatever is computed from rows is noised and charged as always.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/base/file_descriptor.hpp"
#include "common/files/atomic_file.hpp"
#include "common/plan/noise_plan.hpp"
#include "common/plan/released_block.hpp"

namespace dpreduce {

/// Whether a run begins, or goes on with what is on disk.
enum class LogStart { kNewRun, kResume };

/// A folder that this process alone uses, until it is destroyed or the process ends.
class LockedFolder {
 public:
  /// Made where there is none, and removed in the end where nothing came into it: a folder that a run leaves which a
  /// row has ended tells of that row. Waits some seconds for another process: ranks of a killed run may live that long.
  /// Throws BadInput with path and reason.
  explicit LockedFolder(const std::filesystem::path& path);

 private:
  bool try_lock(const std::filesystem::path& path);

  std::optional<FileDescriptor> folder_;
  MadeFiles made_;  // removes while the lock is held
};

/// Public integers by name.
using NamedIntegers = std::vector<std::pair<std::string, std::vector<std::int64_t>>>;

/// On the coordinator. Life cycle: the log is made, then bound. Then come the releases in order: those that it holds
/// are taken (next), new ones are recorded. At the end it is flushed.
class ReleaseLog {
 public:
  /// kNewRun: writes nothing yet. Throws ResumeMismatch where the folder holds the releases of a run.
  /// kResume: everything in the folder is verified; where there is nothing, the run begins. Throws BadInput where a
  /// file is damaged, naming it; ResumeMismatch where another version of the format is in it. Both throw as
  /// LockedFolder.
  ReleaseLog(const std::filesystem::path& folder, LogStart start, double seconds_between_writes);

  /// What names the run in the ledger; empty before bind in a new run.
  const std::string& run_id() const { return run_id_; }

  /// Labels of what is on disk, in order: those of releases as label_of_round spells them. A release in parts has one
  /// label for all of its entries.
  std::vector<std::string> release_labels() const;

  /// How many entries were on disk at the start, public sums included.
  std::uint64_t recorded() const { return labels_.size(); }

  /// Returns where the run on disk, if there is one, has this binding: a flat object of public values.
  /// Throws ResumeMismatch naming the first entry that differs, and both values.
  void require_binding(const nlohmann::json& binding) const;

  /// Binds a log without releases to its run, on disk; a log with releases is bound already. Precondition:
  /// require_binding has returned.
  void bind(const std::string& run_id, const nlohmann::json& binding);

  /// The next release on disk. Precondition: recorded() entries have not all been taken.  Throws BadInput where it is
  /// not a round of `planned`.
  Release next(const PlannedRelease& planned);

  /// Adds a release; on disk when it returns, or once the time between writes has passed. Throws BadInput where it
  /// cannot be written.
  void record(const PlannedRelease& planned, const Release& release);

  /// The next entry on disk, of a release that is made in parts. Precondition: as next.  Throws BadInput where it is of
  /// another release.
  NamedIntegers next_part(const PlannedRelease& planned);

  /// Adds what has become public of a release in parts; otherwise as record.
  void record_part(const PlannedRelease& planned, NamedIntegers numbers);

  /// Throws BadInput about the entry that was taken last: `what` is wrong with it.
  [[noreturn]] void refuse_part(const std::string& what) const;

  /// Records an exact sum of public rows, as record does. Where one is on disk they must be equal: throws
  /// ResumeMismatch if not.
  void public_sum(std::string_view name, const Release& sum);

  /// Writes what is not on disk yet.
  void flush();

 private:
  struct Entry {
    std::string label;
    NamedIntegers blocks;
  };
  using Clock = std::chrono::steady_clock;

  enum class Compared { kPlainValues, kLists };  // options first: they explain the lists

  void refuse_difference(const nlohmann::json& binding, Compared compared) const;
  std::filesystem::path file_of(std::uint64_t first) const;
  std::vector<Entry> read_file(std::uint64_t first) const;
  void read_manifest();
  void verify_files();
  Entry take(const std::string& label);
  void add(Entry entry);
  void write(const Entry& entry);
  std::string next_label(const PlannedRelease& planned);

  std::filesystem::path folder_;
  LockedFolder lock_;
  Clock::duration between_writes_;
  Clock::time_point written_;
  std::string run_id_;
  nlohmann::json manifest_;          // null in a new run
  std::vector<std::string> labels_;  // of what was on disk at the start, in order
  std::uint64_t taken_ = 0;          // of these
  std::vector<Entry> loaded_;        // the file that the next of these lies in
  std::uint64_t loaded_first_ = 0;   // number of its first entry
  std::uint64_t on_disk_ = 0;        // entries by now
  std::deque<Entry> pending_;        // those that follow
  std::map<std::string, std::uint64_t, std::less<>> rounds_;
};

}  // namespace dpreduce
