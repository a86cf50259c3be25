// Plain C++ that compilers vectorize for whatever the target has.
#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "common/kernels/instruction_set.hpp"
#include "common/kernels/matrix_view.hpp"
#include "common/kernels/packed_panels.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kRows = 4;
constexpr std::size_t kLanes = 8;

// The largest of them, unless a value is -32768.
std::uint32_t largest_energy(std::span<const std::uint32_t> energies, std::int16_t lowest) {
  if (lowest == std::numeric_limits<std::int16_t>::min()) return kNoEnergy;
  return *std::max_element(energies.begin(), energies.end());
}

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
  return largest_energy(energies, lowest);
}

void widen(const std::int32_t* sums, std::size_t count, std::int64_t* c) {
  for (std::size_t column = 0; column < count; ++column) c[column] = ring_sum(c[column], sums[column]);
}

constexpr std::size_t kValues = 2 * kLanes;
constexpr std::size_t kSums = 4;

template <std::size_t rows, std::size_t others>
void dots(const std::int16_t* a, std::size_t a_stride, const std::int16_t* panel, std::size_t count, std::int64_t* c,
          std::size_t c_stride) {
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t o = 0; o < others; ++o) {
      const std::int16_t* const left = a + r * a_stride;
      const std::int16_t* right = panel + o * kValues;
      std::array<std::int32_t, kLanes> sums{};
      std::size_t k = 0;
      for (; k + kValues <= count; k += kValues, right += others * kValues) {
        for (std::size_t at = 0; at < kValues; at += 2) {
          sums[at / 2] += left[k + at] * right[at] + left[k + at + 1] * right[at + 1];
        }
      }
      for (std::size_t at = 0; k + at < count; ++at) sums[at / 2] += left[k + at] * right[at];
      std::int64_t& target = c[r * c_stride + o];
      for (const std::int32_t sum : sums) target = ring_sum(target, sum);
    }
  }
}

template <std::size_t others>
void outer(const std::int16_t* r, std::size_t r_stride, const Int16View& q, std::int64_t* c, std::size_t c_stride) {
  std::array<std::int32_t, others * kValues> sums{};
  for (std::size_t k = 0; k < q.rows; ++k) {
    const std::int16_t* const row = q.row(k);
    for (std::size_t o = 0; o < others; ++o) {
      const std::int32_t factor = r[k / 2 * r_stride + 2 * o + k % 2];
      for (std::size_t column = 0; column < q.cols; ++column) sums[o * kValues + column] += factor * row[column];
    }
  }
  for (std::size_t o = 0; o < others; ++o) {
    std::int64_t* const target = c + o * c_stride;
    for (std::size_t column = 0; column < q.cols; ++column) {
      target[column] = ring_sum(target[column], sums[o * kValues + column]);
    }
  }
}

std::uint32_t measure_row(const std::int16_t* row, std::size_t count, std::size_t stripe, std::uint32_t* energies) {
  std::array<std::uint32_t, kLanes> whole{};
  std::int16_t lowest = 0;
  for (std::size_t first = 0; first < count; first += stripe, ++energies) {
    const std::size_t end = std::min(first + stripe, count);
    std::array<std::uint32_t, kLanes> lanes{};
    for (std::size_t k = first; k < end; k += 2) {
      const std::int16_t second = k + 1 < end ? row[k + 1] : std::int16_t{0};
      lanes[k % kValues / 2] += energy_units(row[k], second);
      lowest = std::min({lowest, row[k], second});
    }
    for (std::size_t lane = 0; lane < kLanes; ++lane) whole[lane] += lanes[lane];
    *energies = std::max(*energies, *std::max_element(lanes.begin(), lanes.end()));
  }
  return largest_energy(whole, lowest);
}

std::uint32_t measure_columns(const Int16View& q) {
  std::array<std::uint32_t, kValues> energies{};
  std::int16_t lowest = 0;
  for (std::size_t k = 0; k < q.rows; k += 2) {
    for (std::size_t column = 0; column < q.cols; ++column) {
      const std::int16_t first = q.row(k)[column];
      const std::int16_t second = k + 1 < q.rows ? q.row(k + 1)[column] : std::int16_t{0};
      energies[column] += energy_units(first, second);
      lowest = std::min({lowest, first, second});
    }
  }
  return largest_energy(energies, lowest);
}

}  // namespace

MicroKernel portable_micro_kernel() {
  return {.name = "portable",
          .tile_rows = kRows,
          .lanes = kLanes,
          .multiply = {multiply<1>, multiply<2>, multiply<3>},
          .interleave = interleave,
          .measure = measure,
          .widen = widen,
          .most_dot_others = kSums,
          .most_outer_sums = kSums,
          .dots_of_row = {dots<1, 1>, dots<1, 2>, dots<1, 3>, dots<1, 4>},
          .dots = {dots<kDotRows, 1>, dots<kDotRows, 2>, dots<kDotRows, 3>, dots<kDotRows, 4>},
          .dots_again = {dots<kDotRows, 1>, dots<kDotRows, 2>, dots<kDotRows, 3>, dots<kDotRows, 4>},
          .outer = {outer<1>, outer<2>, outer<3>, outer<4>},
          .measure_row = measure_row,
          .measure_columns = measure_columns};
}

}  // namespace dpreduce
