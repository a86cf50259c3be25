// What a checkpoint is bound to: everything that decides what a run releases and computes.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "dpreduce/config/options.hpp"
#include "dpreduce/methods/fit_plan.hpp"

namespace dpreduce {

/// A flat object: method, its settings and the preprocessing; budget, accountant and every block's noise; this version;
/// the noise key by its public id; the training rows by `sealed_rows` (TrainingRun::sealed_rows). No number of ranks,
/// threads or rows, no path, no seed. `options` are resolved.  @pre the plan has noise.
nlohmann::json checkpoint_binding(const FitOptions& options, const FitPlan& plan, const std::string& key_id,
                                  const std::string& sealed_rows);

}  // namespace dpreduce
