// Options of a refit for programs that hold the statistics, and its result (refit.cpp).
#pragma once

#include <span>

#include <nlohmann/json_fwd.hpp>

#include "common/base/toml_items.hpp"
#include "refit/refit.hpp"

namespace dpreduce {

/// Returns the refit that `keywords` request of these statistics. Throws UsageError as fit_options_of
/// (keyword_options.hpp), and naming what the statistics do not have.
RefitOptions refit_options_of(std::span<const TomlItem> keywords, const KeptStatistics& statistics);

/// {"method", "ridge", "path": [{"ridge", "noise", "loss"}], ...}
nlohmann::json refit_json(const Refit& made);

}  // namespace dpreduce
