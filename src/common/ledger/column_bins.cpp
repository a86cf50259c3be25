#include "common/ledger/column_bins.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr int kMostExponent = 60;
constexpr std::size_t kExponents = 2 * kMostExponent + 1;
constexpr std::size_t kZeroBin = kExponents;  // of sizes: negative numbers below it, positive ones above
constexpr int kMostHalves = 2 * kMostExponent;
constexpr double kSmallestResidualExponent = 6.0;

}  // namespace

std::size_t signed_bin(double value) {
  const double size = std::abs(value);
  if (!(size >= std::exp2(-kMostExponent))) return kZeroBin;
  const int exponent = std::isinf(size) ? kMostExponent : std::min(std::ilogb(size), kMostExponent);
  const auto step = static_cast<std::size_t>(exponent + kMostExponent + 1);
  return value > 0.0 ? kZeroBin + step : kZeroBin - step;
}

std::pair<double, double> edges_of_signed_bin(std::size_t bin) {
  DPREDUCE_ASSERT(bin < kColumnBins);
  if (bin == kZeroBin) return {0.0, 0.0};
  const bool is_positive = bin > kZeroBin;
  const std::size_t step = is_positive ? bin - kZeroBin : kZeroBin - bin;
  const double near = std::exp2(static_cast<double>(step) - 1.0 - kMostExponent);
  return is_positive ? std::pair{near, 2.0 * near} : std::pair{-2.0 * near, -near};
}

constexpr double kPlaces = static_cast<double>(kColumnBins - 2);

std::size_t place_bin(double value) {
  if (!(value >= -1.0)) return 0;
  if (value >= 1.0) return kColumnBins - 1;
  return 1 + std::min(static_cast<std::size_t>(0.5 * (value + 1.0) * kPlaces), kColumnBins - 3);
}

std::pair<double, double> edges_of_place(std::size_t bin) {
  DPREDUCE_ASSERT(bin >= 1 && bin + 1 < kColumnBins);
  const double first = 2.0 * static_cast<double>(bin - 1) / kPlaces - 1.0;
  return {first, first + 2.0 / kPlaces};
}

std::size_t distance_bin(double distance) {
  if (!(distance >= std::exp2(-kMostExponent))) return 0;
  if (std::isinf(distance)) return kColumnBins - 2;
  const int exponent = std::ilogb(distance);
  const int halves = 2 * exponent + (std::scalbn(distance, -exponent) >= std::numbers::sqrt2 ? 1 : 0);
  return static_cast<std::size_t>(std::min(halves, kMostHalves) + kMostHalves + 1);
}

double upper_edge_of_distance(std::size_t bin) {
  DPREDUCE_ASSERT(bin < kColumnBins);
  return std::exp2(0.5 * static_cast<double>(bin) - kMostExponent);
}

constexpr double kLengthsPerOctave = 8.0;

std::size_t length_bin(double length) {
  const double place = kLengthsPerOctave * (std::log2(length) + kMostExponent);
  if (!(place >= 0.0)) return 0;
  return 1 + std::min(static_cast<std::size_t>(std::min(place, 1e6)), kLengthBins - 2);
}

double upper_edge_of_length(std::size_t bin) {
  DPREDUCE_ASSERT(bin < kLengthBins);
  return std::exp2(static_cast<double>(bin) / kLengthsPerOctave - kMostExponent);
}

std::size_t residual_bin(double length) {
  std::size_t bin = 0;
  while (bin + 1 < kResidualBins && length > upper_edge_of_residual(bin)) ++bin;
  return bin;
}

double upper_edge_of_residual(std::size_t bin) {
  return std::exp2(0.5 * static_cast<double>(bin) - kSmallestResidualExponent);
}

}  // namespace dpreduce
