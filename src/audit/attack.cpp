#include "audit/attack.hpp"

#include <algorithm>
#include <cmath>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

// Far below any noise (scaled to 1), far above the rounding of the sums behind a covariance.
constexpr double kRidge = 1e-9;

Eigen::MatrixXd covariance(const Eigen::MatrixXd& rows, const Eigen::RowVectorXd& mean) {
  const Eigen::MatrixXd centered = rows.rowwise() - mean;
  return centered.transpose() * centered / static_cast<double>(rows.rows());
}

}  // namespace

Runs table_of(const std::vector<std::vector<double>>& runs) {
  Runs table(static_cast<Eigen::Index>(runs.size()), static_cast<Eigen::Index>(runs.front().size()));
  for (std::size_t run = 0; run < runs.size(); ++run) {
    DPREDUCE_ASSERT(runs[run].size() == runs.front().size());
    std::copy(runs[run].begin(), runs[run].end(), table.row(static_cast<Eigen::Index>(run)).begin());
  }
  return table;
}

Attack::Attack(Discriminant discriminant, const Runs& world_0, const Runs& world_1) : discriminant_(discriminant) {
  DPREDUCE_ASSERT(world_0.rows() >= 2 && world_1.rows() >= 2 && world_0.cols() == world_1.cols());
  const Eigen::Index p = world_0.cols();
  center_ = (world_0.colwise().mean() + world_1.colwise().mean()) / 2;
  const Eigen::RowVectorXd squares = ((world_0.rowwise() - center_).array().square().colwise().mean() +
                                      (world_1.rowwise() - center_).array().square().colwise().mean()) /
                                     2;
  // A number that never changes is 0 after centering, whatever its scale.
  scale_ = squares.unaryExpr([](double square) { return square > 0.0 ? 1.0 / std::sqrt(square) : 1.0; });

  Eigen::MatrixXd covariances[2];
  for (int world = 0; world < 2; ++world) {
    const Runs& runs = world == 0 ? world_0 : world_1;
    const Eigen::MatrixXd scaled = (runs.rowwise() - center_).array().rowwise() * scale_.array();
    means_[world] = scaled.colwise().mean();
    covariances[world] = covariance(scaled, means_[world]);
  }
  const Eigen::MatrixXd ridge = kRidge * Eigen::MatrixXd::Identity(p, p);
  if (discriminant == Discriminant::kLinear) {
    const Eigen::MatrixXd pooled = (covariances[0] + covariances[1]) / 2 + ridge;
    direction_ = pooled.llt().solve((means_[1] - means_[0]).transpose());
  } else {
    for (int world = 0; world < 2; ++world) factors_[world].compute(covariances[world] + ridge);
  }
}

Eigen::VectorXd Attack::squared_distances(const Eigen::MatrixXd& scaled, int world) const {
  const Eigen::MatrixXd centered = (scaled.rowwise() - means_[world]).transpose();
  return factors_[world].matrixL().solve(centered).colwise().squaredNorm().transpose();
}

Eigen::VectorXd Attack::scores(const Runs& runs) const {
  DPREDUCE_ASSERT(runs.cols() == center_.size());
  const Eigen::MatrixXd scaled = (runs.rowwise() - center_).array().rowwise() * scale_.array();
  if (discriminant_ == Discriminant::kLinear) return scaled * direction_;
  return squared_distances(scaled, 0) - squared_distances(scaled, 1);
}

}  // namespace dpreduce
