#include "methods/options/fit_options.hpp"

#include "common/accounting/budget.hpp"
#include "common/base/error.hpp"
#include "common/base/option_checks.hpp"

namespace dpreduce {

void check(const PreparationOptions& rows) {
  check_positive("--clip", rows.clip_norm);
  if (rows.pool == 0) throw UsageError("--pool 0: must be at least 1");
  check_share("--center-share", rows.center_share);
  check_share("--pca-share", rows.pca_share);
  check_share("--select-share", rows.select_share);
  if (rows.pca_share && rows.pca == 0) {
    throw UsageError("--pca-share goes with --pca on private rows (without --public-x)");
  }
  if (rows.select_share && rows.select == 0) throw UsageError("--select-share goes with --select");
  if (rows.select_by && rows.select == 0) throw UsageError("--select-by goes with --select");
}

constexpr double kMostSecondsBetweenWrites = 1e6;

void check(const OutputOptions& output) {
  if (output.out.empty()) throw UsageError("--out: a file name is needed");
  check_range("--checkpoint-every", output.checkpoint_every, 0, kMostSecondsBetweenWrites);
  if (output.checkpoint.empty() && output.checkpoint_every > 0.0) {
    throw UsageError("--checkpoint-every goes with --checkpoint");
  }
}

void check(const MachineOptions& machine) {
  check_range("--threads", machine.threads, 0, kMostThreads);
  if (machine.memory_mib) {
    check_range("--memory", static_cast<double>(*machine.memory_mib), 1, static_cast<double>(kMostMemoryMib));
  }
}

void check(const PrivacyOptions& privacy) {
  check_ranges(privacy.budget);
  if (privacy.ledger.empty()) throw UsageError("--ledger: a file name is needed");
}

}  // namespace dpreduce
