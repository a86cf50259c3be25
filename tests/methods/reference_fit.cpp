#include "tests/methods/reference_fit.hpp"

#include "tests/elimination.hpp"
#include "tests/testing.hpp"
#include "tests/worker/drawn_numbers.hpp"

namespace dpreduce {
namespace {

using Matrix = std::vector<std::vector<double>>;

class Reference {
 public:
  Reference(const ReferenceRows& rows, const FitOptions& options, double intercept)
      : rows_(rows),
        options_(options),
        dim_(rows.lattice.dim),
        loss_(options.method.loss.value_or(Loss::kSoftmax)),
        weights_(rows.classes * dim_, 0.0) {
    const bool starts_low = options.method.name != "fc" && options.method.name != "newton";
    if (loss_ != Loss::kSigmoid || !starts_low) return;
    for (std::size_t c = 0; c < rows.classes; ++c) {
      weights_[c * dim_ + dim_ - 1] = -10.0 / (std::sqrt(intercept) * rows.lattice.clip_norm);
    }
  }

  std::vector<double> fit() {
    const std::uint64_t rounds = options_.method.rounds.value();
    std::vector<double> sum(weights_.size(), 0.0);
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      take_gradient();
      if (options_.method.name == "global-adapt") adapt();
      if (options_.method.name == "gd" || options_.method.name == "global-adapt") descend();
      if (options_.method.name == "adam") step_of_adam(static_cast<double>(round));
      if (options_.method.name == "fc") step_on_white_rows();
      if (options_.method.name == "newton") step_of_newton();
      for (std::size_t e = 0; e < sum.size(); ++e) sum[e] += weights_[e];
    }
    if (options_.method.iterate != Iterate::kAverage) return weights_;
    for (double& entry : sum) entry /= static_cast<double>(rounds);
    return sum;
  }

 private:
  double entry_of(std::size_t row, std::size_t a) const { return rows_.q[row][a] / rows_.lattice.scale(); }

  // p of one row, at weights that are rounded to 16 bits a class.
  std::vector<double> probabilities(std::size_t row, const std::vector<double>& weights) const {
    std::vector<double> p(rows_.classes, 0.0);
    for (std::size_t c = 0; c < rows_.classes; ++c) {
      for (std::size_t a = 0; a < dim_; ++a) p[c] += weights[c * dim_ + a] * entry_of(row, a);
    }
    if (loss_ == Loss::kSquare) return p;
    const double largest = loss_ == Loss::kSoftmax ? *std::max_element(p.begin(), p.end()) : 0.0;
    double sum = 0.0;
    for (double& entry : p) sum += entry = std::exp(entry - largest);
    for (double& entry : p) entry = loss_ == Loss::kSoftmax ? entry / sum : entry / (1.0 + entry);
    return p;
  }

  // Each of K rows rounded to 16 bits of its largest entry.
  std::vector<double> rounded(const std::vector<double>& exact) const {
    std::vector<double> result = exact;
    const std::size_t length = exact.size() / rows_.classes;
    for (std::size_t c = 0; c < rows_.classes; ++c) {
      double largest = 0.0;
      for (std::size_t a = 0; a < length; ++a) largest = std::max(largest, std::abs(exact[c * length + a]));
      if (largest == 0.0) continue;
      for (std::size_t a = 0; a < length; ++a) {
        result[c * length + a] = std::round(exact[c * length + a] * 32767.0 / largest) * largest / 32767.0;
      }
    }
    return result;
  }

  // softmax of the row's cosines to class means.
  std::vector<double> prior(std::size_t row, const std::vector<double>& directions) const {
    const std::size_t features = dim_ - 1;
    std::vector<double> u;
    double sum = 0.0;
    for (std::size_t c = 0; c < rows_.classes; ++c) {
      double product = 0.0;
      double row_squares = 0.0;
      double squares = 0.0;
      for (std::size_t a = 0; a < features; ++a) {
        const double direction = directions[c * features + a];
        product += direction * entry_of(row, a);
        row_squares += entry_of(row, a) * entry_of(row, a);
        squares += direction * direction;
      }
      u.push_back(std::exp(product / std::sqrt(row_squares * squares)));
      sum += u.back();
    }
    for (double& entry : u) entry /= sum;
    return u;
  }

