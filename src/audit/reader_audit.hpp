// The audit by reading: everything that a run leaves to its readers, in both worlds.
//
// A reader knows the first of two runs on one ledger, which is of world 0 always; the second is of one of the worlds,
// by turns. All fields of all files, of standard output and error, and the exit code are turned into numbers
// (field_table.hpp); the columns that tell the worlds apart best, in a quarter of the runs, are attacked
// (two_world_audit.hpp).
#pragma once

#include <functional>
#include <string>

#include "audit/public_fields.hpp"
#include "audit/two_world_audit.hpp"

namespace dpreduce {

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

/// So many runs a world that what separates the worlds completely refutes mu: 25 / Phi(-mu/2), at least 120 and at most
/// 6000.
std::size_t reader_runs(double mu);

/// Precondition (asserted): at least 12 runs a world. Throws what a run throws.
ReaderLoss audit_by_reading(const ReadRun& read_run, const ReaderTerms& terms);

}  // namespace dpreduce
