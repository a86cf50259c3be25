// The ledger file: what has been spent, written before it is spent.
//
// A release is charged on intent and never refunded: the line is on the disk before any noisy byte leaves, and a crash
// in between costs budget, not privacy. Lines and chain: ledger_record.hpp.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dpreduce/privacy/ledger_record.hpp"
#include "dpreduce/privacy/spending.hpp"

namespace dpreduce {

/// What append did: wrote a line, or found that this very release is on file already, so that a restarted run which
/// replays bit-identical noise is charged once.
enum class Charge { kWritten, kAlreadyOnFile };

/// What a data set may cost over all runs.
struct DataSetBudget {
  double epsilon;
  double delta;
};

/// Everything on file together with what the run at hand still plans must not pass the data set's budget.
///
/// With Gaussian releases alone, sqrt(sum mu^2) is compared with the mu that the budget allows: runs add up exactly,
/// also when chosen adaptively. As soon as a selection or a sampled round is on file or planned, the upper bound of
/// epsilon at the budget's delta decides (spending.hpp, which says what that assumes).
struct Allowance {
  DataSetBudget limit;
  Adjacency adjacency;  ///< of the run at hand; lines under another one count as spending_of says
  Spending planned;
};

class Ledger {
 public:
  /// Touches nothing. A missing or empty file is an empty ledger.
  explicit Ledger(std::filesystem::path path) : path_(std::move(path)) {}

  /// Returns once the entry's line is durable: under an exclusive lock (flock; processes take turns), verifies the
  /// whole file, writes the line with one write(), and syncs the file, and its folder where the file was empty.
  ///
  /// Cost: one SHA-256 of the file, and 30 us for every line that this object has not read before.
  /// A short or failed write is undone: the file has its former length again. The line's time is now, in UTC.
  /// @pre fault_of(entry) is empty; the line is at most kLongestLedgerLine bytes long.
  /// @throws UsageError naming the field; LedgerCorrupt naming the line; ResumeMismatch if the release id is on file
  ///         with another content; BadInput with path and reason if the file cannot be opened, locked, read, written or
  ///         synced, or is not a regular file.
  /// With an allowance, the entry's own charge counts as part of what is planned; a line that is on file already costs
  /// nothing.
  /// @throws BudgetRefused where file and plan together pass the budget; nothing is written.
  /// A process that can meet a file-size limit must ignore SIGXFSZ, or the kernel ends it here (harmlessly).
  Charge append(const LedgerEntry& entry, const std::optional<Allowance>& allowance = std::nullopt);

  /// All records, oldest first, under a shared lock; verified as parse_ledger says, with its one limit: a cut at the
  /// tail cannot be found by the chain alone.
  /// @throws LedgerCorrupt naming the line; BadInput with path and reason.
  static std::vector<LedgerRecord> read(const std::filesystem::path& path);

  /// The number of lines of an intact ledger.  @throws as read.
  static std::size_t verify(const std::filesystem::path& path) { return read(path).size(); }

 private:
  void verify_text(std::string_view text);
  Charge append_locked(int file, const std::string& text, const LedgerEntry& entry,
                       const std::optional<Allowance>& allowance);

  std::filesystem::path path_;
  // What the last append read: those bytes need no second parse as long as their hash is the same.
  std::vector<LedgerRecord> records_;
  std::size_t verified_length_ = 0;
  std::string verified_sha256_;
};

/// Returns where file and plan together stay within the budget, as Allowance says.
/// @pre the budget is one that gdp_mu takes; with selections or sampled rounds its delta is at least kSmallestPldDelta.
/// @throws BudgetRefused, naming `path` and the figures; UsageError naming the argument.
void require_allowed(const Allowance& allowance, std::span<const LedgerRecord> records,
                     const std::filesystem::path& path);

/// sqrt(sum mu^2) over the Gaussian releases of private runs, rounded up: what these reveal together, if they were
/// about the same records, under one adjacency. Selections and sampled rounds have no mu: composed_rho counts
/// them.
double composed_mu(std::span<const LedgerRecord> records);

/// The sum of rho over all lines of private runs, selections too, rounded up.
double composed_rho(std::span<const LedgerRecord> records);

}  // namespace dpreduce
