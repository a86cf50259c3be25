// `fit --method mean` as an audit runs it: the real path from rows to releases, with a key and a ledger of its own for
// every run.
#pragma once

#include <string>
#include <vector>

#include "dpreduce/aggregator/release.hpp"
#include "dpreduce/audit/two_world_audit.hpp"
#include "dpreduce/data/worker_rows.hpp"
#include "dpreduce/lattice/row_transform.hpp"
#include "dpreduce/worker/registered_statistics.hpp"

namespace dpreduce {

/// The method and its public terms.
struct MeanTerms {
  ReleaseTerms releases;
  Preprocessing preprocessing;  ///< without centre
  Centering center = Centering::kNone;
  double center_share = 0.0;  ///< of mu^2, where rows are centred
  double mu = 0.0;            ///< the budget
};

/// What a run publishes.
struct MeanReleases {
  std::vector<double> center;  ///< m, as rows were centred by it; empty without
  std::vector<double> all;     ///< every released number of every block
  std::vector<std::int64_t> class_sums;
};

/// Immutable, and so shared by threads.
class MeanMethod {
 public:
  /// Throws UsageError where the terms make no noise plan.
  explicit MeanMethod(MeanTerms terms);

  const MeanTerms& terms() const { return terms_; }
  const NoisePlan& plan() const { return plan_; }

  /// The exact statistic of `release` over the rows. Throws BadInput as for_each_lattice_chunk does.
  Statistic statistic(std::string_view release, WorkerRows& rows, const std::vector<double>& center) const;

  /// One run over `rows`, charged to a new ledger at `ledger_path`, which it removes again. `known`, where given, is
  /// the statistic of "class_means" over these rows (without a centre it never changes). Throws what the releaser
  /// throws.
  MeanReleases run(WorkerRows& rows, const std::string& ledger_path, const Statistic* known = nullptr) const;

 private:
  const ReleaseRequest& request(std::string_view release) const;

  MeanTerms terms_;
  std::vector<ReleaseRequest> requests_;
  NoisePlan plan_;
};

/// The method on two neighbouring data sets, each a pair of .npy files.
class MeanRun : public AuditedRun {
 public:
  struct Files {
    std::string x;
    std::string y;
  };
  /// `ledger_path` belongs to this object alone. Without centring the exact statistics are computed here, once.
  MeanRun(const MeanMethod& method, const Files& without, const Files& with, std::string ledger_path);

  std::vector<double> observe(World world) override;

 private:
  struct Side {
    WorkerRows rows;
    std::optional<Statistic> class_means;
  };
  Side open(const Files& files) const;

  const MeanMethod& method_;
  Side without_;
  Side with_;
  std::string ledger_path_;
};

}  // namespace dpreduce
