// CoinPress, against its own equations by plain loops over the rows.

#include "fit/resolved_fit.hpp"
#include "tests/methods/method_fixture.hpp"

namespace dpreduce::coinpress_test {

// Rows of two classes, a fifth of each far from the others: of so many features that these lie outside the ball about
// the class's first mean. They do not lie on its line: clipped elsewhere, they would turn the mean.
class CoinpressTest : public MethodTest {
 protected:
  static constexpr std::size_t kDim = 200;
  static constexpr std::size_t kTwo = 2;

  CoinpressTest() {
    std::mt19937 engine(11);
    std::normal_distribution<float> normal;
    input_dim_ = kDim;
    y_.resize(200);
    x_.resize(y_.size() * kDim);
    for (std::size_t i = 0; i < y_.size(); ++i) {
      y_[i] = static_cast<std::int32_t>(i % kTwo);
      const bool is_far = i / kTwo % 5 == 0;
      for (std::size_t a = 0; a < kDim; ++a) {
        const float along = is_far ? -1.2F : 2.0F;
        const float across = is_far ? 1.6F : 0.0F;
        x_[i * kDim + a] = (a % kTwo == i % kTwo ? along : across) + 0.5F * normal(engine);
      }
    }
  }

  // z_c, K x d
  std::vector<double> centers_after(std::uint64_t rounds) {
    const double spread = kClipNorm / std::sqrt(double{kDim});
    const double log_100 = std::log(100.0);
    const double bound = std::sqrt(kDim + 2.0 * std::sqrt(kDim * log_100) + 2.0 * log_100);
    std::vector<double> centers(kTwo * kDim, 0.0);
    rows_cut_ = 0;
    for (std::size_t c = 0; c < kTwo; ++c) {
      const std::span<double> center = std::span(centers).subspan(c * kDim, kDim);
      double r = kClipNorm;
      for (std::uint64_t round = 1; round <= rounds; ++round) {
        const double ball = std::min(
            {std::sqrt(r * r + 6.0 * r * spread + std::pow(bound * spread, 2)), r + bound * spread, 2.0 * kClipNorm});
        std::vector<double> sum(kDim, 0.0);
        double size = 0.0;
        for (std::size_t i = 0; i < y_.size(); ++i) {
          if (y_[i] != static_cast<std::int32_t>(c)) continue;
          std::vector<double> row = prepared_row(x_, i);
          for (std::size_t a = 0; a < kDim; ++a) row[a] -= center[a];
          const double factor = std::min(1.0, ball / std::sqrt(squared_norm(row)));
          rows_cut_ += factor < 1.0 ? 1 : 0;
          for (std::size_t a = 0; a < kDim; ++a) sum[a] += factor * row[a];
          ++size;
        }
        for (std::size_t a = 0; a < kDim; ++a) center[a] += sum[a] / size;
        r = bound * spread / std::sqrt(size);
      }
    }
    return centers;
  }

  std::size_t rows_cut_ = 0;
};

TEST_F(CoinpressTest, WithoutNoiseMeansAreThoseOfTheLastBall) {
  for (const std::uint64_t rounds : {1, 2, 3}) {
    FitOptions options = options_of("coinpress");
    options.data.classes = kTwo;
    if (rounds != 2) options.method.rounds = rounds;
    const LinearScores scores = fit(options);
    const std::vector<double> centers = centers_after(rounds);
    EXPECT_EQ(rows_cut_ > 0, rounds > 1) << "no row lies outside a ball";
    for (std::size_t c = 0; c < kTwo; ++c) {
      const std::span<const double> center = std::span(centers).subspan(c * kDim, kDim);
      const double length = std::sqrt(squared_norm(center));
      for (std::size_t a = 0; a < kDim; ++a) {
        EXPECT_NEAR(scores.weights[c * kDim + a], center[a] / length, 2e-4) << rounds << " " << c << " " << a;
      }
      EXPECT_EQ(scores.bias[c], 0.0);
    }
  }
}

TEST_F(CoinpressTest, RoundsShareTheWholeBudgetEvenly) {
  FitOptions options = options_of("coinpress", 2.0);
  for (const std::uint64_t rounds : {2, 5}) {
    if (rounds != 2) options.method.rounds = rounds;
    const PlannedRelease release = make_fit_plan(options, kDim).noise->releases.front();
    EXPECT_EQ(release.rounds, rounds);
    EXPECT_NEAR(release.mu, 2.0, 1e-9);
  }
}

}  // namespace dpreduce::coinpress_test
