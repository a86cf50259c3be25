#include "worker/row_digest.hpp"

#include "common/base/error.hpp"
#include "common/kernels/integer_kernel.hpp"
#include "common/randomness/noise_key.hpp"
#include "common/randomness/random_stream.hpp"
#include "worker/lattice_stream.hpp"

namespace dpreduce {
namespace {

static_assert(kDigestLanes % 2 == 0, "two lanes a block of F");

SecretVector<std::byte> key_of(std::span<const std::byte, 32> secret, const char* purpose) {
  SecretVector<std::byte> key(32);
  NoiseKey::from_bytes(secret).stream(purpose, {}).fill(key);
  return key;
}

// Independent and uniform in [-S, S]: 16 bits each, without the one value that is outside.
SecretVector<std::int16_t> coefficients_of(std::span<const std::byte, 32> secret, std::size_t count) {
  RandomStream stream = NoiseKey::from_bytes(secret).stream("row coefficients", {});
  SecretVector<std::int16_t> coefficients(count);
  for (std::size_t entry = 0; entry < count;) {
    std::uint64_t word = stream.next_u64();
    for (int quarter = 0; quarter < 4 && entry < count; ++quarter, word >>= 16) {
      const auto value = static_cast<std::int16_t>(static_cast<std::uint16_t>(word));
      if (value >= -kLatticeNorm) coefficients[entry++] = value;
    }
  }
  return coefficients;
}

}  // namespace

RowHasher::RowHasher(std::span<const std::byte, 32> secret, std::size_t dim)
    : dim_(dim),
      coefficients_(coefficients_of(secret, kDigestLanes * dim)),
      mac_(std::span<const std::byte, 32>(key_of(secret, "row digest"))),
      weight_mac_(std::span<const std::byte, 32>(key_of(secret, "row weights"))) {}

std::vector<RowDigest> RowHasher::of_rows(const LatticeRows& chunk, std::span<const RowWeight> weights,
                                          unsigned threads) const {
  DPREDUCE_ASSERT(chunk.dim() == dim_);
  const std::size_t rows = chunk.rows();
  SecretVector<std::int64_t> lanes(rows * kDigestLanes);
  select_kernel().accumulate_row_products(view_of(chunk), {coefficients_.data(), kDigestLanes, dim_, dim_},
                                          {lanes.data(), rows, kDigestLanes, kDigestLanes}, threads);

  // 4 + k blocks a message: the lanes two by two, then (slot, half of the digest) for every slot.
  SecretVector<RandomBlock> of_lanes(rows);
  SecretVector<RandomBlock> blocks(rows);
  for (std::size_t lane = 0; lane < kDigestLanes; lane += 2) {
    for (std::size_t row = 0; row < rows; ++row) {
      blocks[row] = {static_cast<std::uint64_t>(lanes[row * kDigestLanes + lane]),
                     static_cast<std::uint64_t>(lanes[row * kDigestLanes + lane + 1])};
    }
    mac_.chain(of_lanes, blocks);
  }
  const auto finished = [&](std::uint64_t half) {
    SecretVector<RandomBlock> states = of_lanes;
    const std::size_t slots = chunk.labels_per_row();
    for (std::size_t slot = 0; slot < slots; ++slot) {
      for (std::size_t row = 0; row < rows; ++row) {
        blocks[row] = {static_cast<std::uint64_t>(chunk.labels()[row * slots + slot]), half};
      }
      mac_.chain(states, blocks);
    }
    if (weights.empty()) return states;
    // The digest of rows that are not whole is under a key of its own: the digest of a whole row is that of a row
    // without weight.
    SecretVector<RandomBlock> weighed = states;
    for (std::size_t row = 0; row < rows; ++row) blocks[row] = {weights[row], half};
    weight_mac_.chain(weighed, blocks);
    for (std::size_t row = 0; row < rows; ++row) {
      if (weights[row] != kWholeRow) states[row] = weighed[row];
    }
    return states;
  };
  const SecretVector<RandomBlock> low = finished(0);
  const SecretVector<RandomBlock> high = finished(1);
  std::vector<RowDigest> digests(rows, RowDigest{});
  for (std::size_t row = 0; row < rows; ++row) {
    if (chunk.counts(row)) digests[row] = {low[row].first, low[row].second, high[row].first, high[row].second};
  }
  return digests;
}

void RowHasher::accumulate(const LatticeRows& chunk, std::span<const RowWeight> weights, std::span<RowDigest> by_class,
                           unsigned threads) const {
  const std::vector<RowDigest> digests = of_rows(chunk, weights, threads);
  for (std::size_t row = 0; row < digests.size(); ++row) {
    for (const std::int32_t label : chunk.classes_of(row)) {
      DPREDUCE_ASSERT(static_cast<std::size_t>(label) < by_class.size());
      RowDigest& sum = by_class[static_cast<std::size_t>(label)];
      for (std::size_t word = 0; word < sum.size(); ++word) sum[word] += digests[row][word];
    }
  }
}

}  // namespace dpreduce
