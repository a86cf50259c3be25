// The options of a refit, for the command and for programs that hold the statistics.
#pragma once

#include <optional>
#include <span>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "common/base/option_table.hpp"
#include "common/base/toml_items.hpp"
#include "refit/refit.hpp"

namespace dpreduce {

/// Options as they are given: what is named is looked up in the statistics.
struct RequestedRefit {
  RefitOptions options;
  std::string lambda = "auto";
  std::optional<std::string> classes;
  std::optional<std::string> features;
};

void declare_refit(OptionTable& table, RequestedRefit& asked);

/// Throws UsageError naming what the statistics do not have.
RefitOptions options_of(const RequestedRefit& asked, const KeptStatistics& statistics);

/// Returns the refit that `keywords` request (keyword_options.hpp).
RefitOptions refit_options_of(std::span<const TomlItem> keywords, const KeptStatistics& statistics);

/// {"method", "ridge", "path": [{"ridge", "noise", "loss"}], ...}
nlohmann::json refit_json(const Refit& made);

}  // namespace dpreduce
