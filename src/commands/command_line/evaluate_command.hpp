// `dpreduce evaluate`: accuracy of a model.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "common/base/choices.hpp"
#include "common/data/rows_options.hpp"

namespace dpreduce {

struct CommandEntry;

struct EvaluateOptions {
  std::string model;
  RowsOptions test;
  std::vector<std::string> train_y;  ///< owner's training labels, to tell which classes are the minority
  std::optional<std::size_t> top_k;  ///< of label sets: precision and recall of so many scores a row
  std::optional<double> threshold;   ///< of label sets; empty: the model's
  std::string report;
  bool overwrite = false;  ///< replace what is there already
  OutputFormat format = OutputFormat::kText;
  bool operator==(const EvaluateOptions&) const = default;
};

/// Throws UsageError naming option, value and limit.
EvaluateOptions validated(EvaluateOptions options);

/// The command as the command line sees it.
CommandEntry evaluate_command();

}  // namespace dpreduce
