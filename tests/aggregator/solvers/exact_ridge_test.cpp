
#include <Eigen/Dense>

#include "aggregator/solvers/cleaned_ridge.hpp"
#include "tests/testing.hpp"

namespace dpreduce::exact_ridge_test {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

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

TEST(ExactRidge, RefusesWhatIsNotPositiveDefinite) {
  std::vector<double> gram{-1.0, 0.0, 0.0, -1.0};
  std::vector<double> rows(2, 1.0);
  EXPECT_THROW(solve_exact_ridge(gram, 0.5, rows), std::runtime_error);
}

TEST(ExactRidge, RefusesRowsOfAnotherLength) {
  std::vector<double> gram(9, 1.0);
  std::vector<double> rows(4, 1.0);
  EXPECT_THROW(solve_exact_ridge(gram, 1.0, rows), std::logic_error);
  std::vector<double> no_square(8, 1.0);
  EXPECT_THROW(solve_exact_ridge(no_square, 1.0, rows), std::logic_error);
}

}  // namespace dpreduce::exact_ridge_test
