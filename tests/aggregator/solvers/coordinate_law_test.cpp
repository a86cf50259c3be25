#include "aggregator/solvers/coordinate_law.hpp"

#include <cmath>
#include <functional>
#include <random>

#include "tests/testing.hpp"

namespace dpreduce::coordinate_law_test {

constexpr std::size_t kCoordinates = 2000;
constexpr double kNoise = 0.5;

// Mean square of what is left of noise, in the noise's own.
double risk(const std::function<double(std::size_t, std::mt19937_64&)>& mean_of) {
  std::mt19937_64 engine(41);
  std::normal_distribution<double> normal;
  std::vector<double> means;
  std::vector<double> noised;
  for (std::size_t a = 0; a < kCoordinates; ++a) {
    means.push_back(mean_of(a, engine));
    noised.push_back(means.back() + kNoise * normal(engine));
  }
  const std::vector<double> found = denoised(noised, kNoise).value();
  double squares = 0.0;
  for (std::size_t a = 0; a < kCoordinates; ++a) squares += std::pow((found[a] - means[a]) / kNoise, 2);
  return squares / static_cast<double>(kCoordinates);
}

TEST(CoordinateLaw, OfANormalLawIsJamesAndSteins) {
  for (const double spread : {0.5, 1.0, 2.0}) {  // in noises
    std::normal_distribution<double> law(0.0, spread * kNoise);
    const double best = spread * spread / (1.0 + spread * spread);
    EXPECT_NEAR(risk([&](std::size_t, std::mt19937_64& engine) { return law(engine); }), best, 0.05) << spread;
  }
}

TEST(CoordinateLaw, FindsTheValuesThatCoordinatesShare) {
  // Six noises apart: James and Stein leave 36 / 37 or so of the noise.
  const auto of_two = [](std::size_t a, std::mt19937_64&) { return a % 2 == 0 ? 1.0 : 1.0 + 6.0 * kNoise; };
  EXPECT_LT(risk(of_two), 0.05);
  EXPECT_LT(risk([](std::size_t, std::mt19937_64&) { return 7.0; }), 0.01) << "one value";
  const auto sparse = [](std::size_t a, std::mt19937_64&) { return a % 20 == 0 ? 10.0 * kNoise : 0.0; };
  EXPECT_LT(risk(sparse), 0.05);
}

TEST(CoordinateLaw, LeavesNumbersAloneWhoseNoiseIsSmall) {
  const std::vector<double> apart{-40.0, -7.0, 0.0, 2.0, 90.0};
  const std::vector<double> found = denoised(apart, 0.01).value();
  for (std::size_t a = 0; a < apart.size(); ++a) EXPECT_NEAR(found[a], apart[a], 0.01) << a;
  EXPECT_EQ(denoised(std::vector<double>(3, 1.5), 0.1), std::vector<double>(3, 1.5)) << "all alike";
}

TEST(CoordinateLaw, OfNoiseAloneNothingIsFound) {
  std::mt19937_64 engine(42);
  std::normal_distribution<double> normal(0.0, kNoise);
  int found = 0;
  for (int draw = 0; draw < 100; ++draw) {
    std::vector<double> noise(512);
    for (double& entry : noise) entry = normal(engine);
    found += denoised(noise, kNoise) ? 1 : 0;
  }
  EXPECT_LE(found, 3);
}

}  // namespace dpreduce::coordinate_law_test
