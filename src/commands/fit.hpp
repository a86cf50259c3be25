// `dpreduce fit`, for those that fit as the command does: parties among silos, sweeps, audits.
#pragma once

#include "common/ranks/communicator.hpp"
#include "methods/options/fit_options.hpp"

namespace dpreduce {

/// What fit_command() comes to. Collective: trains, tests and writes as `options`, which are validated, say.
struct FitCommand {
  FitOptions options;
  void operator()(Communicator& ranks) const;
};

}  // namespace dpreduce
