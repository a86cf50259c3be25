#include "common/model/class_scores.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "common/base/error.hpp"
#include "common/kernels/vector_width.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kTile = 8;

// scores_r = sum_a rows_ra tile_a, one lane a class: rows share each load of the tile, and no sum is ever taken over
// lanes.
template <std::size_t count, std::size_t width>
void tile_sums(const std::array<const double*, count>& rows, const double* tile, std::size_t dim,
               std::array<EightDoubles<width>, count>& scores) {
  std::array<EightDoubles<width>, count> sums;
  sums.fill(0.0);
  for (std::size_t a = 0; a < dim; ++a) {
    const EightDoubles<width> weights(tile + a * kTile);
    for (std::size_t row = 0; row < count; ++row) sums[row] += weights * rows[row][a];
  }
  scores = sums;
}

}  // namespace

ClassScores::ClassScores(std::span<const double> matrix, std::size_t classes, std::size_t dim)
    : classes_(classes), dim_(dim), tiles_((classes + kTile - 1) / kTile * kTile * dim) {
  DPREDUCE_ASSERT(matrix.size() == classes * dim);
  for (std::size_t label = 0; label < classes; ++label) {
    double* tile = tiles_.data() + label / kTile * kTile * dim;
    for (std::size_t a = 0; a < dim; ++a) tile[a * kTile + label % kTile] = matrix[label * dim + a];
  }
}

void ClassScores::operator()(std::span<const double> rows, std::span<double> scores) const {
  const std::size_t n = rows.size() / dim_;
  DPREDUCE_ASSERT(rows.size() == n * dim_ && scores.size() == n * classes_);
  // A tile stays in cache while all rows of the chunk pass it, as many together as keep eight registers of sums busy.
  run_at_full_width([&]<std::size_t width>(Doubles<width>) {
    constexpr std::size_t kTogether = width;
    for (std::size_t begin = 0; begin < classes_; begin += kTile) {
      const std::size_t classes = std::min(kTile, classes_ - begin);
      for (std::size_t row = 0; row < n; row += kTogether) {
        // Beyond the last row it is computed again, and written once.
        std::array<const double*, kTogether> together;
        for (std::size_t i = 0; i < kTogether; ++i) together[i] = rows.data() + std::min(row + i, n - 1) * dim_;
        std::array<EightDoubles<width>, kTogether> sums;
        tile_sums(together, tiles_.data() + begin * dim_, dim_, sums);
        for (std::size_t i = 0; i < std::min(kTogether, n - row); ++i) {
          std::array<double, kTile> of_row;
          sums[i].store(of_row.data());
          std::copy_n(of_row.begin(), classes, &scores[(row + i) * classes_ + begin]);
        }
      }
    }
  });
}

void softmax(std::span<double> v) {
  const double largest = *std::max_element(v.begin(), v.end());
  double sum = 0.0;
  for (double& entry : v) sum += entry = std::exp(entry - largest);
  for (double& entry : v) entry /= sum;
}

void to_probabilities(Link link, std::span<double> v) {
  if (link == Link::kSoftmax) return softmax(v);
  for (double& entry : v) entry = 1.0 / (1.0 + std::exp(-entry));
}

}  // namespace dpreduce
