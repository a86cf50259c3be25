#include "tests/methods/reference_fit.hpp"

#include "tests/worker/drawn_numbers.hpp"

namespace dpreduce {
namespace {

class Reference {
 public:
  Reference(const ReferenceRows& rows, const FitOptions& options, double intercept)
      : rows_(rows),
        options_(options),
        dim_(rows.lattice.dim),
        loss_(options.method.loss.value_or(Loss::kSoftmax)),
        weights_(rows.classes * dim_, 0.0) {
    if (loss_ != Loss::kSigmoid) return;
    for (std::size_t c = 0; c < rows.classes; ++c) {
      weights_[c * dim_ + dim_ - 1] = -10.0 / (std::sqrt(intercept) * rows.lattice.clip_norm);
    }
  }

  std::vector<double> fit() {
    for (std::uint64_t round = 0; round < options_.method.rounds.value(); ++round) {
      take_gradient();
      if (options_.method.name == "global-adapt") adapt();
      descend();
    }
    return weights_;
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

  // W with each of its K rows rounded to 16 bits of its largest entry.
  std::vector<double> rounded_weights() const {
    std::vector<double> result = weights_;
    for (std::size_t c = 0; c < rows_.classes; ++c) {
      const std::span<double> row = std::span(result).subspan(c * dim_, dim_);
      double largest = 0.0;
      for (const double entry : row) largest = std::max(largest, std::abs(entry));
      if (largest == 0.0) continue;
      for (double& entry : row) entry = std::round(entry * 32767.0 / largest) * largest / 32767.0;
    }
    return result;
  }

  // gradient_ = sum_i r_i x_i^T
  void take_gradient() {
    const std::vector<double> weights = rounded_weights();
    const double scale = 32767.0 - std::ceil(std::sqrt(static_cast<double>(rows_.classes)) / 2.0);
    gradient_.assign(weights_.size(), 0.0);
    beyond_ = 0.0;
    for (std::size_t row = 0; row < rows_.q.size(); ++row) {
      std::vector<double> r = probabilities(row, weights);
      r[static_cast<std::size_t>(rows_.labels[row])] -= 1.0;
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
  }

  const ReferenceRows& rows_;
  const FitOptions& options_;
  std::size_t dim_;
  Loss loss_;
  std::vector<double> weights_;
  std::vector<double> gradient_;
  double residual_norm_ = 1.0;  // of fits without noise
  double beyond_ = 0.0;
  double squares_ = 0.0;
};

}  // namespace

ReferenceRows reference_rows(const Preprocessing& prepared, std::span<const float> x, std::vector<std::int32_t> labels,
                             std::size_t classes) {
  const RowTransform transform(prepared);
  const std::size_t dim = x.size() / labels.size();
  ReferenceRows rows{{prepared.clip_norm, transform.output_dim()}, classes, {}, std::move(labels)};
  std::vector<double> row(transform.output_dim());
  for (std::size_t i = 0; i < rows.labels.size(); ++i) {
    transform(x.subspan(i * dim, dim), row);
    quantize_row(row, rows.lattice, rows.q.emplace_back(row.size()));
  }
  return rows;
}

std::vector<double> reference_fit(const ReferenceRows& rows, const FitOptions& options, double intercept) {
  return Reference(rows, options, intercept).fit();
}

}  // namespace dpreduce
