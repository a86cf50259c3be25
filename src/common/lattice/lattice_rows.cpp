#include "dpreduce/lattice/lattice_rows.hpp"

#include <algorithm>
#include <cmath>
#include <thread>

#include "dpreduce/config/error.hpp"

namespace dpreduce {
namespace {

// q = round(u * factor), ties to even. Adding and subtracting 1.5 * 2^52 rounds to an integer in the current (nearest)
// mode for |value| < 2^51, with the same bits with and without vector instructions.
void round_scaled(std::span<const double> u, double factor, std::span<std::int16_t> q) {
  constexpr double kRoundToInteger = 6755399441055744.0;
  for (std::size_t a = 0; a < u.size(); ++a) {
    const double rounded = (u[a] * factor + kRoundToInteger) - kRoundToInteger;
    const double bounded = std::min(std::max(rounded, -double{kLatticeNorm}), double{kLatticeNorm});
    q[a] = static_cast<std::int16_t>(static_cast<std::int32_t>(bounded));
  }
}

std::int64_t squared_norm(std::span<const std::int16_t> q) {
  std::int64_t sum = 0;
  for (const std::int16_t entry : q) sum += std::int64_t{entry} * entry;
  return sum;
}

}  // namespace

double Lattice::scale() const {
  const double margin = std::ceil(std::sqrt(static_cast<double>(dim)) / 2.0);
  return (static_cast<double>(kLatticeNorm) - margin) / clip_norm;
}

bool quantize_row(std::span<const double> u, const Lattice& lattice, std::span<std::int16_t> q) {
  constexpr int kAttempts = 4;
  double factor = lattice.scale();
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    round_scaled(u, factor, q);
    if (squared_norm(q) <= kLatticeNorm * kLatticeNorm) return true;
    factor *= 1.0 - 1.0 / 1024.0;
  }
  std::fill(q.begin(), q.end(), std::int16_t{0});
  return false;
}

LatticeRows::LatticeRows(const Lattice& lattice, std::size_t capacity) : lattice_(lattice), capacity_(capacity) {
  if (!(lattice.scale() > 0.0)) {
    throw UsageError("rows have too many features for the integer lattice; reduce them with --pool");
  }
  values_.resize(capacity * lattice.dim);
  labels_.reserve(capacity);
}

void LatticeRows::assign(const RowTransform& transform, std::span<const float> features,
                         std::span<const std::int32_t> labels, unsigned threads) {
  const std::size_t rows = labels.size();
  DPREDUCE_ASSERT(rows <= capacity_ && transform.output_dim() == dim());
  DPREDUCE_ASSERT(features.size() == rows * transform.input_dim());
  labels_.assign(labels.begin(), labels.end());

  const std::size_t workers = std::max<std::size_t>(1, std::min<std::size_t>(threads, rows));
  std::vector<std::size_t> first_bad(workers, rows);
  const auto convert = [&](std::size_t worker) {
    std::vector<double> transformed(dim());
    const std::size_t last = rows * (worker + 1) / workers;
    for (std::size_t row = rows * worker / workers; row < last; ++row) {
      const bool finite = transform(features.subspan(row * transform.input_dim(), transform.input_dim()), transformed);
      quantize_row(transformed, lattice_, {values_.data() + row * dim(), dim()});
      if (!finite) {
        labels_[row] = kNoLabel;
        first_bad[worker] = std::min(first_bad[worker], row);
      }
    }
  };
  std::vector<std::jthread> pool;
  for (std::size_t worker = 1; worker < workers; ++worker) pool.emplace_back(convert, worker);
  convert(0);
  pool.clear();
  first_bad_row_ = *std::min_element(first_bad.begin(), first_bad.end());
}

}  // namespace dpreduce
