// What a report of fit promises, as privacy explain says it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "commands/reported_run.hpp"

namespace dpreduce {

/// {"private", "dry_run", "method", "epsilon", "delta", "mu", "adjacency", "accountant", "attack", "warning", "groups",
/// "releases", "words": {heading: [sentences]}}.
nlohmann::json explanation_of(const ReportedRun& run);

/// A heading and its sentences.
using ExplainedSection = std::pair<std::string, std::vector<std::string>>;

/// "words" of that, in the order in which they are printed.
std::vector<ExplainedSection> words_of(const ReportedRun& run);

}  // namespace dpreduce
