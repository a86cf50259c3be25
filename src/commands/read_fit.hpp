// The audit of `fit` and `evaluate --private` by reading: runs of the command itself, in this process, with the files,
// the output and the exit code that its user would get.
#pragma once

#include <string>

#include "audit/method_run.hpp"
#include "audit/neighbor_rows.hpp"
#include "audit/reader_audit.hpp"
#include "common/files/private_folder.hpp"
#include "methods/options/fit_options.hpp"

namespace dpreduce {

struct ReadAudit {
  ReaderLoss loss;
  std::string fault;  ///< what readers get that no run may leave, in words; empty: nothing
};

/// What readers of files and output can tell of the worlds `files`, and of rows that a run refuses: those of
/// `with_canary` with a bad one among them. Where `terms` ask for no runs, only what takes no counting is looked at.
/// `folder` gets files of its own. Throws what the run throws in world 0.
ReadAudit audit_read_fit(const FitOptions& fit, const WorldFiles& files, const LabeledRows& with_canary,
                         const ReaderTerms& terms, const PrivateFolder& folder);

}  // namespace dpreduce
