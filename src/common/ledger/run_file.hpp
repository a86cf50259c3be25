// Releases that a run has made so far, on disk: "<ledger>.<run id>.releases", its owner's alone (0600), only appended
// to.
//
//     dpreduce releases 1
//     config <digest>     of the public configuration
//     run <run id>        as the ledger names it; one more for each run that has gone on with this file
//     release {"run":...,"label":...,"config":...,"line":...,"blocks":[[NAME,LENGTH],...],"sha256":...}
//     the blocks' integers, 8 bytes each
//
// Methods are functions of their releases, and nothing else leads from rows to a method. So a new run that takes these
// values as public inputs reaches the state of the dead run, on any number of ranks, and charges only its own releases.
// The file holds no secret: a record is written after its charge, and no value is read before its record is written.
// "line" is the SHA-256 of the charge's line, by which a file that was moved to another ledger is refused; it is empty
// for a decision that followed from the release before it. Records say no times.
//
// A living run holds its file under a lock (flock); that of a killed one is free. A record without its end, as a kill
// leaves it, counts as not there. The file is removed when the result of the run is on disk and the run has ended.
//
// A user who can write into the folder can forge releases. That harms the model, never privacy: everything computed
// from rows is still noised and charged.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/file_descriptor.hpp"
#include "common/ledger/ledger_state.hpp"

namespace dpreduce {

/// Public integers by name.
using NamedIntegers = std::vector<std::pair<std::string, std::vector<std::int64_t>>>;
/// Views of public integers by name, which somebody else holds.
using NamedViews = std::vector<std::pair<std::string, std::span<const std::int64_t>>>;

/// Choice to keep a run's releases, so that it can be resumed, or not.
enum class SavesReleases { kNo, kYes };

/// On the coordinator. Movable; all errors about the file are BadInput and name it.
class RunFile {
 public:
  /// A run with a new id and no file: its releases are not kept.
  RunFile();

  /// Makes a new one beside that ledger, on the disk and locked, of a run with a new id. Without releases to save it
  /// only shows that the run is alive. Precondition: config is hexadecimal. Throws EntropyFailure; where it cannot be
  /// made.
  static RunFile make(const std::filesystem::path& ledger, const std::string& config, SavesReleases saves);

  /// The newest file beside that ledger of a dead run with this configuration, which has lines on the ledger and has
  /// neither finished nor been given up; locked, for a run with a new id. Nullopt if there is none. If all that fit are
  /// locked, waits some seconds for one. Throws where they stay locked, or end meanwhile; where a file beside the
  /// ledger is not private or is damaged.
  static std::optional<RunFile> take_over(const std::filesystem::path& ledger, const std::string& config,
                                          const LedgerState& state);

  /// The file beside that ledger that contains that run, locked; nullopt if there is none. Throws where a living run
  /// has it; as take_over.
  static std::optional<RunFile> of_run(const std::filesystem::path& ledger, const std::string& run_id);

  /// Removes the files beside that ledger whose runs have finished, were given up or have neither a line nor records.
  /// Files of living runs, and files that cannot be used, stay as they are.
  static void remove_ended(const std::filesystem::path& ledger, const LedgerState& state);

  /// A dead run that can be resumed.
  struct DeadRun {
    std::string run_id;
    std::string config;
    std::size_t releases;  ///< that are saved
  };
  /// All dead runs beside that ledger, the newest first. Files that cannot be used are left out.
  static std::vector<DeadRun> dead_runs(const std::filesystem::path& ledger, const LedgerState& state);

  /// Returns whether the file was made, not taken over.
  bool is_new() const { return is_new_; }
  bool saves() const { return saves_ == SavesReleases::kYes; }

  /// The runs that have gone on with it, oldest first; the last one is this process's own.
  const std::vector<std::string>& run_ids() const { return content_.run_ids; }
  bool has_run(const std::string& run_id) const;
  const std::string& run_id() const { return content_.run_ids.back(); }

  /// Puts the id of a run that has taken the file over into it: before its first line on the ledger.
  void announce_run();
  /// The newest run that the file on the disk names.
  const std::string& announced_run_id() const { return *(content_.run_ids.end() - (is_announced_ ? 1 : 2)); }

  /// Header of a record.
  struct Record {
    std::string run_id;       ///< that charged it
    std::string label;        ///< of the round or the selection; of a decision its name
    std::string line_sha256;  ///< of its charge; empty: a decision
    std::vector<std::pair<std::string, std::uint64_t>> blocks{};
    std::uint64_t first_byte = 0;  // of its integers

    std::string release_id() const { return run_id + "/" + label; }
  };
  const std::vector<Record>& records() const { return content_.records; }
  /// The integers of that record, read from the disk.
  NamedIntegers values_of(const Record& record) const;

  /// Makes room on the disk for a record of so many integers, so that a full disk is met before its charge. Does
  /// nothing where releases are not saved.
  void make_room(std::uint64_t integers) const;
  /// Adds a record of this run, flushed; undone where it fails. Does nothing where releases are not saved.
  void save(const std::string& label, const std::string& line_sha256, const NamedViews& blocks);

  /// Removes the file; nothing where there is none.
  void remove();

 private:
  struct Content {
    std::string config{};
    std::vector<std::string> run_ids{};
    std::vector<Record> records{};
    std::uint64_t whole = 0;  // bytes, without a torn end
  };

  explicit RunFile(Content content) : content_(std::move(content)) {}
  static Content read(int file, const std::filesystem::path& path);
  static std::optional<RunFile> open(const std::filesystem::path& path);
  static std::optional<RunFile> find(const std::filesystem::path& ledger,
                                     const std::function<bool(const RunFile&)>& fits, std::chrono::seconds longest);
  bool try_lock();
  void append(const std::string& line, const NamedViews& blocks);

  Content content_;
  bool is_new_ = false;
  bool is_announced_ = true;
  SavesReleases saves_ = SavesReleases::kNo;
  std::filesystem::path path_{};            // empty: there is no file
  std::unique_ptr<FileDescriptor> file_{};  // holds the lock
};

/// A run's id: 128 random bits in hexadecimal digits.
inline constexpr std::size_t kRunIdDigits = 32;

/// Files "<ledger>.<run id><suffix>", the newest first.
std::vector<std::filesystem::path> files_of_runs(const std::filesystem::path& ledger, std::string_view suffix);

}  // namespace dpreduce
