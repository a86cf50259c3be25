// `dpreduce privacy split`: the noise of several blocks under one budget.
#pragma once

#include <string>
#include <vector>

#include "dpreduce/base/choices.hpp"
#include "dpreduce/privacy/stated_budget.hpp"

namespace dpreduce {

struct CommandEntry;

/// `--block NAME:D:W`.
struct BlockSpec {
  std::string name;
  double sensitivity = 0.0;
  double loss_weight = 1.0;
};

struct SplitOptions {
  BudgetOptions budget;
  std::vector<BlockSpec> blocks;
  OutputFormat format = OutputFormat::kText;
};

/// Throws UsageError naming option, value and limit.
SplitOptions validated(SplitOptions options);

/// The command as the command line sees it.
CommandEntry split_command();

}  // namespace dpreduce
