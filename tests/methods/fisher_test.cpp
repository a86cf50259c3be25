// The diagonal Fisher rule, against means and variances by plain loops over the rows.

#include "tests/methods/method_fixture.hpp"
#include "tests/testing.hpp"

namespace dpreduce::fisher_test {

class FisherTest : public MethodTest {
 protected:
  double size(std::size_t c) const {
    return static_cast<double>(std::count(y_.begin(), y_.end(), static_cast<std::int32_t>(c)));
  }

  double mean(std::size_t c, std::size_t a) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < kRows; ++i) {
      if (y_[i] == static_cast<std::int32_t>(c)) sum += prepared_row(x_, i)[a];
    }
    return sum / size(c);
  }

  double overall_mean(std::size_t a) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < kRows; ++i) sum += prepared_row(x_, i)[a];
    return sum / kRows;
  }

  // Within classes.
  double variance(std::size_t a) const {
    std::vector<double> means;
    for (std::size_t c = 0; c < kClasses; ++c) means.push_back(mean(c, a));
    double sum = 0.0;
    for (std::size_t i = 0; i < kRows; ++i) {
      sum += std::pow(prepared_row(x_, i)[a] - means[static_cast<std::size_t>(y_[i])], 2);
    }
    return sum / kRows;
  }
};

TEST_F(FisherTest, WithoutNoiseScoresAreThoseOfTheDiagonalRule) {
  const LinearScores scores = fit(options_of("fisher"));
  for (std::size_t c = 0; c < kClasses; ++c) {
    double energy = 0.0;
    double at_middle = 0.0;
    for (std::size_t a = 0; a < kInputDim; ++a) {
      const double middle = overall_mean(a);
      const double weight = (mean(c, a) - middle) / variance(a);
      EXPECT_NEAR(scores.weights[c * kInputDim + a], weight, 1e-3 * (1.0 + std::abs(weight))) << c << " " << a;
      energy += (mean(c, a) - middle) * weight;
      at_middle += weight * middle;
    }
    EXPECT_NEAR(scores.bias[c], std::log(size(c) / kRows) - energy / 2.0 - at_middle, 1e-3 * (1.0 + energy)) << c;
  }
}

TEST_F(FisherTest, FeaturesAreRankedByDistanceOrByT) {
  FitOptions options = options_of("fisher");
  options.rows.select = 3;
  for (const SelectBy select_by : {SelectBy::kDistance, SelectBy::kT}) {
    options.rows.select_by = select_by;
    const LinearScores scores = fit(options);
    std::vector<double> distances(kInputDim, 0.0);
    for (std::size_t a = 0; a < kInputDim; ++a) {
      for (std::size_t c = 0; c < kClasses; ++c) {
        for (std::size_t e = 0; e < c; ++e) distances[a] += std::abs(mean(c, a) - mean(e, a));
      }
      if (select_by == SelectBy::kT) distances[a] /= std::sqrt(variance(a));
    }
    for (std::size_t a = 0; a < kInputDim; ++a) {
      std::size_t larger = 0;
      for (const double distance : distances) larger += distance > distances[a] ? 1 : 0;
      EXPECT_EQ(scores.weights[a] != 0.0, larger < 3) << to_string(select_by) << " " << a;
    }
  }
}

}  // namespace dpreduce::fisher_test
