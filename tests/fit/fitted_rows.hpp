// Small labeled rows that fits of tests are made of: in memory, and as files.
#pragma once

#include "fit/fit.hpp"
#include "tests/common/data/data_files.hpp"
#include "tests/methods/good_fit.hpp"

namespace dpreduce {

/// The first of these rows, with labels or targets.
template <typename Label>
RowsInMemory first_rows(std::size_t rows, const std::vector<float>& x, std::size_t dim, const std::vector<Label>& y) {
  return {.train_x = array_view(std::span(x).first(rows * dim), dim), .train_y = array_view(std::span(y).first(rows))};
}

struct FittedRows {
  static constexpr std::size_t kDim = 6;
  static constexpr std::size_t kClasses = 3;

  std::size_t dim;
  std::vector<float> x;
  std::vector<std::int64_t> y;

  FittedRows(std::size_t rows, unsigned seed, std::size_t columns = kDim) : dim(columns) {
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal;
    for (std::size_t row = 0; row < rows; ++row) {
      y.push_back(static_cast<std::int64_t>(row % kClasses));
      for (std::size_t a = 0; a < dim; ++a) x.push_back(normal(engine) + (a == row % kClasses ? 2.0F : 0.0F));
    }
  }

  ArrayView features() const { return array_view(x, dim); }
  ArrayView labels() const { return array_view(y); }

  /// Rows first .. end - 1.
  RowsInMemory part(std::size_t first, std::size_t end) const {
    return {.train_x = array_view(std::span(x).subspan(first * dim, (end - first) * dim), dim),
            .train_y = array_view(std::span(y).subspan(first, end - first))};
  }
  RowsInMemory all() const { return part(0, y.size()); }

  /// NAME_x.npy and NAME_y.npy in the folder.
  RowFiles write(const TemporaryFolder& folder, const std::string& name) const {
    const RowFiles files{.x = {folder / (name + "_x.npy")}, .y = {folder / (name + "_y.npy")}};
    write_npy(files.x.front(), x, dim);
    write_npy(files.y.front(), y);
    return files;
  }
};

/// Share of rows whose label the model says.
inline double accuracy_of(const Classifier& model, std::span<const float> x, std::span<const std::int64_t> y) {
  const std::vector<std::int32_t> labels = model.predict_labels(x);
  const double right =
      std::inner_product(labels.begin(), labels.end(), y.begin(), 0.0, std::plus<>(), std::equal_to<>());
  return right / static_cast<double>(labels.size());
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

/// Gives a fit the others that its method may use: as public rows, or to choose by.
inline void use_others(FitOptions& options, RowsInMemory& rows, const FittedRows& others) {
  const bool is_mean = options.method.name == "mean";
  if (is_mean) options.rows.center = Centering::kPublic;
  if (is_mean || options.method.name == "public") rows.public_x = others.features();
  if (options.method.name != "ls") return;
  options.method.shared_gram = options.method.choose = true;
  rows.validation_x = others.features(), rows.validation_y = others.labels();
}

/// A fit of rows in memory on one rank, which has ended.
inline FittedRun fitted_run(const FitOptions& options, const RowsInMemory& rows,
                            Accounts accounts = Accounts::kElsewhere, TrainingTerms terms = {}) {
  static Communicator alone = Communicator::alone();  // the run refers to it
  FittedRun run = fit(options, rows, alone, accounts, std::move(terms));
  run.finish();
  return run;
}

/// Of that method, with seeded noise, on a ledger in the folder.
inline FitOptions seeded_fit(const std::string& method, const TemporaryFolder& folder) {
  FitOptions options;
  options.data.classes = FittedRows::kClasses;
  options.method.name = method;
  options.privacy = {.budget = {{.mu = 2.0}}, .seed = 7, .ledger = folder / "ledger.jsonl"};
  options.machine.threads = 1;
  return options;
}

}  // namespace dpreduce
