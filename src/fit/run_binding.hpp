// What a run is bound to: everything public that decides what it releases and computes.
#pragma once

#include <nlohmann/json.hpp>

#include "methods/options/fit_options.hpp"
#include "run/fit_plan.hpp"

namespace dpreduce {

/// A flat object: method, its settings and the preprocessing; budget, accountant and every block's noise; this version;
/// the seed, where there is one. No number of ranks, threads or rows, no path. A checkpoint holds it, a journal its
/// digest: only a run with the same one may go on with them. `options` are resolved. Precondition: the plan has noise.
nlohmann::json run_binding(const FitOptions& options, const FitPlan& plan);

}  // namespace dpreduce
