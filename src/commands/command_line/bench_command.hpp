// `dpreduce bench`: speed of the parts on this machine.
#pragma once

#include <cstddef>
#include <string>

#include "common/base/choices.hpp"

namespace dpreduce {

struct CommandEntry;

struct BenchOptions {
  BenchKind kind = BenchKind::kGram;
  std::size_t rows = 8192;
  std::size_t dim = 1664;
  std::size_t classes = 1000;  ///< round
  std::size_t count = 10'000'000;
  std::size_t elements = 1 << 24;
  double sigma = 1048576.0;
  unsigned threads = 1;
  unsigned repeats = 3;
  std::string kernel = "auto";
  OutputFormat format = OutputFormat::kText;
  bool operator==(const BenchOptions&) const = default;
};

/// Throws UsageError naming option, value and limit.
BenchOptions validated(BenchOptions options);

/// The command as the command line sees it.
CommandEntry bench_command();

}  // namespace dpreduce
