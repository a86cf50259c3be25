// `dpreduce privacy convert`: one budget as every accountant states it.
#pragma once

#include <optional>

#include "common/accounting/stated_budget.hpp"
#include "common/base/choices.hpp"

namespace dpreduce {

struct CommandEntry;

/// Exactly one of the stated budget and sigma.
struct ConvertOptions {
  StatedBudget budget;
  std::optional<double> sigma;
  double sensitivity = 1.0;
  OutputFormat format = OutputFormat::kText;
  bool operator==(const ConvertOptions&) const = default;
};

/// Throws UsageError naming option, value and limit.
ConvertOptions validated(ConvertOptions options);

/// The command as the command line sees it.
CommandEntry convert_command();

}  // namespace dpreduce
