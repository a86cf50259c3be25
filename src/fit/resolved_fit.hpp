// Decided fit: requested options, resolved, and everything that follows from them before a row is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "common/data/long_tail.hpp"
#include "common/ledger/ledger_record.hpp"
#include "common/ledger/spending.hpp"
#include "common/model/classifier.hpp"
#include "common/ranks/communicator.hpp"
#include "methods/fit_options.hpp"
#include "methods/fit_plan.hpp"
#include "methods/registry.hpp"

namespace dpreduce {

/// Returns whether prototypes may be chosen among public rows. If so, every rank opens all public rows.
bool may_choose_public_rows(const FitOptions& options);

/// Returns `options` after checks of each part, of the options that the method takes, and of combinations of parts. A
/// --batch of all rows becomes no --batch. Throws UsageError naming option, value and limit.
FitOptions validated(FitOptions options);

/// Resolved options, plan and method. Immutable, so that threads can share it: an audit makes tens of thousands of runs
/// from one plan.
class ResolvedFit {
 public:
  /// Resolves a fit for rows of `input_dim` features, with `public_rows` public rows to choose from, on ranks that have
  /// `bytes_for_rank` each. `options` are validated. Throws UsageError if options and features do not fit (resolved,
  /// make_fit_plan).
  ResolvedFit(const FitOptions& options, std::size_t input_dim, std::uint64_t public_rows = 0,
              std::uint64_t bytes_for_rank = std::numeric_limits<std::uint64_t>::max());

  /// Holds a fit that was decided elsewhere: resolved options, and the plan that follows from them.
  ResolvedFit(FitOptions resolved, FitPlan plan);

  /// Returns the same fit, resuming runs that have charged releases with these labels beyond the plan, which nobody was
  /// shown. The labels are in FitPlan::lost, and the guarantee covers these releases as well.
  ResolvedFit with_lost(std::vector<std::string> labels) const;

  const FitOptions& options() const { return options_; }  ///< resolved
  const FitPlan& plan() const { return plan_; }
  const TrainingMethod& method() const { return *method_; }

  /// Returns what a model declares of the fit: method, classes and names; its guarantee if it is private, else the
  /// reasons why not. Weights are empty.
  ClassifierParts parts(Preprocessing preprocessing) const;

  /// Terms of the run that the ledger records with its charges.
  RunTerms terms() const;

  /// Returns the plan by which a rank with `threads` threads passes over `rows`, with `memory_bytes` of row buffers;
  /// nullopt: --memory.
  StreamPlan stream_over(const WorkerRows& rows, unsigned threads,
                         std::optional<std::size_t> memory_bytes = std::nullopt) const;

 private:
  FitOptions options_;
  FitPlan plan_;
  std::unique_ptr<const TrainingMethod> method_;
};

/// Returns the fit that rank 0 decides on, on every rank of a job: ranks whose processors round differently would
/// differ in noise. A silo trusts nobody with its plan, and makes a plan of its own from the options that it has agreed
/// to. Arguments as for ResolvedFit: rank 0's `options` count, and the smallest `bytes_for_rank` of all ranks.
/// Collective. Throws as ResolvedFit at rank 0, PeerFailed elsewhere.
std::shared_ptr<const ResolvedFit> resolved_for_job(const FitOptions& options, std::size_t input_dim,
                                                    std::uint64_t public_rows, std::uint64_t bytes_for_rank,
                                                    Communicator& ranks);

/// Terms of the run's guarantee for persons; nullopt if the unit is a row.
std::optional<PersonStatement> person_of(const FitOptions& options);

/// Inputs of the run that its user has declared public.
std::vector<PublicByWord> public_by_word(const FitOptions& options);

/// Budget of a data set under `--budget-epsilon` and `--budget-delta`. Throws UsageError naming the option and its
/// limit.
DataSetBudget data_set_budget(double epsilon, double delta);

/// Part of the training rows that is trained on; nullopt if all are. `data` are validated.
std::optional<LongTail> long_tail_of(const DataOptions& data);

/// Public settings that both the report of a fit and the digest of its configuration state: method, classes and row
/// transform of `preprocessing`, and what is an experiment.
nlohmann::json settings_json(const FitOptions& options, const Preprocessing& preprocessing);

/// Returns the plan for rows of `input_dim` features, with `public_rows` public rows to choose from; `options` are
/// resolved. Throws UsageError if options and features do not fit.
FitPlan make_fit_plan(const FitOptions& options, std::size_t input_dim, std::uint64_t public_rows = 0);

}  // namespace dpreduce
