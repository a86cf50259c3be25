#include "aggregator/solvers/cleaned_ridge.hpp"

#include <Eigen/Dense>

#include "aggregator/solvers/gram_spectrum.hpp"
#include "tests/aggregator/solvers/released_gram.hpp"
#include "tests/testing.hpp"

namespace dpreduce::cleaned_ridge_test {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Rows' Gram matrix with a falling spectrum, and noise of standard deviation sigma on the diagonal.
Matrix noised_gram(Eigen::Index dim, double sigma, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  Matrix rows(3 * dim, dim);
  for (Eigen::Index i = 0; i < rows.rows(); ++i) {
    for (Eigen::Index j = 0; j < dim; ++j) rows(i, j) = normal(engine) * 3.0 / (1.0 + static_cast<double>(j));
  }
  Matrix gram = rows.transpose() * rows;
  for (Eigen::Index i = 0; i < dim; ++i) {
    for (Eigen::Index j = i; j < dim; ++j) {
      gram(i, j) += sigma * normal(engine) * (i == j ? 1.0 : std::sqrt(0.5));
      gram(j, i) = gram(i, j);
    }
  }
  return gram;
}

std::vector<double> solved(const Matrix& gram, double radius, double ridge, const Eigen::VectorXd& b) {
  std::vector<double> matrix(gram.data(), gram.data() + gram.size());
  for (Eigen::Index i = 0; i < gram.rows(); ++i) {
    for (Eigen::Index j = 0; j < i; ++j) matrix[static_cast<std::size_t>(i * gram.cols() + j)] = 1e9;  // not read
  }
  std::vector<double> x(b.data(), b.data() + b.size());
  solve_cleaned(matrix, radius, ridge, x);
  return x;
}

double relative_error(const std::vector<double>& x, const Eigen::VectorXd& expected) {
  return (Eigen::Map<const Eigen::VectorXd>(x.data(), expected.size()) - expected).norm() / expected.norm();
}

TEST(CleanedRidge, IsTheDenseSolutionWithoutNoise) {
  for (const Eigen::Index dim : {1, 2, 7, 60}) {
    const Matrix gram = noised_gram(dim, 0.0, 1);
    const Eigen::VectorXd b = Eigen::VectorXd::LinSpaced(dim, 1.0, 2.0);
    const Eigen::VectorXd expected = (gram + 0.5 * Matrix::Identity(dim, dim)).ldlt().solve(b);
    EXPECT_LT(relative_error(solved(gram, 0.0, 0.5, b), expected), 1e-10) << dim;
  }
}

// Against all eigenvalues, shrunk one by one. Up to 128 features the Krylov space may become complete.
TEST(CleanedRidge, IsTheFunctionOfTheNoisedMatrix) {
  for (const Eigen::Index dim : {1, 2, 16, 17, 100, 300}) {
    const double sigma = 0.4;
    const double radius = sigma * std::sqrt(static_cast<double>(dim) / 2.0);
    const Matrix gram = noised_gram(dim, sigma, 2);
    std::mt19937 engine(9);
    std::normal_distribution<double> normal;
    Eigen::VectorXd b(dim);
    for (double& entry : b) entry = normal(engine);
    const Eigen::SelfAdjointEigenSolver<Matrix> spectrum(gram);
    Eigen::VectorXd f = spectrum.eigenvalues();
    const double middle =
        middle_of_bulk({f.data(), static_cast<std::size_t>(dim)}, gram.trace(), static_cast<std::size_t>(dim), radius);
    for (double& entry : f) entry = 1.0 / (shrunk_eigenvalue(entry, radius, middle) + 0.7 * radius + 1.0);
    const Eigen::VectorXd expected =
        spectrum.eigenvectors() * (f.asDiagonal() * (spectrum.eigenvectors().transpose() * b));
    EXPECT_LT(relative_error(solved(gram, radius, 0.7 * radius + 1.0, b), expected), dim <= 128 ? 1e-6 : 2e-2) << dim;
  }
}

// Rows that spread evenly: where their eigenvalues lie beside the noise's 2 w is no matter.
TEST(CleanedRidge, TakesEvenRowsForWhatTheyAre) {
  constexpr Eigen::Index kDim = 64;
  constexpr double kEigenvalue = 100.0;
  const Eigen::VectorXd b = Eigen::VectorXd::LinSpaced(kDim, 1.0, 2.0);
  double before = 1.0;
  for (const double radius : {400.0, 200.0, 100.0, 50.0, 25.0}) {
    const double sigma = radius / std::sqrt(0.5 * static_cast<double>(kDim));
    const Matrix gram =
        noised_gram(kDim, sigma, 4) - noised_gram(kDim, 0.0, 4) + kEigenvalue * Matrix::Identity(kDim, kDim);
    const std::vector<double> x = solved(gram, radius, 0.5 * radius, b);
    const double error = relative_error(x, b / (kEigenvalue + 0.5 * radius));
    EXPECT_LE(error, before + 0.02) << "less noise, at radius " << radius;
    before = error;
  }
  EXPECT_LT(before, 0.1);
}

TEST(CleanedRidge, FindsTheBulkBesideLargeEigenvalues) {
  const std::vector<double> ascending{90.0, 95.0, 105.0, 110.0, 400.0, 2000.0};
  EXPECT_DOUBLE_EQ(middle_of_bulk(ascending, 2800.0, 6, 10.0), 100.0);
  EXPECT_DOUBLE_EQ(middle_of_bulk(std::span(ascending).last(2), 2800.0, 6, 10.0), 100.0) << "the largest are enough";
  EXPECT_DOUBLE_EQ(shrunk_eigenvalue(105.0, 10.0, 100.0), 100.0);
  EXPECT_DOUBLE_EQ(shrunk_eigenvalue(125.0, 10.0, 100.0), 120.0) << "20 + 10^2 / 20 above the bulk";
  EXPECT_DOUBLE_EQ(shrunk_eigenvalue(75.0, 10.0, 100.0), 80.0);
  EXPECT_DOUBLE_EQ(middle_of_bulk(ascending, -50.0, 6, 5000.0), 0.0);
}

TEST(CleanedRidge, MapsNothingToNothing) {
  const Matrix gram = noised_gram(5, 1.0, 3);
  EXPECT_EQ(solved(gram, 1.0, 1.0, Eigen::VectorXd::Zero(5)), std::vector<double>(5, 0.0));
}

TEST(CleanedRidge, RefusesWhatIsNoRidgeProblem) {
  std::vector<double> matrix(9, 1.0);
  std::vector<double> x(3, 1.0);
  EXPECT_THROW(solve_cleaned(matrix, 1.0, 0.0, x), std::logic_error);
  EXPECT_THROW(solve_cleaned(matrix, -1.0, 1.0, x), std::logic_error);
  x.push_back(1.0);
  EXPECT_THROW(solve_cleaned(matrix, 1.0, 1.0, x), std::logic_error);
  matrix = {-1.0, 0.0, 0.0, -1.0};
  x.resize(2);
  EXPECT_THROW(solve_cleaned(matrix, 0.0, 0.5, x), std::runtime_error);
}

TEST(ExactRidge, SolvesForEveryRowAndReadsTheUpperTriangleOnly) {
  for (const Eigen::Index dim : {1, 2, 7, 60}) {
    const Matrix rows = Matrix::Random(3 * dim, dim);
    const Matrix gram = rows.transpose() * rows;
    const Matrix sums = Matrix::Random(4, dim);
    Matrix upper = gram;
    upper.triangularView<Eigen::StrictlyLower>().setConstant(1e9);
    std::vector<double> matrix(upper.data(), upper.data() + upper.size());
    std::vector<double> solved(sums.data(), sums.data() + sums.size());
    solve_exact_ridge(matrix, 0.5, solved);
    const Matrix expected = (gram + 0.5 * Matrix::Identity(dim, dim)).ldlt().solve(sums.transpose()).transpose();
    EXPECT_LT((Eigen::Map<const Matrix>(solved.data(), 4, dim) - expected).norm(), 1e-10 * expected.norm()) << dim;
  }
}

TEST(ExactRidge, RefusesWhatIsNotPositiveDefiniteAndRowsOfAnotherLength) {
  std::vector<double> gram{-1.0, 0.0, 0.0, -1.0};
  std::vector<double> rows(2, 1.0);
  EXPECT_THROW(solve_exact_ridge(gram, 0.5, rows), std::runtime_error);
  rows.resize(4, 1.0);
  for (const std::size_t elements : {9U, 8U}) {
    gram.assign(elements, 1.0);
    EXPECT_THROW(solve_exact_ridge(gram, 1.0, rows), std::logic_error) << elements;
  }
}

// Two features, a constant and one target; of a row's square .3 is the target's, a seventh of the rest the constant's.
const Preprocessing kRows{.input_dim = 2,
                          .clip_norm = 2.0,
                          .center = {},
                          .intercept = 1.0 / 7.0,
                          .targets = {.count = 1, .center = {0.0}, .scale = {1.0}, .share = 0.3}};

ReleasedBlock gram_of(double rows, double sigma) {
  const Lattice lattice{2.0, 4};
  const double constant_squared = 0.7 / 7.0 * 4.0;
  return released_gram(4, constant_squared * lattice.scale() * lattice.scale(), sigma,
                       [&](std::size_t a, std::size_t b) { return a == 2 && b == 2 ? rows : 0.0; });
}

// `sigma` is in rows: below three of it, that number of rows is not known.
TEST(TargetRidge, KnowsNoFewerRowsThanThreeOfTheirNoise) {
  EXPECT_NEAR(TargetRidge(gram_of(500.0, 10.0), kRows).rows(), 500.0, 1e-3);
  for (const double rows : {-40.0, 0.0, 29.0}) EXPECT_NEAR(TargetRidge(gram_of(rows, 10.0), kRows).rows(), 30.0, 1e-3);
  EXPECT_NEAR(TargetRidge(gram_of(31.0, 10.0), kRows).rows(), 31.0, 1e-3);
  EXPECT_NEAR(TargetRidge(gram_of(0.0, 0.0), kRows).rows(), 1.0, 1e-6) << "one row at least";
}

}  // namespace dpreduce::cleaned_ridge_test
