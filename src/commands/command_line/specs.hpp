// The small languages of single option values: `--gaussian Z:K`, `--block NAME:D:W`.
//
//   numbers   finite decimals ("1.5", "1e-3"); a range is checked where its meaning is known
//   counts    whole numbers of digits, 1 where left out
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/choices.hpp"

namespace dpreduce {

/// `--gaussian Z:K`: one mechanism, count times.
struct MechanismSpec {
  MechanismKind kind = MechanismKind::kGaussian;
  double parameter = 0.0;      ///< noise multiplier of Gaussians, epsilon of the others
  double sampling_rate = 1.0;  ///< of subsampled Gaussians
  std::uint64_t count = 1;
};

/// `--block NAME:D:W`.
struct BlockSpec {
  std::string name;
  double sensitivity = 0.0;
  double loss_weight = 1.0;
};

/// "Z", "Z:Q", "E": the parts that a mechanism of this kind must have; ":K", the count, may follow.
std::string_view parameters_of(MechanismKind kind);

/// Throws UsageError with option, text and form, unless text is parameters_of(kind), optionally with ":K".
MechanismSpec parse_mechanism_spec(MechanismKind kind, const std::string& text);

/// Throws UsageError with the text and the form, unless it is NAME:D or NAME:D:W, NAME not empty, D and W > 0.
BlockSpec parse_block_spec(const std::string& text);

}  // namespace dpreduce
