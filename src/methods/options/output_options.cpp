#include "methods/options/output_options.hpp"

#include "common/base/error.hpp"
#include "common/base/option_checks.hpp"

namespace dpreduce {
namespace {

constexpr double kMostSeconds = 1e6;

}  // namespace

void check(const OutputOptions& output) {
  if (output.out.empty()) throw UsageError("--out: a file name is needed");
  require_option_between("--checkpoint-every", output.checkpoint_every, 0, kMostSeconds);
  if (output.checkpoint.empty() && output.checkpoint_every > 0.0) {
    throw UsageError("--checkpoint-every goes with --checkpoint");
  }
}

}  // namespace dpreduce
