// The audit by reading: everything that a run leaves to its readers, in both worlds.
//
// A reader knows the first of two runs on one ledger, which is of world 0 always; the second is of one of the worlds,
// by turns. All fields of all files, of standard output and error, and the exit code are turned into numbers, column by
// column; the columns that tell the worlds apart best, in a quarter of the runs, are attacked (two_world_audit.hpp).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "audit/two_world_audit.hpp"
#include "common/accounting/budget.hpp"
#include "tests/audit/readers/public_fields.hpp"

namespace dpreduce {

/// Fields of many runs as numbers. A path names a field (public_fields.hpp). Columns are fixed by some of the runs, and
/// are for every path in them
///
///     of a number   its value (0 where a run has none); whether it is there
///     of a word     whether it is the word of the first of those runs; the place of the first word of the
///                   same run that is equal to it: which fields are equal, and which are not
///
/// and over all fields: how many words differ from each other, how many fields there are, and how many have no column.
class FieldTable {
 public:
  /// Precondition (asserted): at least one run.
  explicit FieldTable(const std::vector<const PublicFields*>& runs);

  /// A run as a row: as many numbers for any run.
  std::vector<double> row(const PublicFields& run) const;

  /// What a column holds, in words.
  const std::vector<std::string>& columns() const { return columns_; }

 private:
  std::map<std::string, std::size_t> number_places_;  // of the first of its two columns
  std::map<std::string, std::size_t> word_places_;
  std::map<std::string, std::string> words_;  // of the first run
  std::vector<std::string> columns_;
};

/// The run with its reader's view of it, after the known run.
using ReadRun = std::function<PublicFields(World)>;

struct ReaderTerms {
  std::size_t runs_per_world = 0;
  double delta = 0.0;
  double error = 0.0;
};

struct ReaderLoss {
  ProvenLoss proven;
  std::size_t fields = 0;  ///< columns that were looked at
  std::string strongest;   ///< the column that tells the worlds apart best; empty where none does at all
};

inline constexpr std::size_t kFewestReaderRuns = 12;  ///< of a world: there is something to learn, to choose, to count
inline constexpr std::size_t kRunsToLearn =
    120;  ///< of a world: by a quarter of fewer, a column of thousands is misjudged
inline constexpr std::size_t kMostReaderRuns = 6000;

/// The smallest number of runs a world after which a reader who tells the worlds apart in every run refutes the claim:
/// of n runs n - n/2 are counted, all of them rightly (two_world_audit.hpp). At least kRunsToLearn. None where
/// kMostReaderRuns are too few.
std::optional<std::size_t> reader_runs(const Guarantee& claim, double error);

/// Precondition (asserted): at least kFewestReaderRuns a world. Throws what a run throws.
ReaderLoss audit_by_reading(const ReadRun& read_run, const ReaderTerms& terms);

}  // namespace dpreduce
