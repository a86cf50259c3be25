// State of a ledger by its lines: the charges, and what open runs may still charge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/ledger/ledger_record.hpp"

namespace dpreduce {

struct LedgerCharge {
  LedgerEntry entry;
  std::string utc_time;
  std::size_t line = 0;  ///< its place in LedgerState::line_sha256
};

/// A run with a reservation that has not ended.
struct OpenRun {
  std::string since;    ///< when it reserved first; 2026-01-31T23:59:59Z
  Reservation remains;  ///< what it may still charge
};

/// Key, number of lines and last digest of a ledger. Ledgers with the same head have the same lines, all of them.
struct LedgerHead {
  std::string public_key;  ///< 64 hex digits; empty where there is no line
  std::uint64_t lines = 0;
  std::string last_line_sha256;  ///< 64 hex digits; zeros where there is no line

  bool operator==(const LedgerHead&) const = default;
};

/// "9 lines, the last of SHA-256 0123456789abcdef...", for who keeps it elsewhere: an older copy of the ledger shows by
/// it.
std::string text_of(const LedgerHead& head);

/// Made from a text, line by line. Every line is verified: its form, its place in the chain, its signature, and that it
/// can follow what is there. Finds every edit, of the last line too, every insertion, removal or exchange of lines but
/// for whole lines cut off at the end: those a head that was kept elsewhere shows (require_contains).
class LedgerState {
 public:
  /// Basis for accepting a line as signed by its ledger's key.
  enum class Signatures {
    kToVerify,  ///< its signature, which is verified
    kOwn        ///< the caller, who has just signed it with that key, and holds the file's lock
  };

  /// Adds the lines of `text` after those already added. Cost: one Ed25519 verification per new line that is to be
  /// verified. Precondition: text begins with what was given before. Throws LedgerCorrupt naming source, line and
  /// fault; the state is then of no use.
  void extend(std::string_view text, const std::string& source, Signatures signatures = Signatures::kToVerify);

  /// All lines so far, each with its newline.
  const std::string& text() const { return text_; }
  /// Charges, oldest first.
  const std::vector<LedgerCharge>& charges() const { return charges_; }
  /// Charge of that release; nullptr if there is none.
  const LedgerCharge* charge(const std::string& release_id) const;
  /// Open runs by run id.
  const std::map<std::string, OpenRun>& open_runs() const { return open_; }
  /// Terms of all charges and open runs.
  std::vector<const RunTerms*> all_terms() const;
  /// Open reservation of that run; nullptr if it has none.
  const OpenRun* open_run(const std::string& run_id) const;
  /// Last end of the run; nullopt for one that is open, or that the ledger does not know.
  std::optional<RunOutcome> outcome(const std::string& run_id) const;
  /// Returns whether the line gives up a run that was stopped before, and might have been resumed.
  bool may_be_released(const RunEnd& end) const;
  LedgerHead head() const;
  /// SHA-256 of each line in turn.
  const std::vector<std::string>& line_sha256() const { return line_sha256_; }

 private:
  void add_line(std::string_view line, const std::string& where, Signatures signatures);
  void verify_signature(const LedgerRecord& record, const std::string& signature, Signatures signatures);
  void add(const LedgerEntry& entry, const std::string& utc_time);
  void add(const Reservation& reservation, const std::string& utc_time);
  void add(const RunEnd& end, const std::string& utc_time);
  void add(const LedgerStart& start, const std::string& utc_time);

  std::string text_;
  std::string public_key_;
  std::vector<std::string> line_sha256_;
  std::vector<LedgerCharge> charges_;
  std::map<std::string, std::size_t> place_;  // of a release id in charges_
  std::map<std::string, OpenRun> open_;
  std::map<std::string, RunOutcome> ended_;
};

/// Returns if the ledger contains the head: the same public key, if it had one, and the same hash at that line. Throws
/// LedgerCorrupt naming source and what differs (lines cut off at the end, another ledger, a rewritten one).
void require_contains(const LedgerState& state, const LedgerHead& head, const std::string& source);

}  // namespace dpreduce
