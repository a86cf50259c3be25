// Noise of a release's law, from a public seed: for what is simulated of noise that is known. Never for privacy.
#pragma once

#include <cstdint>

#include "common/lattice/lattice_rows.hpp"
#include "common/plan/released_block.hpp"
#include "common/plan/triangle.hpp"
#include "common/simulation/counter_random.hpp"

namespace dpreduce {

/// One number after the other.
class NormalStream {
 public:
  NormalStream(std::uint64_t seed, std::uint64_t stream) : random_(seed, stream) {}
  double next() {
    if (has_other_) return has_other_ = false, other_;
    const auto [one, other] = random_.normals(next_++);
    other_ = other;
    has_other_ = true;
    return one;
  }

 private:
  CounterRandom random_;
  std::uint64_t next_ = 0;
  double other_ = 0.0;
  bool has_other_ = false;
};

/// The block with factor N added to it, N of its noise's law; `triangle` says that it is an upper triangle of that
/// order, else 0. Its sigma becomes that of both.
inline ReleasedBlock with_noise(const ReleasedBlock& block, double factor, std::size_t triangle, NormalStream normals) {
  std::vector<std::int64_t> values(block.values().begin(), block.values().end());
  std::size_t column = 0;
  std::size_t row = 0;
  for (std::int64_t& value : values) {
    const bool is_beside = triangle > 0 && column > row;
    value += std::llround(factor * block.sigma() * normals.next() * (is_beside ? std::sqrt(0.5) : 1.0));
    if (triangle > 0 && ++column == triangle) column = ++row;
  }
  return {block.name(), std::move(values), block.sigma() * std::hypot(1.0, factor)};
}

}  // namespace dpreduce
