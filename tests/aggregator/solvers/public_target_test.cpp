// A released Gram matrix, cleaned about that of public rows that are alike, and of others.
#include "aggregator/solvers/public_target.hpp"

#include <cmath>
#include <random>

#include "aggregator/solvers/gram_spectrum.hpp"
#include "common/plan/triangle.hpp"
#include "tests/testing.hpp"

namespace dpreduce::public_target_test {

constexpr std::size_t kDim = 60;
const Lattice kLattice{1.0, kDim};
const double kUnit = kLattice.scale() * kLattice.scale();

// `rows` rows whose second moment falls as 1 / (j + 1) along features, from number `first` on.
std::vector<double> moments(double rows, std::size_t first) {
  std::vector<double> diagonal(kDim);
  double sum = 0.0;
  for (std::size_t j = 0; j < kDim; ++j) sum += diagonal[(first + j) % kDim] = 1.0 / static_cast<double>(j + 1);
  for (double& entry : diagonal) entry *= rows / sum;
  return diagonal;
}

ReleasedBlock gram_of(const std::vector<double>& diagonal, double sigma, std::mt19937_64& random) {
  std::normal_distribution<double> normal(0.0, sigma);
  std::vector<std::int64_t> values;
  for (std::size_t a = 0; a < kDim; ++a) {
    for (std::size_t b = a; b < kDim; ++b) {
      const double noise = sigma > 0.0 ? normal(random) / (a == b ? 1.0 : std::sqrt(2.0)) : 0.0;
      values.push_back(std::llround(kUnit * ((a == b ? diagonal[a] : 0.0) + noise)));
    }
  }
  return {"gram", std::move(values), sigma * kUnit};
}

// |G^ - G|_F / |G|_F
double error_of(const ReleasedBlock& found, const std::vector<double>& diagonal) {
  const std::vector<double> matrix = gram_in_units(found, kLattice);
  double error = 0.0;
  double size = 0.0;
  for (std::size_t a = 0; a < kDim; ++a) {
    for (std::size_t b = a; b < kDim; ++b) {
      const double truth = a == b ? diagonal[a] : 0.0;
      error += (a == b ? 1.0 : 2.0) * std::pow(matrix[a * kDim + b] - truth, 2);
      size += truth * truth;
    }
  }
  return std::sqrt(error / size);
}

// That of the matrix that is cleaned alone.
double error_alone(const ReleasedBlock& released, const std::vector<double>& diagonal) {
  const GramSpectrum spectrum(released, kLattice);
  std::vector<double> identity(kDim * kDim, 0.0);
  for (std::size_t a = 0; a < kDim; ++a) identity[a * kDim + a] = 1.0;
  const std::vector<double> g(spectrum.eigenvalues().begin(), spectrum.eigenvalues().end());
  const std::vector<double> matrix = spectrum.rows_of(spectrum.coordinates(identity), g);
  std::vector<std::int64_t> values;
  for (std::size_t a = 0; a < kDim; ++a) {
    for (std::size_t b = a; b < kDim; ++b) values.push_back(std::llround(kUnit * matrix[a * kDim + b]));
  }
  return error_of({"gram", std::move(values), 0.0}, diagonal);
}

struct Errors {
  double alone = 0.0;
  double about_public = 0.0;
};

Errors errors(double rows, double sigma, double public_rows, std::size_t first_of_public) {
  std::mt19937_64 random(58);
  const std::vector<double> diagonal = moments(rows, 0);
  const ReleasedBlock released = gram_of(diagonal, sigma, random);
  const ReleasedBlock of_public = gram_of(moments(public_rows, first_of_public), 0.0, random);
  return {error_alone(released, diagonal), error_of(gram_about_public(released, of_public, kLattice), diagonal)};
}

TEST(PublicTarget, RowsThatAreAlikeTakeMostOfTheNoiseAway) {
  const Errors found = errors(1000, 5, 1e5, 0);
  EXPECT_GT(found.alone, 0.3);
  EXPECT_LT(found.about_public, 0.5 * found.alone);
}

TEST(PublicTarget, OtherRowsAreCorrectedWhereTheReleaseShowsIt) {
  const Errors found = errors(1000, 2, 1e5, 7);
  EXPECT_LT(found.alone, 0.25);
  EXPECT_LT(found.about_public, 1.4 * found.alone) << "the public matrix itself is wrong by more than its size";
}

TEST(PublicTarget, FewPublicRowsSayLittle) {
  std::mt19937_64 random(59);
  const ReleasedBlock noise = gram_of(std::vector<double>(kDim, 0.0), 40, random);
  const auto uneven = [&](double public_rows) {
    std::vector<double> one(kDim, 0.0);
    one[0] = public_rows;
    one[1] = public_rows / 2;
    const std::vector<double> matrix =
        gram_in_units(gram_about_public(noise, gram_of(one, 0.0, random), kLattice), kLattice);
    return matrix[0] / std::abs(matrix[2 * kDim + 2]);
  };
  EXPECT_LT(uneven(2), uneven(2000));
}

TEST(PublicTarget, WithoutNoiseNothingChanges) {
  std::mt19937_64 random(60);
  const ReleasedBlock exact = gram_of(moments(1000, 0), 0.0, random);
  const ReleasedBlock found = gram_about_public(exact, gram_of(moments(50, 7), 0.0, random), kLattice);
  EXPECT_TRUE(std::ranges::equal(found.values(), exact.values()));
  EXPECT_EQ(gram_about_public(gram_of(moments(1000, 0), 5.0, random), exact, kLattice).sigma(), 0.2 * 5.0 * kUnit);
}

}  // namespace dpreduce::public_target_test
