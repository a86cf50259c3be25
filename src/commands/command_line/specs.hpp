// The small languages of single option values: `--gaussian Z:K`, `--block NAME:D:W`.
//
//   numbers   finite decimals ("1.5", "1e-3"); a range is checked where its meaning is known
//   counts    whole numbers of digits, 1 where left out
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/spelling.hpp"

namespace dpreduce {

/// What `privacy compose` composes; each has an option of its name.
enum class MechanismKind { kGaussian, kSubsampled, kExponential, kLaplace, kPure };
template <>
inline constexpr std::array spellings<MechanismKind>{
    std::pair{std::string_view{"gaussian"}, MechanismKind::kGaussian},
    std::pair{std::string_view{"subsampled"}, MechanismKind::kSubsampled},
    std::pair{std::string_view{"exponential"}, MechanismKind::kExponential},
    std::pair{std::string_view{"laplace"}, MechanismKind::kLaplace},
    std::pair{std::string_view{"pure"}, MechanismKind::kPure}};

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
