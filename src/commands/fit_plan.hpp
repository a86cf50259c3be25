// What a fit will do, before any row is read: pure arithmetic on public knowledge.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "dpreduce/commands/guarantee.hpp"
#include "dpreduce/config/options.hpp"
#include "dpreduce/lattice/row_transform.hpp"
#include "dpreduce/privacy/declared_releases.hpp"
#include "dpreduce/privacy/noise_plan.hpp"

namespace dpreduce {

struct FitPlan {
  Preprocessing preprocessing;           ///< without the centre, which is released on the way
  std::vector<ReleaseRequest> requests;  ///< in the order in which they are made
  std::optional<NoisePlan> noise;        ///< none in a non-private run
  std::optional<Guarantee> guarantee;    ///< as above
  bool is_private = false;               ///< false also under a seed
  std::optional<double> limit_mu;        ///< of the data set, over all runs, where the user sets one
  std::string config_digest;             ///< of everything public that decides what is released
  std::size_t memory_bytes = 0;          ///< of a rank: row buffers and statistic

  const ReleaseRequest& request(std::string_view name) const;
};

/// The plan for rows of `input_dim` features. Throws UsageError where options and features do not fit.
FitPlan plan_fit(const FitOptions& options, std::size_t input_dim);

/// {"epsilon", "delta", "mu", "rho", "adjacency", "accountant", "releases": [{"name", "release", "sensitivity",
/// "sigma", "mu", "coordinates"}]}; sensitivity and sigma in lattice units. Figures are null and releases empty in a
/// non-private run.
nlohmann::json privacy_json(const FitPlan& plan, Adjacency adjacency, Accountant accountant);

/// For class sizes that a user may think of: {"rows_per_class", "error"}, where error = s sqrt(d) / (scale C
/// rows_per_class) is the expected distance of a class's released mean from its exact one, in units of the clip norm.
nlohmann::json expected_error_json(const FitPlan& plan);

/// What --dry-run prints.
void print_dry_run(const FitOptions& options, const FitPlan& plan);

}  // namespace dpreduce
