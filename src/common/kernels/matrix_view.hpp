// Row-major views of lattice values and of their exact sums. A view owns nothing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dpreduce {

/// rows x cols lattice values, row r at data + r * stride. Every value lies in [-32767, 32767].
struct Int16View {
  const std::int16_t* data = nullptr;
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t stride = 0;

  const std::int16_t* row(std::size_t index) const { return data + index * stride; }
};

/// rows x cols exact sums in Z mod 2^64, row r at data + r * stride.
struct Int64View {
  std::int64_t* data = nullptr;
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t stride = 0;

  std::int64_t* row(std::size_t index) const { return data + index * stride; }
};

/// a + b in Z mod 2^64.
inline std::int64_t ring_sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

}  // namespace dpreduce
