// Small labeled rows that fits of tests are made of: in memory, and as files.
#pragma once

#include "fit/fit.hpp"
#include "tests/common/data/data_files.hpp"
#include "tests/testing.hpp"

namespace dpreduce {

struct FittedRows {
  static constexpr std::size_t kDim = 6;
  static constexpr std::size_t kClasses = 3;

  std::vector<float> x;
  std::vector<std::int64_t> y;

  FittedRows(std::size_t rows, unsigned seed) {
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal;
    for (std::size_t row = 0; row < rows; ++row) {
      y.push_back(static_cast<std::int64_t>(row % kClasses));
      for (std::size_t a = 0; a < kDim; ++a) x.push_back(normal(engine) + (a == row % kClasses ? 2.0F : 0.0F));
    }
  }

  ArrayView features() const { return array_view(x, kDim); }
  ArrayView labels() const { return array_view(y); }

  /// Rows first .. end - 1.
  RowsInMemory part(std::size_t first, std::size_t end) const {
    return {.train_x = array_view(std::span(x).subspan(first * kDim, (end - first) * kDim), kDim),
            .train_y = array_view(std::span(y).subspan(first, end - first))};
  }
  RowsInMemory all() const { return part(0, y.size()); }

  /// NAME_x.npy and NAME_y.npy in the folder.
  RowFiles write(const TemporaryFolder& folder, const std::string& name) const {
    const RowFiles files{.x = {folder / (name + "_x.npy")}, .y = {folder / (name + "_y.npy")}};
    write_npy(files.x.front(), x, kDim);
    write_npy(files.y.front(), y);
    return files;
  }
};

/// Share of rows whose label the model says.
inline double accuracy_of(const Classifier& model, std::span<const float> x, std::span<const std::int64_t> y) {
  const std::vector<std::int32_t> labels = model.predict_labels(x);
  std::size_t right = 0;
  for (std::size_t row = 0; row < labels.size(); ++row) right += labels[row] == y[row] ? 1 : 0;
  return static_cast<double>(right) / static_cast<double>(labels.size());
}

/// Share of the squared deviations of numbers from `about` that predictions leave.
inline double share_left(const Classifier& model, std::span<const float> x, std::span<const double> y, double about) {
  const std::vector<double> predicted = model.predict_scores(x);
  double left = 0.0;
  double all = 0.0;
  for (std::size_t row = 0; row < y.size(); ++row) {
    left += std::pow(predicted[row] - y[row], 2);
    all += std::pow(about - y[row], 2);
  }
  return left / all;
}

/// Changes the values and the largest entries of a task's weights, as whoever sends it might.
inline void change_weights(LatticeWeights& weights,
                           const std::function<void(std::vector<std::int16_t>&, std::vector<double>&)>& change) {
  std::vector<std::int16_t> values(weights.values().begin(), weights.values().end());
  std::vector<double> largest(weights.largest().begin(), weights.largest().end());
  change(values, largest);
  weights = LatticeWeights(std::move(values), std::move(largest));
}

/// Of that method, with seeded noise, on a ledger in the folder.
inline FitOptions seeded_fit(const std::string& method, const TemporaryFolder& folder) {
  FitOptions options;
  options.data.classes = FittedRows::kClasses;
  options.method.name = method;
  options.privacy.budget.mu = 2.0;
  options.privacy.seed = 7;
  options.privacy.ledger = folder / "ledger.jsonl";
  options.machine.threads = 1;
  return options;
}

}  // namespace dpreduce
