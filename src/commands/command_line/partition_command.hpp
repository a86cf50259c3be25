// `dpreduce synth partition`: one data set as the files of simulated silos.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/choices.hpp"

namespace dpreduce {

struct CommandEntry;

/// `synth partition`: one data set as the files of simulated silos.
struct PartitionOptions {
  std::vector<std::string> x;
  std::vector<std::string> y;
  std::string out_dir;
  std::size_t classes = 0;
  std::size_t silos = 0;
  std::size_t first_silo = 1;  ///< number of the first
  Partition scheme = Partition::kIid;
  std::optional<double> alpha;                  ///< of the Dirichlet distribution; kDirichlet, kQuantity
  std::optional<std::size_t> classes_per_silo;  ///< kClasses
  std::optional<double> rotation;               ///< degrees; kFeatureShift
  std::optional<double> offset;                 ///< of each feature; kFeatureShift
  std::uint64_t seed = 0;
  OutputFormat format = OutputFormat::kText;
  bool operator==(const PartitionOptions&) const = default;
};

/// Throws UsageError naming option, value and limit.
PartitionOptions validated(PartitionOptions options);

/// The command as the command line sees it.
CommandEntry partition_command();

}  // namespace dpreduce
