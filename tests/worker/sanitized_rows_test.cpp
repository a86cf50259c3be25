#include "worker/sanitized_rows.hpp"

#include "common/base/error.hpp"
#include "common/randomness/noise_key.hpp"
#include "tests/testing.hpp"

namespace dpreduce::sanitized_rows_test {

constexpr std::size_t kDim = 50;
constexpr std::size_t kRows = 400;

// Rows along the first axis, of length 2.
LatticeRows some_rows() {
  const RowTransform transform(
      {.input_dim = kDim, .pool = 1, .normalize = Normalize::kL2, .clip_norm = 2.0, .center = {}});
  LatticeRows rows({2.0, kDim}, kRows);
  std::vector<float> features(kRows * kDim, 0.0F);
  for (std::size_t row = 0; row < kRows; ++row) features[row * kDim] = 7.0F;
  rows.assign(transform, features, std::vector<std::int32_t>(kRows, 0), 1);
  return rows;
}

std::vector<float> sanitized(double sigma, std::uint64_t seed) {
  RandomStream stream = NoiseKey::from_seed(seed).stream("test", {});
  std::vector<float> out(kRows * kDim);
  sanitize(some_rows(), sigma, stream, out);
  return out;
}

TEST(Sanitize, AddsNoiseOfItsOwnToEveryEntry) {
  const LatticeRows rows = some_rows();
  const double sigma = 3.0 * rows.lattice().scale();  // 3 in feature units
  const std::vector<float> out = sanitized(sigma, 1);
  double sum = 0.0;
  double squares = 0.0;
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::size_t a = 0; a < kDim; ++a) {
      const double noise = out[row * kDim + a] - (a == 0 ? 2.0 : 0.0);
      sum += noise;
      squares += noise * noise;
      if (row > 0) {
        EXPECT_NE(out[row * kDim + a], out[a]);
      }
    }
  }
  // 20,000 samples: mean within 5 deviations of 0 (false alarm 6e-7), variance within 5 deviations of 9 (the same).
  const double n = static_cast<double>(kRows * kDim);
  EXPECT_LT(std::abs(sum / n), 5.0 * 3.0 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 9.0, 5.0 * 9.0 * std::sqrt(2.0 / n));
}

TEST(Sanitize, IsAFunctionOfTheStream) {
  EXPECT_EQ(sanitized(1e5, 1), sanitized(1e5, 1));
  EXPECT_NE(sanitized(1e5, 1), sanitized(1e5, 2));
}

TEST(Sanitize, RefusesWhatDoesNotFit) {
  RandomStream stream = NoiseKey::from_seed(1).stream("test", {});
  std::vector<float> out(kRows * kDim - 1);
  EXPECT_THROW(sanitize(some_rows(), 1e5, stream, out), std::logic_error);
  out.resize(kRows * kDim);
  EXPECT_THROW(sanitize(some_rows(), 0.0, stream, out), UsageError);
}

}  // namespace dpreduce::sanitized_rows_test
