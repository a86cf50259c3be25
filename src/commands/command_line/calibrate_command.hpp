// `dpreduce privacy calibrate`: the noise that a budget needs.
#pragma once

#include <cstdint>

#include "common/accounting/stated_budget.hpp"
#include "common/base/choices.hpp"

namespace dpreduce {

struct CommandEntry;

struct CalibrateOptions {
  BudgetOptions budget;
  double sensitivity = 1.0;
  std::uint64_t steps = 1;
  double sampling_rate = 1.0;  ///< of every step's Poisson sample; 1: all records
  OutputFormat format = OutputFormat::kText;
  bool operator==(const CalibrateOptions&) const = default;
};

/// Throws UsageError naming option, value and limit.
CalibrateOptions validated(CalibrateOptions options);

/// The command as the command line sees it.
CommandEntry calibrate_command();

}  // namespace dpreduce
