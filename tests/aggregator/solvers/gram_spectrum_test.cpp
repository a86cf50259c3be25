#include "aggregator/solvers/gram_spectrum.hpp"

#include <Eigen/Dense>

#include "aggregator/solvers/cleaned_ridge.hpp"
#include "tests/aggregator/solvers/released_gram.hpp"
#include "tests/testing.hpp"
#include "tests/worker/drawn_numbers.hpp"

namespace dpreduce::gram_spectrum_test {

constexpr std::size_t kSpectrumDim = 30;
const Lattice kSpectrumLattice{1.0, kSpectrumDim};
const Eigen::MatrixXd kIdentity = Eigen::MatrixXd::Identity(kSpectrumDim, kSpectrumDim);

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Eigen::MatrixXd random_gram(std::mt19937& engine, std::size_t rows, std::size_t rank, double size) {
  std::normal_distribution<double> normal;
  Eigen::MatrixXd factor = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(rows), kSpectrumDim);
  for (Eigen::Index i = 0; i < factor.rows(); ++i) {
    for (Eigen::Index j = 0; j < static_cast<Eigen::Index>(rank); ++j) factor(i, j) = size * normal(engine);
  }
  return factor.transpose() * factor;
}

// Of 100 rows in all directions.
Eigen::MatrixXd plain_gram(unsigned seed) {
  std::mt19937 engine(seed);
  return random_gram(engine, 100, kSpectrumDim, 1.0);
}

// With symmetric noise.
Eigen::MatrixXd noised(Eigen::MatrixXd gram, double sigma, std::mt19937& engine) {
  std::normal_distribution<double> normal;
  for (Eigen::Index i = 0; i < gram.rows(); ++i) {
    for (Eigen::Index j = i; j < gram.cols(); ++j) {
      gram(i, j) += sigma * normal(engine) * (i == j ? 1.0 : std::sqrt(0.5));
      gram(j, i) = gram(i, j);
    }
  }
  return gram;
}

ReleasedBlock released(const Eigen::MatrixXd& gram, double sigma) {
  const auto entry = [&](std::size_t i, std::size_t j) {
    return gram(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j));
  };
  return released_gram(kSpectrumDim, kSpectrumLattice.scale() * kSpectrumLattice.scale(), sigma, entry);
}

TEST(ReleasedEigenvalues, AreThoseOfTheMatrixWithItsNoise) {
  const Eigen::MatrixXd gram = plain_gram(7) - 40.0 * kIdentity;  // noise makes some negative, which stay so
  const std::vector<double> eigenvalues = released_eigenvalues(released(gram, 0.5), kSpectrumLattice);
  const Eigen::VectorXd expected = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(gram).eigenvalues();
  ASSERT_EQ(eigenvalues.size(), kSpectrumDim);
  EXPECT_LT(eigenvalues.front(), 0.0);
  for (std::size_t i = 0; i < kSpectrumDim; ++i) {
    EXPECT_NEAR(eigenvalues[i], expected[static_cast<Eigen::Index>(i)], 1e-5);
  }
  EXPECT_DOUBLE_EQ(noise_radius_of(released(gram, 0.5), kSpectrumLattice), 0.5 * std::sqrt(kSpectrumDim / 2.0));
}

TEST(ReleasedEigenvalues, AreNotFoundAgainWhereASpectrumWasMade) {
  const ReleasedBlock gram = released(plain_gram(8), 0.5);
  const std::vector<double> alone = released_eigenvalues(
      ReleasedBlock("gram", {gram.values().begin(), gram.values().end()}, gram.sigma()), kSpectrumLattice);
  const ReleasedBlock copy = gram;
  EXPECT_TRUE(copy.known_eigenvalues().empty());
  const GramSpectrum spectrum(gram, kSpectrumLattice);
  EXPECT_EQ(released_eigenvalues(copy, kSpectrumLattice), gram.known_eigenvalues());
  ASSERT_EQ(gram.known_eigenvalues().size(), alone.size());
  for (std::size_t i = 0; i < alone.size(); ++i)
    EXPECT_NEAR(gram.known_eigenvalues()[i], alone[i], 1e-9 * alone.back());
}

