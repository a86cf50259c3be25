// `dpreduce privacy compose`: what several mechanisms cost together.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/choices.hpp"

namespace dpreduce {

struct CommandEntry;

/// `--gaussian Z:K`: one mechanism, count times.
struct MechanismSpec {
  MechanismKind kind = MechanismKind::kGaussian;
  double parameter = 0.0;      ///< noise multiplier of Gaussians, epsilon of the others
  double sampling_rate = 1.0;  ///< of subsampled Gaussians
  std::uint64_t count = 1;
  bool operator==(const MechanismSpec&) const = default;
};

struct ComposeOptions {
  std::vector<MechanismSpec> run;
  double delta = 0.0;
  Adjacency adjacency = Adjacency::kAddRemove;
  std::uint64_t group = 1;  ///< records that differ
  OutputFormat format = OutputFormat::kText;
  bool operator==(const ComposeOptions&) const = default;
};

/// Throws UsageError naming option, value and limit.
ComposeOptions validated(ComposeOptions options);

/// The command as the command line sees it.
CommandEntry compose_command();

}  // namespace dpreduce
