// What tests of methods have in common: small rows, a fit of them on one rank, and the same rows on the lattice.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "common/model/classifier.hpp"
#include "methods/registry.hpp"
#include "tests/common/data/data_files.hpp"
#include "tests/methods/reference_fit.hpp"
#include "tests/testing.hpp"

namespace dpreduce {

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

  static double intercept_of(std::string_view method);

  /// Without noise, not centered.
  static FitOptions options_of(std::string_view method);
  /// The same with noise.
  static FitOptions options_of(std::string_view method, double mu);

  /// Where there are public rows, methods choose among them. The noise is seeded.
  LinearScores fit(const FitOptions& options, std::size_t memory_bytes = std::size_t{1} << 20) const;

  /// Of the rows that the last fit was made on.
  const Preprocessing& trained_on() const { return trained_on_; }
  ReferenceRows lattice_rows() const;
  /// Row `index` of these in units of features, without an intercept; of `x`, prepared as they are, not on the lattice.
  std::vector<double> prepared_row(const std::vector<float>& x, std::size_t index) const;

  /// The largest difference between the fit and reference_fit, over the largest of its weights.
  double error_of_rounds(const FitOptions& options) const;

  Classifier classifier_of(const LinearScores& scores) const;
  double training_accuracy(const LinearScores& scores) const;

  static nlohmann::json settings_of(const FitOptions& options);

  const TemporaryFolder folder_;
  std::size_t input_dim_ = kInputDim;
  std::vector<float> x_;
  std::vector<std::int32_t> y_;
  std::vector<float> public_x_;

 private:
  std::string features_file(const std::string& name, const std::vector<float>& x) const;
  ReferenceRows lattice_rows(const Preprocessing& preprocessing) const;
  std::vector<double> curvature() const;

  mutable Preprocessing trained_on_;
};

}  // namespace dpreduce
