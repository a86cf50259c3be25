#include "commands/command_line/specs.hpp"

#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ':') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// All of the text as a number of this type, or nothing.
template <typename Number>
std::optional<Number> number_of(const std::string& text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

std::optional<double> finite_of(const std::string& text) {
  const std::optional<double> number = number_of<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::string_view legend_of(MechanismKind kind) {
  if (kind == MechanismKind::kGaussian) return "Z the noise multiplier, K how often";
  if (kind == MechanismKind::kSubsampled) return "Z the noise multiplier, Q the sampling rate, K how often";
  return "E the epsilon, K how often";
}

}  // namespace

std::string_view parameters_of(MechanismKind kind) {
  switch (kind) {
    case MechanismKind::kGaussian:
      return "Z";
    case MechanismKind::kSubsampled:
      return "Z:Q";
    case MechanismKind::kExponential:
    case MechanismKind::kLaplace:
    case MechanismKind::kPure:
      return "E";
  }
  throw std::logic_error("dpreduce: internal error: a mechanism without parameters");
}

MechanismSpec parse_mechanism_spec(MechanismKind kind, const std::string& text) {
  const auto refuse = [&]() -> UsageError {
    return UsageError(fmt::format("--{} {}: must be {}[:K], {} (a whole number, 1 where left out)", to_string(kind),
                                  text, parameters_of(kind), legend_of(kind)));
  };
  const std::vector<std::string> parts = parts_of(text);
  const std::size_t needed = kind == MechanismKind::kSubsampled ? 2 : 1;
  if (parts.size() < needed || parts.size() > needed + 1) throw refuse();
  MechanismSpec spec{.kind = kind};
  const std::optional<double> parameter = finite_of(parts[0]);
  if (!parameter) throw refuse();
  spec.parameter = *parameter;
  if (kind == MechanismKind::kSubsampled) {
    const std::optional<double> rate = finite_of(parts[1]);
    if (!rate) throw refuse();
    spec.sampling_rate = *rate;
  }
  if (parts.size() > needed) {
    const auto count = number_of<std::uint64_t>(parts[needed]);
    if (!count || *count == 0) throw refuse();
    spec.count = *count;
  }
  return spec;
}

BlockSpec parse_block_spec(const std::string& text) {
  const auto refuse = [&]() -> UsageError {
    return UsageError(fmt::format(
        "--block {}: must be NAME:D[:W], D the L2 sensitivity and W the loss weight, both above 0 (W is 1 where left "
        "out)",
        text));
  };
  const std::vector<std::string> parts = parts_of(text);
  if (parts.size() < 2 || parts.size() > 3 || parts[0].empty()) throw refuse();
  BlockSpec block{.name = parts[0]};
  for (std::size_t part = 1; part < parts.size(); ++part) {
    const std::optional<double> number = finite_of(parts[part]);
    if (!number || !(*number > 0.0)) throw refuse();
    (part == 1 ? block.sensitivity : block.loss_weight) = *number;
  }
  return block;
}

}  // namespace dpreduce
