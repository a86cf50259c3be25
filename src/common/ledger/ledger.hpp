// The ledger file: all spending, written before it happens, and what runs may still spend.
//
// A release is charged on intent and never refunded: the line is on the disk before any noisy byte leaves, and a crash
// in between costs budget, not privacy. A run reserves all that it may charge before its first charge, so that
// concurrent runs do not race for one budget; the rest of the reservation is released when it ends.
//
// Form of lines, and their signatures: ledger_line.hpp.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "common/ledger/ledger_record.hpp"
#include "common/ledger/ledger_state.hpp"
#include "common/ledger/spending.hpp"
#include "common/randomness/signing_key.hpp"

namespace dpreduce {

/// Every call that writes is one step under an exclusive lock (flock; processes take turns): the file is verified, its
/// lines written with one write(), and the file synced, and its folder where the file was empty. It returns once the
/// lines are durable. A short or failed write is undone: the file has its former length again. Times are UTC.
///
/// Cost: the file is read, and every line that this object has not read before verified (Ed25519). An object keeps the
/// text that it has verified, and compares it byte for byte.
///
/// All throw LedgerCorrupt naming the line, or the signing key where the file is signed with another one, or where
/// lines are gone that this object has read before; BadInput with path and reason if the file cannot be opened, locked,
/// read, written or synced, or is not a regular file; those that write also where the ledger has signed lines and its
/// signing key is absent or not private (ledger_line.hpp). A process that can meet a file-size limit must ignore
/// SIGXFSZ, or the kernel ends it here (harmlessly).
class Ledger {
 public:
  /// Touches nothing. A missing or empty file is an empty ledger.
  explicit Ledger(std::filesystem::path path) : path_(std::move(path)) {}

  /// Reserves what a new run may charge. Where reservation.instead_of has an open reservation, that ends in the same
  /// step ("stopped"), and neither counts for the budget; where it has none, it is left out of the line. Precondition:
  /// fault_of(reservation) is empty. Throws UsageError naming the field; ResumeMismatch where the run is on file;
  /// BudgetRefused where there is no room (require_room) or where the run that it replaces was released; nothing is
  /// written then.
  void reserve(Reservation reservation, const std::optional<DataSetBudget>& limit = std::nullopt);

  /// Throws if `reserve` would throw now; writes nothing. Another process may still use the budget before `reserve` is
  /// called.
  void check(const Reservation& reservation, const std::optional<DataSetBudget>& limit = std::nullopt);

  /// Charges one release, and returns the SHA-256 of its line. Preconditions: fault_of(entry) is empty; the line is at
  /// most kLongestLedgerLine bytes long. Throws UsageError naming the field, or what the run's reservation does not
  /// cover; BudgetRefused where the run has no open reservation (any more); ResumeMismatch where the release id is on
  /// file: nothing is charged once for two releases.
  std::string append(const LedgerEntry& entry);

  /// Ends the run's reservation; what it did not charge is given back. Returns whether there was an open one; otherwise
  /// nothing is written. A run that was stopped can be released all the same; it can then not be resumed.
  bool end(const std::string& run_id, RunOutcome outcome);

  /// State of the ledger now, read under a shared lock; valid until the next call.
  const LedgerState& current();

  /// State of a ledger file that is not written to.
  static LedgerState read(const std::filesystem::path& path);

 private:
  // Key that signs the next lines of `state_`'s ledger; a new one where there is no line yet. It is read once: reading
  // takes longer than all else that a line takes.
  const SigningKey& key();
  void verify_text(const std::string& text, LedgerState::Signatures signatures);
  template <typename Step>
  void extend(Step lines_of);

  std::filesystem::path path_;
  LedgerState state_;  // of the text that the last call read: lines that are the same bytes are not verified again
  std::optional<SigningKey> key_;
  LedgerHead last_head_;
};

}  // namespace dpreduce
