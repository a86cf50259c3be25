// Plan of a fit before any row is read: pure arithmetic on public knowledge (made by fit/resolved_fit.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/accounting/budget.hpp"
#include "common/base/described_types.hpp"
#include "common/base/error.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/lattice/row_transform.hpp"
#include "common/ledger/loss.hpp"
#include "common/ledger/noise_plan.hpp"
#include "common/ledger/spending.hpp"

namespace dpreduce {

/// Plan of a fit: its releases with their noise, its guarantee and its memory.
struct FitPlan {
  Preprocessing preprocessing;             ///< without center, projection and selection, which are added during the run
  std::size_t dim = 0;                     ///< features of prepared rows, and so of the model; without an intercept
  std::size_t projection_elements = 0;     ///< of the matrix that rows are projected or whitened by; 0 for none
  std::vector<ReleaseRequest> requests;    ///< in the order in which they are made
  std::optional<Loss> loss;                ///< of gradients and Hessians; nullopt if none are released
  std::optional<PlannedSelection> choice;  ///< among candidates, by training rows; also in `noise`
  /// Choice of prototypes among public rows; also in `noise`, or with epsilon 0.
  std::optional<PlannedSelection> public_selection;
  std::optional<NoisePlan> noise;      ///< nullopt in a non-private run
  std::optional<Guarantee> guarantee;  ///< nullopt as above; also covers `lost`
  std::vector<std::string> lost{};     ///< labels of releases charged beyond the plan and never shown
  bool is_private = false;             ///< with noise, and no forfeits
  Forfeits forfeits{};                 ///< reasons why a run with noise is not private
  std::optional<DataSetBudget> limit;  ///< of the data set, over all runs, if the user sets one
  std::string config;                  ///< everything public that decides what is released, as JSON
  std::string config_digest;           ///< of that
  std::size_t memory_bytes = 0;        ///< of a rank: row buffers and statistic, for any number of rows

  bool has_request(std::string_view name) const {
    return std::ranges::find(requests, name, &ReleaseRequest::name) != requests.end();
  }
  /// Returns the request of that name. Precondition (asserted): there is one.
  const ReleaseRequest& request(std::string_view name) const {
    const auto found = std::ranges::find(requests, name, &ReleaseRequest::name);
    DPREDUCE_ASSERT(found != requests.end());
    return *found;
  }
  /// Returns whether a unit's sums are clipped in any release. If so, a unit's rows are needed together.
  bool clips_units() const { return std::ranges::any_of(requests, &ReleaseRequest::clips_units); }
  /// Returns whether Gram matrices are released class by class (TrainingRun::release_class_grams).
  bool makes_class_grams() const { return std::ranges::any_of(requests, &ReleaseRequest::in_parts); }
};

// Archives of a plan, as it is sent between ranks (common/ranks/rank_archive.hpp).
DPREDUCE_ARCHIVE(FeatureColumns, center, scale)
DPREDUCE_ARCHIVE(TargetColumns, count, center, scale, share)
DPREDUCE_ARCHIVE(Preprocessing, input_dim, pool, normalize, clip_norm, center, intercept, projection, selected,
                 center_factor, columns, targets)
DPREDUCE_ARCHIVE(BlockRequest, name, elements, loss_weight, noise, triangles, fraction_bits)
DPREDUCE_ARCHIVE(SensitivityProfile, change, squared_l2)
DPREDUCE_ARCHIVE(ReleaseRequest, name, share, rounds, blocks, profiles, in_parts, sampling_rate, rows_per_unit,
                 clips_units, dim)
DPREDUCE_ARCHIVE(PlannedBlock, name, elements, squared_sensitivity, sensitivity, sigma, mu, noise, triangles,
                 fraction_bits)
DPREDUCE_ARCHIVE(PlannedRelease, name, rounds, blocks, profiles, mu, sampling_rate, rows_per_unit)
DPREDUCE_ARCHIVE(SelectionTerms, mechanism, epsilon, sensitivity, candidates, groups, chosen)
DPREDUCE_ARCHIVE(PlannedSelection, name, terms, fraction_bits)
DPREDUCE_ARCHIVE(NoisePlan, adjacency, budget_mu, mu, releases, selections)
DPREDUCE_ARCHIVE(EpsilonAtDelta, epsilon, delta)
DPREDUCE_ARCHIVE(Guarantee, epsilon, delta, mu, rho, bounded_range)
DPREDUCE_ARCHIVE(FitPlan, preprocessing, dim, projection_elements, requests, loss, choice, public_selection, noise,
                 guarantee, lost, is_private, forfeits, limit, config, config_digest, memory_bytes)

}  // namespace dpreduce
