// Plan of a fit, for --dry-run and for the report: its privacy, expected errors and cost, as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "common/base/privacy_terms.hpp"
#include "fit/release_figures.hpp"
#include "methods/fit_options.hpp"
#include "methods/fit_plan.hpp"

namespace dpreduce {

/// Privacy of the plan: {"epsilon", "delta", "mu", "rho", "adjacency", "accountant", "releases": [{"name", "release",
/// "sensitivity", "sigma", "mu", "coordinates"}]}. Releases have one entry a block and round, sensitivity and sigma in
/// lattice units; a symmetric block has "sigma_off_diagonal" too. Where a given delta is not used, since the guarantee
/// is pure, a "note" says so. A budget that promises little has a "warning" (weakness_of). In a non-private run figures
/// are null and releases empty. Blocks that `figures` names have "norm" and "noise_norm" too.
nlohmann::json privacy_json(const FitPlan& plan, const FitOptions& options,
                            const std::vector<BlockFigures>& figures = {});

/// Expected error of the releases, for some numbers of rows. For class means {"rows_per_class", "error"}, where error =
/// s sqrt(d) / (scale C rows_per_class) is the expected distance of a class's released mean from its exact one, in
/// units of the clip norm. For every block of other releases {"release", "name", "rows", "error"}, where error =
/// |noise| / (D rows) is the expected distance of one round's mean over the rows from the exact one. D is the largest
/// change of the block by one row, or by a replaced row under replace-one; a unit of several rows may change B times as
/// much. |noise| is the root of its expected square (release_figures.hpp).
nlohmann::json expected_error_json(const FitPlan& plan);

/// Reason why the plan's guarantee is weak (explanation.hpp); empty if it is not weak, or if the run is not private.
std::string weakness_of(const FitPlan& plan, PrivacyUnit unit);

/// Note on the treatment of columns if no option sets it: the run estimates their sizes, or a run with few columns
/// leaves them unscaled. Empty in all other runs.
std::string note_on_columns(const FitOptions& options, const FitPlan& plan);

/// Smallest number with two significant decimal digits that is at least `value`; 0 for 0.
/// Precondition: value >= 0, finite.
double rounded_up(double value);

/// Forecast of a run's cost: {"for_release": false, "note", "ranks", "threads", "memory_bytes_per_rank",
/// "memory_bytes_available", "wire_bytes_per_rank", "wire_bytes"}. Threads are those of a rank. `memory_bytes` is the
/// need of the coordinator, the largest of all ranks; `words` is words_of_rank. Each rank sends its part of every sum
/// once and receives every broadcast once; wire_bytes is the total of all ranks but the coordinator. The forecast
/// depends on the number of rows, which is private: it is for the data's owner alone, never part of a report. Numbers
/// that depend on it are rounded up to two digits, so that they do not reveal it.
nlohmann::json cost_json(int ranks, unsigned threads, std::uint64_t memory_bytes,
                         std::optional<std::uint64_t> available_bytes, double words);

/// Output of `--dry-run --format json`: the plan. Where rows were counted, the caller adds "cost" (cost_json).
nlohmann::json dry_run_json(const FitOptions& options, const FitPlan& plan);

}  // namespace dpreduce
