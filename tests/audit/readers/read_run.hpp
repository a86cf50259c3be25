// The audit of `fit` and `evaluate --private` by reading: runs of the command itself, in this process, with the files,
// the output and the exit code that its user would get.
#pragma once

#include <string>
#include <vector>

#include "audit/audited_method.hpp"
#include "audit/neighbor_rows.hpp"
#include "common/accounting/budget.hpp"
#include "common/base/output_file.hpp"
#include "tests/audit/readers/reader_audit.hpp"

namespace dpreduce {

inline constexpr int kReadClasses = 3;

struct ReadAudit {
  Guarantee claim{};     ///< of the report
  std::size_t runs = 0;  ///< of each world that were read
  ReaderLoss loss{};
  std::string fault{};  ///< what readers get that no run may leave, in words; empty: nothing

  bool refutes_mu() const { return claim.mu && loss.proven.mu > *claim.mu; }
  bool refutes() const { return refutes_mu() || loss.proven.epsilon > claim.epsilon || !fault.empty(); }
};

/// What readers of files and output can tell of the worlds `files`, and of rows that a run refuses: those of
/// `with_canary` with a bad one among them. `command` is "fit" or "evaluate" with its options, but for rows and files.
/// As many runs are read as refute the claim where they tell the worlds apart. A true claim is refuted with probability
/// at most `error`. `folder` gets files of its own. Throws what the run throws in world 0.
ReadAudit audit_by_reading_runs(const std::vector<std::string>& command, const WorldFiles& files,
                                const LabeledRows& with_canary, double error, const PrivateFolder& folder);

}  // namespace dpreduce
