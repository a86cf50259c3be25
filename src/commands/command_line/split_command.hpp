// `dpreduce privacy split`: the noise of several blocks under one budget.
#pragma once

#include <string>
#include <vector>

#include "common/accounting/stated_budget.hpp"
#include "common/base/choices.hpp"

namespace dpreduce {

struct CommandEntry;

/// `--block NAME:D:W`.
struct BlockSpec {
  std::string name;
  double sensitivity = 0.0;
  double loss_weight = 1.0;
  bool operator==(const BlockSpec&) const = default;
};

struct SplitOptions {
  BudgetOptions budget;
  std::vector<BlockSpec> blocks;
  OutputFormat format = OutputFormat::kText;
  bool operator==(const SplitOptions&) const = default;
};

/// Throws UsageError naming option, value and limit.
SplitOptions validated(SplitOptions options);

/// The command as the command line sees it.
CommandEntry split_command();

}  // namespace dpreduce
