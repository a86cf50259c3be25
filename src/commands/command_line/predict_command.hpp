// `dpreduce predict`: labels for new features.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "common/base/choices.hpp"

namespace dpreduce {

struct CommandEntry;

struct PredictOptions {
  std::string model;
  std::vector<std::string> x;
  std::string out;
  bool scores = false;
  std::optional<std::size_t> top_k;  ///< classes a row, instead of one
  bool sets = false;                 ///< zeros and ones, instead of one class a row
  std::optional<double> threshold;   ///< of sets; empty: the model's
  BadRows bad_rows = BadRows::kFail;
  bool overwrite = false;  ///< replace what is there already
  bool operator==(const PredictOptions&) const = default;
};

/// Throws UsageError naming option, value and limit.
PredictOptions validated(PredictOptions options);

/// The command as the command line sees it.
CommandEntry predict_command();

}  // namespace dpreduce
