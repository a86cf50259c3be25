// What a user asked of a fit, in parts. Names and defaults are the command-line contract.
#pragma once

#include "dpreduce/methods/options/data_options.hpp"
#include "dpreduce/methods/options/machine_options.hpp"
#include "dpreduce/methods/options/method_options.hpp"
#include "dpreduce/methods/options/output_options.hpp"
#include "dpreduce/methods/options/privacy_options.hpp"
#include "dpreduce/methods/options/row_options.hpp"
#include "dpreduce/methods/options/silo_options.hpp"

namespace dpreduce {

struct FitOptions {
  DataOptions data;
  RowOptions rows;
  MethodOptions method;
  PrivacyOptions privacy;
  OutputOptions output;
  MachineOptions machine;
  SiloOptions silos;
};

/// Whether prototypes may be chosen among public rows: then every rank opens all of these.
bool may_choose_prototypes(const FitOptions& options);

/// `options`, each part checked by itself, what the method takes, and what crosses parts. A --batch of all rows is
/// none. Throws UsageError naming option, value and limit.
FitOptions validated(FitOptions options);

}  // namespace dpreduce
