// `dpreduce inspect`: check a data set.
#pragma once

#include <cstddef>

#include "common/base/choices.hpp"
#include "common/data/rows_options.hpp"

namespace dpreduce {

struct CommandEntry;

struct InspectOptions {
  RowsOptions rows;
  std::size_t classes = 0;
  Normalize normalize = Normalize::kNone;
  double clip_norm = 1.0;
  OutputFormat format = OutputFormat::kText;
  bool operator==(const InspectOptions&) const = default;
};

/// Throws UsageError naming option, value and limit.
InspectOptions validated(InspectOptions options);

/// The command as the command line sees it.
CommandEntry inspect_command();

}  // namespace dpreduce
