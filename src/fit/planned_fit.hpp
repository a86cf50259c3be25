// A fit that is decided: what was asked, resolved, and what follows from it before a row is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>

#include "common/ledger/ledger_record.hpp"
#include "methods/options/fit_options.hpp"
#include "methods/training_method.hpp"
#include "run/fit_plan.hpp"

namespace dpreduce {

/// Immutable, so that threads can share it: an audit makes tens of thousands of runs from one plan.
class PlannedFit {
 public:
  /// For rows of `input_dim` features, with so many public rows to choose from, on ranks that have `bytes_for_rank`
  /// each. `stated` are validated. Throws UsageError where options and features do not fit (resolved, plan_fit).
  PlannedFit(const FitOptions& stated, std::size_t input_dim, std::uint64_t public_rows = 0,
             std::uint64_t bytes_for_rank = std::numeric_limits<std::uint64_t>::max());

  const FitOptions& options() const { return options_; }  ///< resolved
  const FitPlan& plan() const { return plan_; }
  const TrainingMethod& method() const { return *method_; }

  /// What the ledger says of its charges.
  RunTerms terms() const;

  /// How a rank with so many threads goes through `rows`, in `memory_bytes` of row buffers; none: --memory.
  StreamPlan stream_over(const WorkerRows& rows, unsigned threads,
                         std::optional<std::size_t> memory_bytes = std::nullopt) const;

 private:
  FitOptions options_;
  FitPlan plan_;
  std::unique_ptr<const TrainingMethod> method_;
};

}  // namespace dpreduce