// Rows are multiplied by parts of V, and by V^T's, one after the other: as by V itself.
TEST(GramSpectrum, CoordinatesAreThoseAlongItsEigenvectors) {
  const GramSpectrum spectrum(released(plain_gram(11), 0.5), kSpectrumLattice);
  EXPECT_THROW(spectrum.top_eigenvectors(kSpectrumDim + 1), std::logic_error);
  std::vector<double> top = spectrum.top_eigenvectors(kSpectrumDim);
  const RowMajor vectors = Eigen::Map<const RowMajor>(top.data(), kSpectrumDim, kSpectrumDim).colwise().reverse();
  const RowMajor rows = RowMajor::Random(5, kSpectrumDim);
  const std::vector<double> coordinates = spectrum.coordinates(std::span(rows.data(), 5 * kSpectrumDim));
  const RowMajor expected = rows * vectors.transpose();
  EXPECT_LT((Eigen::Map<const RowMajor>(coordinates.data(), 5, kSpectrumDim) - expected).norm(), 1e-12);
  const std::vector<double> factors = spectrum.inverse_factors(0.7, 4);
  EXPECT_EQ(std::ranges::count(factors, 0.0), static_cast<std::ptrdiff_t>(kSpectrumDim - 4));
  EXPECT_EQ(factors.back(), 1.0 / (spectrum.eigenvalues().back() + 0.7));
  const std::vector<double> solved = spectrum.rows_of(coordinates, factors);
  const Eigen::Map<const Eigen::VectorXd> diagonal(factors.data(), kSpectrumDim);
  const RowMajor expected_rows = expected * diagonal.asDiagonal() * vectors;
  EXPECT_LT((Eigen::Map<const RowMajor>(solved.data(), 5, kSpectrumDim) - expected_rows).norm(), 1e-12);
}

TEST(GramSpectrum, TakesTheKnownNoiseOutOfTheEigenvalues) {
  std::mt19937 engine(2);
  constexpr double kSigma = 2.0;
  const Eigen::MatrixXd gram = random_gram(engine, 400, 2, 1.0);  // two eigenvalues near 400, the others 0
  const GramSpectrum spectrum(released(noised(gram, kSigma, engine), kSigma), kSpectrumLattice);
  EXPECT_NEAR(spectrum.noise_radius(), kSigma * std::sqrt(kSpectrumDim / 2.0), 1e-9);
  std::size_t kept = 0;
  for (const double eigenvalue : spectrum.eigenvalues()) {
    EXPECT_GE(eigenvalue, 0.0);
    if (eigenvalue > 100.0) ++kept;
  }
  EXPECT_EQ(kept, 2U);
  EXPECT_LT(spectrum.eigenvalues()[kSpectrumDim - 4], 2.0 * spectrum.noise_radius());
}

TEST(GramSpectrum, EqualEigenvaluesAreNotTornApart) {
  for (const double sigma : {0.0, 2.0}) {
    const GramSpectrum spectrum(released(100.0 * kIdentity, sigma), kSpectrumLattice);
    for (const double eigenvalue : spectrum.eigenvalues()) EXPECT_NEAR(eigenvalue, 100.0, 1e-9);
  }
}

