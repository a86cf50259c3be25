#include "synthetic_round.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>

#include "common/kernels/thread_team.hpp"

namespace dpreduce {
namespace {

constexpr std::uint64_t kRowsOfChunk = 4096;

KeptChunks chunks_of(std::uint64_t rows, std::size_t dim, std::size_t classes, unsigned threads) {
  const RowTransform transform(Preprocessing{.input_dim = dim, .center = {}});
  KeptChunks chunks;
  for (std::uint64_t first = 0; first < rows; first += kRowsOfChunk) {
    const std::uint64_t count = std::min(kRowsOfChunk, rows - first);
    std::vector<std::int32_t> labels(count);
    for (std::uint64_t row = 0; row < count; ++row) labels[row] = static_cast<std::int32_t>((first + row) % classes);
    chunks.emplace_back(Lattice{1.0, dim}, count);
    chunks.back().assign(transform, synthetic_features(count, dim), labels, threads);
    chunks.back().measure_energies(threads);
  }
  return chunks;
}

std::vector<double> weights_of(std::size_t classes, std::size_t dim) {
  const std::vector<float> uniform = synthetic_features(classes, dim);
  return {uniform.begin(), uniform.end()};
}

}  // namespace

std::vector<float> synthetic_features(std::uint64_t rows, std::size_t dim) {
  std::mt19937 bits(1);
  std::vector<float> features(rows * dim);
  for (float& feature : features) feature = static_cast<float>(static_cast<std::int32_t>(bits())) * 0x1p-31F;
  return features;
}

SyntheticRound::SyntheticRound(std::uint64_t rows, std::size_t dim, std::size_t classes, unsigned threads)
    : chunks_(chunks_of(rows, dim, classes, threads)),
      weights_(weights_of(classes, dim), Lattice{1.0, dim}),
      threads_(threads) {}

RoundSeconds SyntheticRound::accumulate(std::span<std::int64_t> gradient) const {
  const GradientPoint point{weights_};
  ChunkResiduals residuals(point, threads_);
  for (const LatticeRows& chunk : chunks_) residuals.accumulate(chunk, gradient);
  return residuals.seconds();
}

std::int64_t SyntheticRound::read() const {
  std::atomic<std::int64_t> sum{0};
  ThreadTeam team(threads_);
  team.for_each(chunks_.size(), [&](std::size_t index) {
    const std::int16_t* const values = chunks_[index].values();
    std::int64_t of_chunk = 0;
    for (std::size_t value = 0; value + 4 <= chunks_[index].rows() * chunks_[index].dim(); value += 4) {
      std::int64_t four;
      std::memcpy(&four, values + value, sizeof four);
      of_chunk ^= four;
    }
    sum ^= of_chunk;
  });
  return sum;
}

}  // namespace dpreduce
