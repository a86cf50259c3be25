// `dpreduce sweep`: many fits at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/choices.hpp"
#include "common/data/rows_options.hpp"

namespace dpreduce {

struct CommandEntry;

struct SweepOptions {
  RowsOptions train;
  RowsOptions test;
  std::vector<std::string> public_x;
  std::size_t classes = 0;
  std::vector<std::string> methods;  ///< each as it follows --method of fit, with options of its own
  std::vector<double> epsilons;
  bool non_private = false;  ///< and every method without noise, to compare with
  double delta = 1e-5;
  std::vector<double> ratios{1.0};  ///< of imbalance
  std::uint64_t seeds = 5;          ///< 1, ..., seeds, of noise and of long tails
  Adjacency adjacency = Adjacency::kAddRemove;
  std::string out = "sweep";  ///< .csv and .json
  std::string html{};         ///< a page on what is in the JSON; empty: none
  std::string metrics{};      ///< JSON lines of all runs; empty: none
  bool overwrite = false;     ///< replace what is there already
  bool quiet = false;         ///< no progress and no table
  unsigned threads = 0;       ///< as of fit
  std::optional<std::size_t> memory_mib;
  bool operator==(const SweepOptions&) const = default;
};

/// Throws UsageError naming option, value and limit.
SweepOptions validated(SweepOptions options);

/// The command as the command line sees it.
CommandEntry sweep_command();

}  // namespace dpreduce
