// What tests of methods have in common: small rows, a fit of them on one rank, and the same rows on the lattice.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "common/model/classifier.hpp"
#include "methods/registry.hpp"
#include "tests/temporary_folder.hpp"

namespace dpreduce {

inline double largest_difference(std::span<const double> one, std::span<const double> other) {
  double largest = 0.0;
  for (std::size_t e = 0; e < one.size(); ++e) largest = std::max(largest, std::abs(one[e] - other[e]));
  return largest;
}

template <typename Named>
std::vector<std::string> names_of(const std::vector<Named>& all) {
  std::vector<std::string> names;
  for (const Named& one : all) names.push_back(one.name);
  return names;
}

/// Gaussian rows around class means; classes of unequal size. A test may change them.
class MethodTest : public testing::Test {
 protected:
  static constexpr std::size_t kRows = 400;
  static constexpr std::size_t kInputDim = 7;
  static constexpr std::size_t kClasses = 4;
  static constexpr double kIntercept = 0.1;  ///< of rounds
  static constexpr double kInterceptOfWhitened = 0.05;
  static constexpr double kClipNorm = 2.0;

  MethodTest();

  /// Without noise, not centered.
  static FitOptions options_of(std::string_view method);
  /// The same with noise.
  static FitOptions options_of(std::string_view method, double mu);

  /// Where there are public rows, methods choose among them. The noise is seeded.
  LinearScores fit(const FitOptions& options, std::size_t memory_bytes = std::size_t{1} << 20) const;

  /// Of the rows that the last fit was made on.
  const Preprocessing& trained_on() const { return trained_on_; }
  /// Row `index` of these in units of features, without an intercept; of `x`, prepared as they are, not on the lattice.
  std::vector<double> prepared_row(const std::vector<float>& x, std::size_t index) const;

  Classifier classifier_of(const LinearScores& scores) const;
  double training_accuracy(const LinearScores& scores) const;

  static nlohmann::json settings_of(const FitOptions& options);

  const TemporaryFolder folder_;
  std::size_t input_dim_ = kInputDim;
  std::vector<float> x_;
  std::vector<std::int32_t> y_;
  std::vector<float> public_x_;

 private:
  mutable Preprocessing trained_on_;
};

}  // namespace dpreduce
