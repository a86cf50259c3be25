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
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "audit/audited_method.hpp"
#include "common/plan/noise_plan.hpp"
#include "common/plan/released_block.hpp"
#include "common/plan/statistic.hpp"
#include "run/training_run.hpp"
#include "worker/kept_chunks.hpp"

namespace dpreduce {

/// 1 / v_e of a block's elements.
std::vector<double> precisions(const PlannedBlock& block);

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

  /// That of the release's kind, of these rows as they were prepared for it, at its point. Throws as
  /// AuditedMethod::statistic.
  Statistic at(const WatchedRelease& release);

 private:
  const AuditedMethod& method_;
  WorkerRows& rows_;
  std::optional<Preprocessing> prepared_;  // how the kept rows are
  std::optional<KeptChunks> kept_;
};

}  // namespace dpreduce
