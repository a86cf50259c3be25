// A method as an audit runs it, and the best attack on its releases. The path from rows to releases and model is that
// of `fit`, with a secret and a ledger of its own for every run. Nothing of it is saved: such a run is never gone on
// with.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "audit/neighbor_rows.hpp"
#include "audit/two_world_audit.hpp"
#include "common/ledger/noise_plan.hpp"
#include "common/ledger/released_block.hpp"
#include "common/ledger/statistic.hpp"
#include "fit/fit.hpp"
#include "methods/training_run.hpp"
#include "worker/lattice_stream.hpp"

namespace dpreduce {

// `fit` as an audit runs it: the real path from rows to releases and model, with a secret and a ledger of its own for
// every run. Its releases are not kept: such a run is never resumed.

/// All that a run makes public.
struct Published {
  /// Releases by name, in the order in which their rounds were made. A run's releases may follow from its earlier ones:
  /// not all of the plan need be there.
  std::map<std::string, std::vector<Release>, std::less<>> releases;
  Classifier classifier;
  Preprocessing preprocessing;  ///< of the rows of the last release, with the released center

  /// First the summary: of every block the sum over its rounds, and the model's weights and biases. Then, where there
  /// are several rounds, each of them. A release that was not made counts as zeros.
  std::vector<double> numbers(const NoisePlan& plan) const;
};

/// The numbers of all blocks, one block after the other.
std::vector<double> values_of(const Release& release);

/// A method with its options and its plan. Immutable, and so shared by threads.
class AuditedMethod {
 public:
  /// Prepares the method for rows of `input_dim` features, with `public_rows` public rows to choose prototypes from.
  /// Throws UsageError if options and features do not fit, or there is no budget.
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

  /// Runs the method once over `rows`, with these public ones, charged to a new ledger at `ledger_path`, which is
  /// removed again. `watcher` is shown each release. Throws what the releaser, the watcher and for_each_lattice_chunk
  /// throw.
  Published run(WorkerRows& rows, const std::string& ledger_path, const PublicRows& public_rows = {},
                const ReleaseWatcher& watcher = {}) const;

 private:
  StreamPlan stream_over(const WorkerRows& rows) const;

  std::shared_ptr<const ResolvedFit> fit_;
};

// The best attack on a release whose noise is what the plan says: both worlds' exact statistics at its public point.
//
// Legend: r_e the released elements, m_we the exact ones in world w, v_e the planned variance: s^2, and s^2 / 2 beside
// the diagonal of a symmetric block. m is in the units of what is released: counts of weighed rows are summed in
// fractions.
//
//     ln p_1(r) / p_0(r) = sum_e (m_1e - m_0e) (r_e - (m_0e + m_1e) / 2) / v_e
//     D^2 = sum_e (m_1e - m_0e)^2 / v_e                 what the pair of worlds can show of the release's mu^2
//
// At D, the ratio is N(-D^2 / 2, D^2) in world 0 and N(D^2 / 2, D^2) in world 1. Ratios of releases that follow one
// another add up, each at the point that the earlier ones led to.

/// ln p_1(r) / p_0(r), whatever else the release has been through. Precondition (asserted): blocks fit the plan.
double log_ratio(const PlannedRelease& planned, const Release& release, const Statistic& world_0,
                 const Statistic& world_1);

/// D.
double planned_distance(const PlannedRelease& planned, const Statistic& world_0, const Statistic& world_1);

/// The exact statistics of one world's rows, wherever a run asks for them. Not for several threads at once.
class ExactStatistics {
 public:
  /// References outlive this object.
  ExactStatistics(const AuditedMethod& method, WorkerRows& rows) : method_(method), rows_(rows) {}

  /// Exact statistic of the kind of `release`, of these rows as they were prepared for it, at its point. Throws as
  /// AuditedMethod::statistic.
  Statistic at(const WatchedRelease& release);

 private:
  const AuditedMethod& method_;
  WorkerRows& rows_;
  std::optional<Preprocessing> prepared_;  // how the kept rows are
  std::optional<KeptChunks> kept_;
};

/// Returns whether a release of the plan counts rows.
bool counts_rows(const FitPlan& plan);

// The method on two neighboring data sets, as an audit by many runs sees it.
//
// A run is observed as everything that it releases, the model, and how much more likely each release is with the canary
// than without (audited_method.hpp).

/// Two neighboring data sets as .npy files.
struct WorldFiles {
  WorldRows without;
  WorldRows with;
  std::string public_x{};  ///< where the method has public rows, else empty: the same in both worlds
};

/// Writes the files of both worlds, and public rows where the method has some, into `folder`. Throws BadInput as
/// LabeledRows::write.
WorldFiles write_worlds(const NeighborPair& pair, bool has_public_rows, double clip_norm,
                        const std::filesystem::path& folder);

/// The method on two neighboring data sets.
class MethodRun : public AuditedRun {
 public:
  /// `ledger_path` belongs to this object alone. Throws as open_world.
  MethodRun(const AuditedMethod& method, const WorldFiles& files, std::string ledger_path);

  /// Numbers of Published, then log ratios: of all releases, and of those of each name.
  std::vector<double> observe(World world) override;
  /// The sum of all log ratios; those of each name; the summary of Published's numbers; all of these.
  std::vector<View> views() const override;

  /// The root of the sum of D^2 over the last run's releases (audited_method.hpp): what this pair of worlds can show of
  /// mu, by the best of attacks, where noise is as planned.
  double planned_distance() const { return std::sqrt(squared_distance_); }

 private:
  std::size_t summary() const;
  std::size_t all_numbers() const;

  const AuditedMethod& method_;
  WorkerRows without_;
  WorkerRows with_;
  std::optional<WorkerRows> features_;    // public rows, to sum
  std::optional<WorkerRows> candidates_;  // and to choose from
  std::string ledger_path_;
  ExactStatistics exact_without_;
  ExactStatistics exact_with_;
  double squared_distance_ = 0.0;
};

}  // namespace dpreduce
