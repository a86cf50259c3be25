// Two attacks that know nothing of the mechanism's inside: they learn from runs in both worlds to tell the worlds
// apart.
//
// Legend: x is what one run publishes, p numbers, each scaled by its mean and standard deviation over both worlds;
// m_w and C_w are mean and covariance of x in world w, I the identity.
//
//     linear       score = (m_1 - m_0)^T ((C_0 + C_1) / 2 + r I)^-1 x                     (Fisher's discriminant)
//     quadratic    score = q_0(x) - q_1(x),  q_w = (x - m_w)^T (C_w + r I)^-1 (x - m_w)
//
// The linear one is the best there is where noise is Gaussian and equal in both worlds, as ours is meant to be. The
// quadratic one sees what a canary does to variances and correlations. With r = 1e-9 a combination of numbers that has
// no noise in it (noise that is shared, or absent) separates the worlds completely.
#pragma once

#include <cstddef>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/Core>

namespace dpreduce {

/// Runs as rows.
using Runs = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Runs of these numbers, as many in each. Precondition: at least one.
Runs table_of(const std::vector<std::vector<double>>& runs);

enum class Discriminant { kLinear, kQuadratic };

/// An attack that has been learned. High scores speak for world 1.
class Attack {
 public:
  /// Learns from n_0 and n_1 runs. Preconditions (asserted): at least two runs of each world, of the same length p.
  /// Cost: (n_0 + n_1) p^2 + p^3.
  Attack(Discriminant discriminant, const Runs& world_0, const Runs& world_1);

  /// One score a run. Precondition (asserted): p columns.
  Eigen::VectorXd scores(const Runs& runs) const;

 private:
  Eigen::VectorXd squared_distances(const Eigen::MatrixXd& scaled, int world) const;

  Discriminant discriminant_;
  Eigen::RowVectorXd center_;
  Eigen::RowVectorXd scale_;  // 1 / standard deviation
  Eigen::VectorXd direction_;
  Eigen::RowVectorXd means_[2];
  Eigen::LLT<Eigen::MatrixXd> factors_[2];  // of C_w + r I
};

}  // namespace dpreduce
