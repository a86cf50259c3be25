#include "dpreduce/model/class_scores.hpp"

#include <algorithm>
#include <array>

#include <Eigen/Core>

#include "dpreduce/config/error.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kTile = 8;

// One score of each class of a tile. Eigen keeps it in registers, and adds and multiplies entry by entry: no sum over
// entries is ever taken.
using TileScores = Eigen::Array<double, kTile, 1>;

// upper_k = sum_a first_a tile_ak and lower_k = sum_a second_a tile_ak: two rows share each load of the tile.
std::array<TileScores, 2> tile_sums(const double* first, const double* second, const double* tile, std::size_t dim) {
  TileScores upper = TileScores::Zero();
  TileScores lower = TileScores::Zero();
  for (std::size_t a = 0; a < dim; ++a) {
    const Eigen::Map<const TileScores> weights(tile + a * kTile);
    upper += first[a] * weights;
    lower += second[a] * weights;
  }
  return {upper, lower};
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
  // A tile stays in cache while all rows of the chunk pass it.
  for (std::size_t begin = 0; begin < classes_; begin += kTile) {
    const std::size_t width = std::min(kTile, classes_ - begin);
    const double* tile = tiles_.data() + begin * dim_;
    for (std::size_t row = 0; row < n; row += 2) {
      // An odd last row is computed twice, and written once.
      const std::size_t next = std::min(row + 1, n - 1);
      const auto [upper, lower] = tile_sums(rows.data() + row * dim_, rows.data() + next * dim_, tile, dim_);
      std::copy_n(upper.data(), width, &scores[row * classes_ + begin]);
      if (next > row) std::copy_n(lower.data(), width, &scores[next * classes_ + begin]);
    }
  }
}

}  // namespace dpreduce