  // gradient_ = sum_i r_i x_i^T; curvatures_ = s p (1 - p), s the head's share of p_y + u_y, held to the bound of
  // softmax, 4 / 27, or sigmoid, 1 / 4.
  void take_gradient() {
    const std::vector<double> weights = rounded(weights_);
    const std::vector<double> directions = rounded(reference_prototypes(rows_));
    const double scale = 32767.0 - std::ceil(std::sqrt(static_cast<double>(rows_.classes)) / 2.0);
    gradient_.assign(weights_.size(), 0.0);
    curvatures_.assign(rows_.q.size(), {});
    beyond_ = 0.0;
    for (std::size_t row = 0; row < rows_.q.size(); ++row) {
      std::vector<double> r = probabilities(row, weights);
      const auto label = static_cast<std::size_t>(rows_.labels[row]);
      const double share = options_.method.warm_start ? r[label] / (r[label] + prior(row, directions)[label]) : 1.0;
      for (const double p : r) curvatures_[row].push_back(share * p * (1.0 - p));
      const double held = std::sqrt((loss_ == Loss::kSoftmax ? 4.0 / 27.0 : 0.25) / sum_of_squares(curvatures_[row]));
      for (double& w : curvatures_[row]) w *= std::min(1.0, held);
      r[label] -= 1.0;
      for (double& entry : r) entry *= share;
      const double length = std::sqrt(sum_of_squares(r));
      const double norm = std::max(residual_norm_, length);
      beyond_ += length > residual_norm_ ? 1.0 : 0.0;
      for (std::size_t c = 0; c < rows_.classes; ++c) {
        const double rho = residual_norm_ * std::nearbyint(r[c] / norm * scale) / scale;
        for (std::size_t a = 0; a < dim_; ++a) gradient_[c * dim_ + a] += rho * entry_of(row, a);
      }
    }
  }

  // Z follows the share of rows whose residual is longer.
  void adapt() {
    const double share = beyond_ / static_cast<double>(rows_.q.size());
    residual_norm_ = std::clamp(residual_norm_ * std::exp(share - 0.1), 0.001, 2.0);
  }

  void descend() {
    squares_ += sum_of_squares(gradient_);
    const double reach_of_score = loss_ == Loss::kSquare ? 1.0 : 20.0;
    const double reach = reach_of_score * std::sqrt(static_cast<double>(rows_.classes)) / rows_.lattice.clip_norm;
    const double rate = options_.method.learning_rate.value_or(reach / std::sqrt(squares_));
    for (std::size_t e = 0; e < weights_.size(); ++e) weights_[e] -= rate * gradient_[e];
    const double norm = std::sqrt(sum_of_squares(weights_));
    if (!options_.method.radius || norm <= *options_.method.radius) return;
    for (double& entry : weights_) entry *= *options_.method.radius / norm;
  }

  void step_of_adam(double round) {
    first_.resize(weights_.size());
    second_.resize(weights_.size());
    const double rate =
        (loss_ == Loss::kSquare ? 1.0 : 8.0) / (rows_.lattice.clip_norm * std::sqrt(static_cast<double>(dim_)));
    for (std::size_t e = 0; e < weights_.size(); ++e) {
      first_[e] = 0.9 * first_[e] + 0.1 * gradient_[e];
      second_[e] = 0.99 * second_[e] + 0.01 * gradient_[e] * gradient_[e];
      weights_[e] -= options_.method.learning_rate.value_or(rate) * (first_[e] / (1.0 - std::pow(0.9, round))) /
                     std::sqrt(second_[e] / (1.0 - std::pow(0.99, round)));
    }
  }