// Eigenvalues 1000 / k, so that noise of radius about 77 hides most of them, but none of them is 0.
TEST(GramSpectrum, EigenvaluesAreWhatNoisedEigenvectorsHoldOfTheTrueMatrix) {
  std::mt19937 engine(4);
  std::normal_distribution<double> normal;
  constexpr double kSigma = 20.0;
  constexpr int kDraws = 400;
  const Eigen::MatrixXd factors =
      Eigen::MatrixXd::NullaryExpr(kSpectrumDim, kSpectrumDim, [&] { return normal(engine); });
  const Eigen::MatrixXd basis = Eigen::HouseholderQR<Eigen::MatrixXd>(factors).householderQ();
  Eigen::VectorXd truth(kSpectrumDim);
  for (Eigen::Index k = 0; k < truth.size(); ++k) truth[k] = 1000.0 / static_cast<double>(k + 1);
  const Eigen::MatrixXd gram = basis * truth.asDiagonal() * basis.transpose();

  double squared_error = 0.0;
  double squared_error_of_few = 0.0;  // of the formula for a matrix whose other eigenvalues are 0
  std::vector<DrawnMoments> errors(kSpectrumDim);
  for (int draw = 0; draw < kDraws; ++draw) {
    const Eigen::MatrixXd noisy = noised(gram, kSigma, engine);
    const GramSpectrum spectrum(released(noisy, kSigma), kSpectrumLattice);
    const std::vector<double> vectors = spectrum.top_eigenvectors(kSpectrumDim);
    for (std::size_t j = 0; j < kSpectrumDim; ++j) {
      const Eigen::Map<const Eigen::VectorXd> vector(vectors.data() + j * kSpectrumDim, kSpectrumDim);
      const double held = vector.dot(gram * vector);
      const double error = spectrum.eigenvalues()[kSpectrumDim - 1 - j] - held;
      squared_error += error * error;
      squared_error_of_few +=
          std::pow(shrunk_eigenvalue(vector.dot(noisy * vector), spectrum.noise_radius(), 0.0) - held, 2);
      errors[j].add(error);
    }
  }
  EXPECT_LT(squared_error, squared_error_of_few / 2.0);
  // Far from all others an eigenvalue stays as the unbiased estimate has it.
  for (std::size_t j = 0; j < 3; ++j) {
    EXPECT_LT(std::abs(errors[j].mean()), 4.0 * errors[j].deviation() / std::sqrt(kDraws)) << "eigenvalue " << j;
  }
}

std::vector<double> eigenvectors_of(const GramSpectrum& spectrum, std::size_t first,
                                    const std::vector<double>& factors) {
  std::vector<double> vectors(factors.size() * spectrum.dim());
  spectrum.make_eigenvectors(first, factors, vectors);
  return vectors;
}

TEST(GramSpectrum, SomeEigenvectorsAreThoseOfAllTimesTheirFactors) {
  const GramSpectrum spectrum(released(plain_gram(11), 0.5), kSpectrumLattice);
  const std::vector<double> all = eigenvectors_of(spectrum, 0, std::vector<double>(kSpectrumDim, 1.0));
  const std::vector<double> some = eigenvectors_of(spectrum, 5, std::vector{2.0, -3.0});
  for (std::size_t i = 0; i < kSpectrumDim; ++i) {
    EXPECT_NEAR(some[i], 2.0 * all[5 * kSpectrumDim + i], 1e-14);
    EXPECT_NEAR(some[kSpectrumDim + i], -3.0 * all[6 * kSpectrumDim + i], 1e-14);
  }
  EXPECT_THROW(eigenvectors_of(spectrum, kSpectrumDim - 1, std::vector{1.0, 1.0}), std::logic_error);
}

TEST(GramSpectrum, OwnersHaveTheBitsOfOne) {
  const ReleasedBlock gram = released(plain_gram(12), 0.5);
  const auto of = [&](Communicator& ranks) {
    const auto spectrum =
        GramSpectrum::of_owners(ranks, ranks.is_coordinator() ? &gram : nullptr, kSpectrumLattice).value();
    std::vector<double> all = eigenvectors_of(spectrum, 0, std::vector<double>(kSpectrumDim, 1.0));
    all.insert(all.end(), spectrum.eigenvalues().begin(), spectrum.eigenvalues().end());
    for (const double value : spectrum.signed_eigenvalues()) all.push_back(value);
    all.insert(all.end(), {spectrum.trace(), spectrum.noise_radius()});
    return all;
  };
  Communicator alone = Communicator::alone();
  const std::vector<double> expected = of(alone);
  for (const int size : {2, 3, 7}) {
    Communicator::on_threads(size, [&](Communicator& ranks) { EXPECT_EQ(of(ranks), expected) << size; });
  }
}

TEST(GramSpectrum, WhatDoesNotConvergeIsAnError) {
  EXPECT_THROW(GramSpectrum(std::vector<double>(9, std::numeric_limits<double>::quiet_NaN()), 1.0), std::runtime_error);
}

}  // namespace dpreduce::gram_spectrum_test
