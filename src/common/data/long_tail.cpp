#include "common/data/long_tail.hpp"

#include <bit>
#include <cmath>
#include <span>
#include <utility>

#include "common/base/error.hpp"
#include "common/data/counter_random.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kRowsAtOnce = 1024;
constexpr std::uint64_t kTailStream = 0x7461696c;  // "tail"
// Odd, so that no word of a row is lost in its product.
constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15u;

// Every word passes through a bijection, so that rows that differ in one entry have different states there.
std::uint64_t hash_of(std::uint64_t key, std::span<const float> row) {
  std::uint64_t state = key;
  for (const float entry : row)
    state = mix_bits(state + kStep * (std::bit_cast<std::uint32_t>(entry) + std::uint64_t{1}));
  return state;
}

}  // namespace

std::vector<double> long_tail_shares(std::size_t classes, double ratio) {
  DPREDUCE_ASSERT(classes >= 2 && ratio >= 1.0 && std::isfinite(ratio));
  const double log_smallest = portable_log(1.0 / ratio);
  std::vector<double> shares(classes);
  for (std::size_t c = 0; c < classes; ++c) {
    shares[c] = portable_exp(log_smallest * (static_cast<double>(c) / static_cast<double>(classes - 1)));
  }
  return shares;
}

void keep_long_tail(WorkerRows& rows, std::size_t classes, const LongTail& tail) {
  DPREDUCE_ASSERT(rows.has_labels() && !rows.has_label_sets());
  const std::vector<double> shares = long_tail_shares(classes, tail.ratio);
  const CounterRandom keys(tail.seed, kTailStream);
  std::vector<std::uint64_t> kept;
  std::vector<float> decoded;
  RowStream stream(rows, classes, kRowsAtOnce);
  while (const auto chunk = stream.next()) {
    for (std::size_t row = 0; row < chunk->rows; ++row) {
      if (chunk->labels[row] == kUnlistedLabel) continue;  // it counts nowhere
      const auto label = static_cast<std::size_t>(chunk->labels[row]);
      const std::uint64_t hash =
          hash_of(keys.bits(label), chunk->features.decoded(row * rows.dim(), rows.dim(), decoded));
      // 53 bits of the hash against a double below 1; a class of share 1 keeps all.
      if (static_cast<double>(hash >> 11) * 0x1p-53 < shares[label]) kept.push_back(chunk->first_row + row);
    }
  }
  rows.keep(std::move(kept));
}

}  // namespace dpreduce
