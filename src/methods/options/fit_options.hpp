// What a user asked of a fit, in parts. Names and defaults are the command-line contract.
#pragma once

#include "common/base/archive_all.hpp"
#include "methods/options/data_options.hpp"
#include "methods/options/machine_options.hpp"
#include "methods/options/method_options.hpp"
#include "methods/options/output_options.hpp"
#include "methods/options/privacy_options.hpp"
#include "methods/options/row_options.hpp"
#include "methods/options/silo_options.hpp"

namespace dpreduce {

struct FitOptions {
  DataOptions data;
  RowOptions rows;
  MethodOptions method;
  PrivacyOptions privacy;
  OutputOptions output;
  MachineOptions machine;
  SiloOptions silos;
  bool operator==(const FitOptions&) const = default;
};

template <typename Archive>
void serialize(Archive& archive, FitOptions& options, unsigned) {
  auto& [data, rows, method, privacy, output, machine, silos] = options;
  archive_all(archive, data, rows, method, privacy, output, machine, silos);
}

}  // namespace dpreduce
