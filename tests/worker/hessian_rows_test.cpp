#include "common/lattice/lattice_rows.hpp"
#include "tests/testing.hpp"
#include "tests/worker/drawn_numbers.hpp"
#include "worker/chunk_residuals.hpp"

namespace dpreduce::hessian_rows_test {

// sum_c |round(f_c q)|^4, exact.
std::uint64_t fourth_powers(const std::vector<std::int16_t>& q, const std::vector<double>& f) {
  std::uint64_t sum = 0;
  std::vector<std::int16_t> v(q.size());
  for (const double factor : f) {
    scale_row(q, factor, v);
    const auto squared = static_cast<std::uint64_t>(sum_of_squares<std::int64_t>(v));
    sum += squared * squared;
  }
  return sum;
}

TEST(HessianBound, IsTheLargestSumOfSquaredCurvatures) {
  const double fourth = std::pow(double{kLatticeNorm}, 4);
  std::mt19937_64 engine(3);
  std::exponential_distribution<double> exponential;
  for (const std::size_t classes : {2u, 3u, 4u, 10u}) {
    double largest = 0.0;
    for (int trial = 0; trial < 20000; ++trial) {
      std::vector<double> p(classes);
      double sum = 0.0;
      for (double& entry : p) sum += entry = exponential(engine);
      double squares = 0.0;
      for (const double entry : p) squares += std::pow(entry / sum * (1.0 - entry / sum), 2);
      largest = std::max(largest, squares);
    }
    const double bound = static_cast<double>(hessian_bound(Loss::kSoftmax, classes)) / fourth;
    EXPECT_LE(largest, bound * (1.0 + 1e-9));
    EXPECT_GE(largest, bound * (classes < 4 ? 0.99 : 0.8));
  }
  for (const std::size_t classes : {2u, 3u, 4u, 1000u}) {
    const double bound = static_cast<double>(hessian_bound(Loss::kSigmoid, classes)) / fourth;
    EXPECT_NEAR(bound, std::min<double>(static_cast<double>(classes), 4.0) / 16.0, 1e-9);
  }
  EXPECT_THROW(hessian_bound(Loss::kSquare, 3), std::logic_error);
  EXPECT_THROW(hessian_bound(Loss::kSoftmax, 1), std::logic_error);
}

TEST(HessianFactors, NeverPassTheBoundWhateverTheRowAndTheScores) {
  std::mt19937_64 engine(7);
  for (const std::size_t classes : {2u, 3u, 4u, 5u, 100u}) {
    for (const Loss loss : {Loss::kSoftmax, Loss::kSigmoid}) {
      for (int trial = 0; trial < 300; ++trial) {
        std::vector<std::int16_t> q(1 + engine() % 300, 0);
        if (trial % 3 == 0) {  // all of the norm that there is, where rounding upwards passes the bound
          q[0] = trial % 2 == 0 ? 32767 : -32767;
        } else {
          std::vector<double> u(q.size());
          for (double& entry : u) entry = static_cast<double>(engine() % 2001) - 1000.0;
          const double norm = std::sqrt(squared_norm(u));
          for (double& entry : u) entry /= norm > 0.0 ? norm : 1.0;
          quantize_row(u, {1.0, q.size()}, q);
        }
        std::vector<std::int64_t> products(classes);
        for (auto& product : products) product = static_cast<std::int64_t>(engine() % 2001) - 1000;
        const std::vector<double> weight_factors(classes, trial % 4 == 0 ? 0.0 : 1e-3 * static_cast<double>(trial));
        std::vector<double> f(classes);
        hessian_factors(q, products, weight_factors, std::vector<std::int32_t>{1}, loss, f);
        const std::uint64_t bound = hessian_bound(loss, classes);
        EXPECT_LE(fourth_powers(q, f), bound);
        const bool is_extreme = loss == Loss::kSigmoid || classes < 4;
        if (is_extreme && trial % 12 == 0) {  // equal scores, a full row: no more is taken than must be
          EXPECT_GE(static_cast<double>(fourth_powers(q, f)), 0.99 * static_cast<double>(bound));
        }
      }
    }
  }
}

TEST(HessianFactors, OfSoftmaxWithoutAClassAreZero) {
  std::vector<double> f(2, 1.0);
  hessian_factors(std::vector<std::int16_t>{3}, std::vector<std::int64_t>{5, 7}, std::vector<double>{1.0, 1.0}, {},
                  Loss::kSoftmax, f);
  EXPECT_EQ(f, (std::vector<double>{0.0, 0.0}));
}

}  // namespace dpreduce::hessian_rows_test
