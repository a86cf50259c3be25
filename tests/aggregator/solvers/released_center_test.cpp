#include "aggregator/solvers/released_preparation.hpp"
#include "tests/testing.hpp"
#include "tests/worker/drawn_numbers.hpp"

namespace dpreduce::released_center_test {

// d = 4 and C = 1, so that a feature unit is 32766 lattice units.
const Lattice kFourFeatures{1.0, 4};
constexpr std::int64_t kUnit = 32766;

ReleasedCenter released(std::vector<std::int64_t> sum, double sigma, std::int64_t count, double count_sigma,
                        const Lattice& lattice = kFourFeatures) {
  return {Release({{"row_sum", std::move(sum), sigma}, {"row_count", {count}, count_sigma}}), lattice};
}

Release rest(std::vector<std::int64_t> sum, double sigma) {
  return Release({{"rest_sum", std::move(sum), sigma}});
}

std::vector<double> center(std::vector<std::int64_t> sum, double sigma, std::int64_t count, double count_sigma,
                           const Lattice& lattice = kFourFeatures) {
  return released(std::move(sum), sigma, count, count_sigma, lattice).mean();
}

double distance_of(const std::vector<double>& one, const std::vector<double>& other) {
  double squares = 0.0;
  for (std::size_t a = 0; a < one.size(); ++a) squares += std::pow(one[a] - other[a], 2);
  return std::sqrt(squares);
}

TEST(Center, IsTheMeanOfAllRowsInsideTheBallLessTheKnownEnergyOfItsNoise) {
  EXPECT_NEAR(center({3 * kUnit, 0, 0, 0}, 0, 4, 0)[0], 0.75, 1e-12);
  EXPECT_NEAR(center({3 * kUnit, 0, 0, 0}, 0, 1, 0)[0], 1.0, 1e-12) << "outside of the ball";
  EXPECT_NEAR(center({-3 * kUnit, 0, 0, 0}, 0, -9, 0)[0], -1.0, 1e-12) << "a negative count stands for one row";
  EXPECT_NEAR(center({4 * kUnit, 0, 0, 0}, 0, 2, 40)[0], 0.1, 1e-12) << "a count below its noise stands for that";
  EXPECT_EQ(center({0, 0, 0, 0}, 0, 4, 0), std::vector<double>(4, 0.0));
  // |sum|^2 = 16 units^2; noise of 1 unit in each of 4 entries leaves 1 - 4 / 16
  EXPECT_NEAR(center({4 * kUnit, 0, 0, 0}, kUnit, 8, 0)[0], 0.75 * 0.5, 1e-12);
  EXPECT_EQ(center({4 * kUnit, 0, 0, 0}, 2 * kUnit, 8, 0), std::vector<double>(4, 0.0)) << "all of it may be noise";
}

TEST(Center, OfNoiseAloneIsShort) {
  std::mt19937_64 random(36);
  std::normal_distribution<double> noise(0.0, 200.0 * kUnit);
  const Lattice lattice{1.0, 1296};
  int longer = 0;
  for (int draw = 0; draw < 100; ++draw) {
    std::vector<std::int64_t> sum(lattice.dim);
    for (std::int64_t& entry : sum) entry = std::llround(noise(random));
    longer += sum_of_squares(center(sum, 200.0 * kUnit, 500, 0, lattice)) > 1.0 - 1e-9 ? 1 : 0;
  }
  EXPECT_LT(longer, 20) << "without shrinking all of them are as long as a row";  // |N| / n is 14 row lengths
}

// A mean that every tenth of 400 coordinates holds, as long as its noise: shrinking alone leaves half of the noise.
TEST(Center, IsDenoisedByTheLawOfItsCoordinates) {
  std::mt19937_64 random(39);
  std::normal_distribution<double> normal;
  const Lattice lattice{1.0, 400};
  constexpr std::int64_t kRows = 1000;
  const double noise = 0.5 / std::sqrt(400.0);
  const auto mean = [](std::size_t a) { return a % 10 == 0 ? 0.5 / std::sqrt(40.0) : 0.0; };
  const double unit = lattice.scale() * kRows;
  std::vector<std::int64_t> sum;
  std::vector<double> exact;
  for (std::size_t a = 0; a < lattice.dim; ++a) {
    exact.push_back(mean(a));
    sum.push_back(std::llround(unit * (mean(a) + noise * normal(random))));
  }
  const double error = distance_of(center(sum, unit * noise, kRows, 0, lattice), exact);
  EXPECT_LT(error * error, 0.3 * 0.25) << "of the noise's .25";
}

// 1000 rows of squared length 1, of 400 features, of which the mean has .96: the rest is .2 long. What a fit releases
// is the sum of them and the rest's in its ball, each with noise of `sigma` in units of the ball.
struct Steps {
  double first = 0.0;   // |c - m| after the first
  double second = 0.0;  // and after both
  double radius = 0.0;  // between them
};

Steps steps(double mean_length, double sigma, std::mt19937_64& random) {
  const Lattice lattice{1.0, 400};
  constexpr std::int64_t kRows = 1000;
  std::normal_distribution<double> normal;
  std::vector<double> mean = normal_numbers(random, lattice.dim);
  const double length = std::sqrt(squared_norm(mean));
  for (double& entry : mean) entry *= mean_length / length;
  const auto noised = [&](const std::vector<double>& about, double unit, double noise) {
    std::vector<std::int64_t> sum;
    for (std::size_t a = 0; a < mean.size(); ++a) {
      sum.push_back(std::llround(unit * kRows * (mean[a] - about[a]) + noise * normal(random)));
    }
    return sum;
  };
  const auto error = [&](const ReleasedCenter& center) { return distance_of(center.mean(), mean); };
  ReleasedCenter center =
      released(noised(std::vector<double>(mean.size(), 0.0), lattice.scale(), lattice.scale() * sigma),
               lattice.scale() * sigma, kRows, 1, lattice);
  Steps made{.first = error(center), .radius = center.radius()};
  const double unit = 32767.0 / center.radius();
  center.add_rest(rest(noised(center.ball_center(), unit, 32767.0 * sigma), 32767.0 * sigma));
  made.second = error(center);
  return made;
}

// Noise of a step is 10 an entry: .2 in all, once divided by the rows.
TEST(CenterInSteps, ASecondStepIsWorthMoreTheLongerTheMeanIs) {
  std::mt19937_64 random(37);
  double of_long = 0.0;
  double of_short = 0.0;
  for (int draw = 0; draw < 20; ++draw) {
    const Steps long_mean = steps(std::sqrt(0.96), 10.0, random);
    EXPECT_NEAR(long_mean.radius, 1.15 * std::sqrt(0.04 + 0.04), 0.2);
    of_long += long_mean.second / long_mean.first / 20;
    const Steps short_mean = steps(0.3, 10.0, random);
    EXPECT_EQ(short_mean.radius, 1.0) << "nothing is known of what is left";
    of_short += short_mean.second / short_mean.first / 20;
  }
  EXPECT_LT(of_long, 0.5) << "with the same noise again it were .71";
  EXPECT_NEAR(of_short, 0.75, 0.08) << "two sums of one noise";
}

// Of a mean of .6 the rest is .8 long: a ball about it would clip the rows of small classes, which are farther.
TEST(CenterInSteps, WhereMuchIsLeftOfRowsTheSecondStepSumsWholeRowsAgain) {
  const ReleasedCenter center = released({12 * kUnit / 5, 0, 0, 0}, 1.0, 4, 0);
  EXPECT_NEAR(center.mean()[0], 0.6, 1e-4);
  EXPECT_THAT(center.ball_center(), testing::Each(0.0));
  EXPECT_EQ(center.radius(), 1.0);
  const ReleasedCenter longer = released({19 * kUnit / 5, 0, 0, 0}, 1.0, 4, 0);  // .95: the rest is .31 long
  EXPECT_EQ(longer.ball_center(), longer.mean());
  EXPECT_NEAR(longer.radius(), 1.15 * std::sqrt(1.0 - 0.95 * 0.95), 1e-3);
}

TEST(CenterInSteps, WithoutNoiseNoRowIsClippedAndABallHoldsOneRowAtLeast) {
  ReleasedCenter center = released({2 * kUnit, 0, 0, 0}, 0, 4, 0);
  EXPECT_EQ(center.radius(), 2.0);
  center.add_rest(rest({0, 0, 0, 0}, 0));
  EXPECT_NEAR(center.mean()[0], 0.5, 1e-12);
  EXPECT_EQ(released({4 * kUnit, 0, 0, 0}, 1.0, 4, 0).radius(), 0.1);
}

// 1 / 3 of a lattice unit is off the lattice: rows are summed about 0.
TEST(CenterInSteps, TheRestIsWhatIsLeftOfRowsAboutALatticePoint) {
  ReleasedCenter center = released({1, 0, 0, 0}, 0, 3, 0);
  center.add_rest(rest({0, 0, 0, 0}, 0));
  EXPECT_NEAR(center.mean()[0] * kUnit, (1.0 / 3.0 + 0.0) / 2.0, 1e-9);
}

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
  return std::pow(distance_of(denoised(noised, kNoise).value(), means) / kNoise, 2) / static_cast<double>(kCoordinates);
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
  int found = 0;
  for (int draw = 0; draw < 100; ++draw) found += denoised(normal_numbers(engine, 512, kNoise), kNoise) ? 1 : 0;
  EXPECT_LE(found, 3);
}

}  // namespace dpreduce::released_center_test
