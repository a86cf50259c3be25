// `fit` as an audit runs it: the real path from rows to releases and model, with a secret and a ledger of its own for
// every run. Nothing of it is saved: such a run is never gone on with.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fit/fit.hpp"
#include "worker/kept_chunks.hpp"

namespace dpreduce {

/// All that a run makes public.
struct Published {
  /// By name, in the order in which their rounds were made. What a run releases may follow from what it released
  /// before: not all of the plan need be there.
  std::map<std::string, std::vector<Release>, std::less<>> releases;
  Classifier classifier;
  Preprocessing preprocessing;  ///< of the rows of the last release, with the released center

  /// First the summary: of every block the sum over its rounds, and the model's weights and biases. Then, where there
  /// are several rounds, each of them. A release that was not made counts as zeros.
  std::vector<double> numbers(const NoisePlan& plan) const;
};

/// A method with its options and its plan. Immutable, and so shared by threads.
class AuditedMethod {
 public:
  /// For rows of `input_dim` features, with so many public rows to choose prototypes from. Throws UsageError where
  /// options and features do not fit, or there is no budget.
  AuditedMethod(const FitOptions& options, std::size_t input_dim, std::uint64_t public_rows = 0);

  const FitOptions& options() const { return fit_->options(); }  ///< resolved
  const FitPlan& plan() const { return fit_->plan(); }

  /// The exact statistic of `release` over rows as `preprocessing` says, at `point`; of `kept` rows where there are
  /// some, which are these. Throws BadInput as for_each_lattice_chunk does.
  Statistic statistic(std::string_view release, WorkerRows& rows, const Preprocessing& preprocessing,
                      const PublicPoint& point = {}, std::span<const LatticeRows> kept = {}) const;

  /// Rows as `preprocessing` says, for many statistics; none where there are too many to keep. Throws as statistic.
  std::optional<KeptChunks> kept_rows(WorkerRows& rows, const Preprocessing& preprocessing) const;

  /// A releaser that charges releases of `plan` to the ledger at `ledger_path`, with a secret of its own.
  Releaser releaser(Communicator& ranks, NoisePlan plan, const std::string& ledger_path) const;

  /// One run over `rows`, with these public ones, charged to a new ledger at `ledger_path`, which is removed again.
  /// `watcher` is shown each release. Throws what the releaser, the watcher and for_each_lattice_chunk throw.
  Published run(WorkerRows& rows, const std::string& ledger_path, const PublicRows& public_rows = {},
                const ReleaseWatcher& watcher = {}) const;

 private:
  std::size_t memory_for(const WorkerRows& rows) const;
  StreamPlan stream_over(const WorkerRows& rows) const;

  std::shared_ptr<const ResolvedFit> fit_;
};

}  // namespace dpreduce