  // sum_i v_i v_i^T + C^2 I, v_i = sqrt(w_i) x_i rounded to the rows' lattice.
  Matrix hessian_with_ridge(std::size_t of_class) const {
    Matrix sum(dim_, std::vector<double>(dim_, 0.0));
    for (std::size_t row = 0; row < rows_.q.size(); ++row) {
      const double root = std::sqrt(curvatures_[row][of_class]);
      std::vector<double> v;
      for (const std::int16_t entry : rows_.q[row]) v.push_back(std::nearbyint(root * entry) / rows_.lattice.scale());
      for (std::size_t a = 0; a < dim_; ++a) {
        for (std::size_t b = 0; b < dim_; ++b) sum[a][b] += v[a] * v[b];
      }
    }
    for (std::size_t a = 0; a < dim_; ++a) sum[a][a] += rows_.lattice.clip_norm * rows_.lattice.clip_norm;
    return sum;
  }

  void step_of_class(std::size_t c, const Matrix& matrix, double eta,
                     double farthest = std::numeric_limits<double>::infinity()) {
    const auto first = gradient_.begin() + static_cast<std::ptrdiff_t>(c * dim_);
    const std::vector<double> step = solved_by_elimination(matrix, {first, first + static_cast<std::ptrdiff_t>(dim_)});
    eta *= std::min(1.0, farthest / std::sqrt(squared_norm(step)));
    for (std::size_t a = 0; a < dim_; ++a) weights_[c * dim_ + a] -= eta * step[a];
  }

  void step_on_white_rows() {
    Matrix curvature(dim_, std::vector<double>(dim_, 0.0));
    for (std::size_t a = 0; a < dim_; ++a) {
      for (std::size_t b = 0; b < dim_; ++b) curvature[a][b] = rows_.curvature[a * dim_ + b];
      curvature[a][a] += rows_.lattice.clip_norm * rows_.lattice.clip_norm;
    }
    const double step = loss_ == Loss::kSquare ? 1.0 : 2.0 * std::sqrt(static_cast<double>(rows_.classes));
    for (std::size_t c = 0; c < rows_.classes; ++c) step_of_class(c, curvature, step);
  }

  void step_of_newton() {
    const double eta = loss_ == Loss::kSoftmax ? 1.0 - 1.0 / static_cast<double>(rows_.classes) : 1.0;
    const double farthest = 20.0 / rows_.lattice.clip_norm;
    for (std::size_t c = 0; c < rows_.classes; ++c) step_of_class(c, hessian_with_ridge(c), eta, farthest);
  }

  const ReferenceRows& rows_;
  const FitOptions& options_;
  std::size_t dim_;
  Loss loss_;
  std::vector<double> weights_;
  std::vector<double> gradient_;
  std::vector<std::vector<double>> curvatures_;
  double residual_norm_ = 1.0;  // of fits without noise
  double beyond_ = 0.0;
  double squares_ = 0.0;
  std::vector<double> first_;
  std::vector<double> second_;
};

}  // namespace

std::vector<double> reference_prototypes(const ReferenceRows& rows) {
  const std::size_t features = rows.lattice.dim - 1;
  std::vector<double> prototypes;
  for (std::size_t c = 0; c < rows.classes; ++c) {
    std::vector<double> sum(features, 0.0);
    for (std::size_t row = 0; row < rows.q.size(); ++row) {
      if (rows.labels[row] != static_cast<std::int32_t>(c)) continue;
      for (std::size_t a = 0; a < features; ++a) sum[a] += rows.q[row][a];
    }
    const double length = std::sqrt(sum_of_squares(sum));
    for (const double entry : sum) prototypes.push_back(entry / length);
  }
  return prototypes;
}

std::vector<double> reference_fit(const ReferenceRows& rows, const FitOptions& options, double intercept) {
  return Reference(rows, options, intercept).fit();
}

}  // namespace dpreduce
