#include "aggregator/solvers/tridiagonal_spectrum.hpp"

#include <Eigen/Dense>

#include "tests/testing.hpp"

namespace dpreduce::tridiagonal_spectrum_test {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct Tridiagonal {
  std::string name;
  std::vector<double> diagonal;
  std::vector<double> beside;

  RowMajor dense() const {
    const auto size = static_cast<Eigen::Index>(diagonal.size());
    RowMajor matrix = Eigen::Map<const Eigen::VectorXd>(diagonal.data(), size).asDiagonal();
    for (Eigen::Index i = 0; i + 1 < size; ++i) {
      matrix(i, i + 1) = matrix(i + 1, i) = beside[static_cast<std::size_t>(i)];
    }
    return matrix;
  }
};

Tridiagonal random_matrix(std::size_t size, double unit) {
  std::mt19937 engine(static_cast<unsigned>(size));
  std::normal_distribution<double> normal;
  Tridiagonal matrix{fmt::format("random, {}", size), std::vector<double>(size), std::vector<double>(size - 1)};
  for (double& entry : matrix.diagonal) entry = unit * normal(engine);
  for (double& entry : matrix.beside) entry = unit * normal(engine);
  return matrix;
}

// Wilkinson's matrix, whose larger eigenvalues are pairs that agree to many digits, several times; `glue` joins blocks.
Tridiagonal wilkinson(std::size_t blocks, double glue) {
  Tridiagonal matrix{"Wilkinson", {}, {}};
  for (std::size_t block = 0; block < blocks; ++block) {
    for (int i = -10; i <= 10; ++i) {
      matrix.diagonal.push_back(std::abs(i));
      matrix.beside.push_back(i < 10 ? 1.0 : glue);
    }
  }
  matrix.beside.pop_back();
  return matrix;
}

std::vector<Tridiagonal> matrices() {
  std::vector<Tridiagonal> all{
      wilkinson(1, 0.0),
      wilkinson(4, 1e-9),
      wilkinson(5, -1e-15),
      {"zero", std::vector<double>(20, 0.0), std::vector<double>(19, 0.0)},
      {"one", std::vector<double>(20, 1.0), std::vector<double>(19, 0.0)},
      {"two roots are left", {3, 3, 3, 3, 3, 3}, {0, 0, -2, 0, 0}},
      {"three are", {3, 3, 3, 3, 3, 3}, {0, 1, 2, 0, 0}},
      {"one is negative", {-1, 0}, {0.5}},
      {"equal entries", std::vector<double>(65, 2.0), std::vector<double>(64, -1.0)},
      {"graded", {1e12, 1e6, 1.0, 1e-6, 1e-12}, {1e8, 1e2, 1e-4, 1e-10}},
  };
  for (const std::size_t size : {1UL, 2UL, 3UL, 4UL, 7UL, 50UL, 201UL}) all.push_back(random_matrix(size, 1.0));
  all.push_back(random_matrix(40, 1e200));
  all.push_back(random_matrix(40, 1e-200));
  return all;
}

std::vector<double> eigenvectors_of(const TridiagonalSpectrum& spectrum, std::size_t first,
                                    const std::vector<double>& factors) {
  std::vector<double> vectors(factors.size() * spectrum.size());
  spectrum.make_eigenvectors(first, factors, vectors);
  return vectors;
}

TEST(TridiagonalSpectrum, IsTheEigenproblemsSolution) {
  for (const Tridiagonal& matrix : matrices()) {
    SCOPED_TRACE(matrix.name);
    Communicator ranks = Communicator::alone();
    const TridiagonalSpectrum spectrum(ranks, matrix.diagonal, matrix.beside);
    const std::size_t size = matrix.diagonal.size();
    const auto order = static_cast<Eigen::Index>(size);
    const std::vector<double> found = eigenvectors_of(spectrum, 0, std::vector<double>(size, 1.0));
    const Eigen::Map<const RowMajor> vectors(found.data(), order, order);
    const Eigen::Map<const Eigen::VectorXd> eigenvalues(spectrum.eigenvalues().data(), order);
    const double norm = std::max(matrix.dense().cwiseAbs().maxCoeff(), std::numeric_limits<double>::min());
    EXPECT_TRUE(std::ranges::is_sorted(spectrum.eigenvalues()));
    EXPECT_LT((vectors * vectors.transpose() - RowMajor::Identity(order, order)).cwiseAbs().maxCoeff(), 1e-13);
    const RowMajor scaled = matrix.dense() / norm;
    EXPECT_LT((vectors * scaled - (eigenvalues / norm).asDiagonal() * vectors).cwiseAbs().maxCoeff(), 1e-13);

    const RowMajor rows = RowMajor::Random(3, order);
    const std::vector<double> coordinates = spectrum.coordinates({rows.data(), 3 * size});
    EXPECT_LT((Eigen::Map<const RowMajor>(coordinates.data(), 3, order) - rows * vectors.transpose()).norm(), 1e-12);
    const std::vector<double> again = spectrum.rows_of(coordinates);
    EXPECT_LT((Eigen::Map<const RowMajor>(again.data(), 3, order) - rows).norm(), 1e-12);
  }
}

TEST(TridiagonalSpectrum, SomeEigenvectorsAreThoseOfAllTimesTheirFactors) {
  const Tridiagonal matrix = wilkinson(3, 1e-9);
  Communicator ranks = Communicator::alone();
  const TridiagonalSpectrum spectrum(ranks, matrix.diagonal, matrix.beside);
  const std::vector<double> all = eigenvectors_of(spectrum, 0, std::vector<double>(63, 1.0));
  const std::vector<double> some = eigenvectors_of(spectrum, 5, std::vector{2.0, -3.0});
  for (std::size_t i = 0; i < 63; ++i) {
    EXPECT_NEAR(some[i], 2.0 * all[5 * 63 + i], 1e-14);
    EXPECT_NEAR(some[63 + i], -3.0 * all[6 * 63 + i], 1e-14);
  }
  EXPECT_THROW(eigenvectors_of(spectrum, 62, std::vector{1.0, 1.0}), std::logic_error);
}

TEST(TridiagonalSpectrum, RanksFindTheBitsOfOne) {
  for (const Tridiagonal& matrix : {wilkinson(4, 1e-9), random_matrix(201, 1.0), random_matrix(1, 1.0)}) {
    SCOPED_TRACE(matrix.name);
    const auto of = [&](Communicator& ranks) {
      const TridiagonalSpectrum spectrum(ranks, matrix.diagonal, matrix.beside);
      std::vector<double> all = eigenvectors_of(spectrum, 0, std::vector<double>(spectrum.size(), 1.0));
      all.insert(all.end(), spectrum.eigenvalues().begin(), spectrum.eigenvalues().end());
      return all;
    };
    Communicator alone = Communicator::alone();
    const std::vector<double> expected = of(alone);
    for (const int size : {2, 3, 5}) {
      Communicator::on_threads(size, [&](Communicator& ranks) { EXPECT_EQ(of(ranks), expected) << size; });
    }
  }
}

TEST(TridiagonalSpectrum, WhatDoesNotConvergeEndsAllRanks) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(Communicator::on_threads(2,
                                        [&](Communicator& ranks) {
                                          TridiagonalSpectrum(ranks, {1.0, 1.0, 1.0, nan}, {1.0, 1.0, 1.0});
                                        }),
               std::runtime_error);
}

}  // namespace dpreduce::tridiagonal_spectrum_test
