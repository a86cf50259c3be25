// `dpreduce predict`: labels for new features.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "common/base/choices.hpp"
#include "common/data/output_check.hpp"

namespace dpreduce {

struct CommandEntry;

struct PredictOptions {
  std::string model;
  std::vector<std::string> x;
  std::string out;
  std::optional<std::string> scores;         ///< a file of their own; empty: --out gets them instead of labels
  std::optional<std::string> probabilities;  ///< likewise
  std::optional<std::size_t> top_k;          ///< classes a row, instead of one
  bool sets = false;                         ///< zeros and ones, instead of one class a row
  std::optional<double> threshold;           ///< of sets; empty: the model's
  BadRows bad_rows = BadRows::kFail;
  bool overwrite = false;  ///< replace what is there already
  bool operator==(const PredictOptions&) const = default;
};

/// The files that are written, each with the option that names it.
std::vector<NamedPath> prediction_files(const PredictOptions& options);

/// Throws UsageError naming option, value and limit.
PredictOptions validated(PredictOptions options);

/// The command as the command line sees it.
CommandEntry predict_command();

}  // namespace dpreduce
