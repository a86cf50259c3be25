// Plain C++ that compilers vectorize for whatever the target has.
#include <algorithm>
#include <array>
#include <limits>

#include "common/kernels/energy_segments.hpp"
#include "common/kernels/matrix_view.hpp"
#include "common/kernels/micro_kernel.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kRows = 4;
constexpr std::size_t kLanes = 8;

template <std::size_t vectors>
void multiply(const std::int16_t* a, std::size_t a_stride, const std::int16_t* b, std::size_t b_stride,
              std::size_t pairs, std::int32_t* tile) {
  constexpr std::size_t width = vectors * kLanes;
  std::int32_t sums[kRows][width] = {};
  for (std::size_t pair = 0; pair < pairs; ++pair, a += a_stride, b += b_stride) {
    for (std::size_t row = 0; row < kRows; ++row) {
      const std::int32_t first = a[2 * row];
      const std::int32_t second = a[2 * row + 1];
      for (std::size_t column = 0; column < width; ++column) {
        sums[row][column] += first * b[2 * column] + second * b[2 * column + 1];
      }
    }
  }
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::size_t column = 0; column < width; ++column) tile[row * width + column] = sums[row][column];
  }
}

void interleave(const std::int16_t* first, const std::int16_t* second, std::size_t vectors, std::int16_t* packed) {
  for (std::size_t column = 0; column < vectors * kLanes; ++column) {
    packed[2 * column] = first[column];
    packed[2 * column + 1] = second[column];
  }
}

std::uint32_t measure(const std::int16_t* packed, std::size_t pairs, std::size_t vectors) {
  const std::size_t width = vectors * kLanes;
  std::array<std::uint32_t, kMaxTileVectors * kLanes> energies{};
  std::int16_t lowest = 0;
  for (std::size_t pair = 0; pair < pairs; ++pair, packed += 2 * width) {
    for (std::size_t column = 0; column < width; ++column) {
      const std::int16_t first = packed[2 * column];
      const std::int16_t second = packed[2 * column + 1];
      energies[column] += energy_units(first, second);
      lowest = std::min({lowest, first, second});
    }
  }
  const bool valid = lowest != std::numeric_limits<std::int16_t>::min();
  return valid ? *std::max_element(energies.begin(), energies.end()) : kNoEnergy;
}

void widen(const std::int32_t* sums, std::size_t count, std::int64_t* c) {
  for (std::size_t column = 0; column < count; ++column) c[column] = ring_sum(c[column], sums[column]);
}

}  // namespace

MicroKernel portable_micro_kernel() {
  return {"portable", kRows, kLanes, {multiply<1>, multiply<2>, multiply<3>}, interleave, measure, widen};
}

}  // namespace dpreduce
