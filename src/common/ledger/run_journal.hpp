// A run can repeat what it has paid for from its journal, "<ledger>.<run id>.journal", its owner's alone (0600).
//
//     dpreduce journal 2
//     binding <digest>               of all that decides what the run releases; public
//     secret private|seeded <digits>  256 bits: all noise of the run follows from them
//     run <run id>                   as the ledger names it; once more where the run had to begin anew
//     rows <digest>                  of all rows, keyed with the secret: to tell whether they are the same
//     charge <fingerprint> <label>   of the run named last, keyed with the secret; its ledger line comes after it
//
// Whoever has the journal and a release can take the noise off: it is as private as the data. It lives as long as its
// run may have to be repeated, and no longer: when the run's result is on disk it is overwritten and removed, and then
// nobody can compute the noise of what was published, with all files of the machine. (A file system that keeps old
// blocks, a copy or a backup keeps the secret: nothing that is written can be called back for certain.)
//
// A living run holds its journal under a lock (flock); that of a killed one is free. A record is on the disk when the
// call that adds it returns. A record without its end, as a kill leaves it, counts as not there.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/file_descriptor.hpp"
#include "common/ledger/ledger_state.hpp"
#include "common/randomness/noise_key.hpp"

namespace dpreduce {

/// Whose journal is asked for.
enum class LockedJournal {
  kWait,   ///< some seconds for a process that has it: ranks of a killed run may live that long
  kRefuse  ///< at once
};

/// Which journals --resume may take over.
enum class ResumableJournal {
  kAny,       ///< those of runs that have charged something, too
  kUncharged  ///< of runs that were killed before their first charge
};

/// On the coordinator. Movable; all errors about the file are BadInput and name it.
class RunJournal {
 public:
  /// In memory alone: for a run that is never resumed.
  RunJournal(NoiseKey secret);

  /// The journal of a run that has ended and whose journal is destroyed: it can charge nothing more.
  static RunJournal of_ended(std::string run_id);

  /// A new one beside that ledger, on the disk and locked, of a run with a new id. Precondition: binding is
  /// hexadecimal. Throws EntropyFailure; where it cannot be made.
  static RunJournal make(const std::filesystem::path& ledger, const std::string& binding, NoiseKey secret);

  /// The newest journal beside that ledger with this binding that no living run has, locked; nothing where there is
  /// none. Where all that fit are locked, waits some seconds for one. Throws where they stay locked; where a journal
  /// beside the ledger is not private or is damaged.
  static std::optional<RunJournal> take_over(const std::filesystem::path& ledger, const std::string& binding,
                                             ResumableJournal which = ResumableJournal::kAny);

  /// The journal beside that ledger in which that run is, locked; nothing where there is none. Throws where a living
  /// run has it; as take_over.
  static std::optional<RunJournal> of_run(const std::filesystem::path& ledger, const std::string& run_id,
                                          LockedJournal locked = LockedJournal::kWait);

  /// Destroys the journals beside that ledger whose runs have all finished or were released, those of runs that were
  /// killed between their last line and the end of their journal, and of runs that were killed before their first line:
  /// neither is needed any more. Journals of living runs, and such as cannot be used,
  /// stay as they are.
  static void destroy_ended(const std::filesystem::path& ledger, const LedgerState& state);

  const NoiseKey& secret() const { return *content_.secret; }
  bool has_ended() const { return has_ended_; }
  /// Whether it was made, not taken over.
  bool is_new() const { return is_new_; }
  /// Whether any of its runs has charged something, or was about to.
  bool has_charged() const { return !content_.charges.empty(); }
  /// Whether a killed run could be resumed by it.
  bool is_on_disk() const { return !path_.empty(); }

  /// The ids under which the run has charged, oldest first; never empty. The last one is that of what it charges next.
  const std::vector<std::string>& run_ids() const { return content_.run_ids; }
  bool has_run(const std::string& run_id) const { return has_run(content_, run_id); }
  const std::string& run_id() const { return content_.run_ids.back(); }

  /// From here on charges are of a run with another id.
  void begin_run();

  /// Adds the fingerprint of what the run named last charges under `label`. Precondition: it has no other fingerprint
  /// for that label.
  void add_charge(const std::string& label, const std::string& fingerprint);
  /// The fingerprint of what that run charged, or was about to charge, under that label; nullptr where it has none.
  const std::string* fingerprint_of(const std::string& run_id, const std::string& label) const;

  void add_rows(const std::string& digest);
  const std::optional<std::string>& rows() const { return content_.rows; }

  /// Overwrites and removes the file; nothing where there is none.
  void destroy();

 private:
  struct Content {
    std::optional<NoiseKey> secret;
    std::string binding{};
    std::vector<std::string> run_ids{};
    std::map<std::pair<std::string, std::string>, std::string> charges{};  // (run id, label) -> fingerprint
    std::optional<std::string> rows{};
  };
  using Fits = std::function<bool(const Content&)>;

  explicit RunJournal(Content content) : content_(std::move(content)) {}
  static bool has_run(const Content& content, const std::string& run_id);
  static bool parse_record(Content& content, std::string_view record);
  static bool parse_binding(Content& content, std::string_view rest);
  static bool parse_secret(Content& content, std::string_view rest);
  static bool parse_run(Content& content, std::string_view rest);
  static bool parse_rows(Content& content, std::string_view rest);
  static bool parse_charge(Content& content, std::string_view rest);
  static std::size_t parse(Content& content, std::string_view text);
  static std::optional<RunJournal> open(const std::filesystem::path& path);
  static std::optional<RunJournal> find(const std::filesystem::path& ledger, const Fits& fits, LockedJournal locked);
  bool try_lock();
  void append(const std::string& record);

  Content content_;
  bool has_ended_ = false;
  bool is_new_ = false;
  std::filesystem::path path_{};            // empty: in memory alone
  std::unique_ptr<FileDescriptor> file_{};  // holds the lock
};

}  // namespace dpreduce
