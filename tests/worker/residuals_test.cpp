#include "worker/residuals.hpp"

#include "common/lattice/lattice_rows.hpp"
#include "tests/testing.hpp"
#include "tests/worker/drawn_numbers.hpp"

namespace dpreduce::residuals_test {

std::vector<std::int64_t> some_products(std::mt19937_64& engine, std::size_t count) {
  std::vector<std::int64_t> products(count);
  for (auto& product : products) product = static_cast<std::int64_t>(engine() >> 34) - (std::int64_t{1} << 29);
  return products;
}

std::vector<std::int16_t> residual_of(const std::vector<std::int64_t>& products, const std::vector<double>& factors,
                                      const std::vector<std::int32_t>& classes, Loss loss) {
  std::vector<double> scratch(products.size());
  std::vector<std::int16_t> rho(products.size());
  lattice_residual(products, factors, classes, loss, scratch, rho);
  return rho;
}

// One class for softmax; any set of them, ascending, for other losses.
std::vector<std::int32_t> some_classes(std::mt19937_64& engine, std::size_t classes, Loss loss) {
  if (loss == Loss::kSoftmax) return {static_cast<std::int32_t>(engine() % classes)};
  std::vector<std::int32_t> some;
  for (std::size_t c = 0; c < classes; ++c) {
    if (engine() % 3 == 0) some.push_back(static_cast<std::int32_t>(c));
  }
  return some;
}

TEST(ExpOfNonpositive, AgreesWithTheLibraryToAFewUnitsInTheLastPlace) {
  std::mt19937_64 engine(1);
  std::uniform_real_distribution<double> exponent(-690.0, 0.0);
  for (int trial = 0; trial < 200000; ++trial) {
    const double x = trial % 2 == 0 ? exponent(engine) : exponent(engine) / 690.0;
    EXPECT_NEAR(exp_of_nonpositive(x), std::exp(x), 6e-16 * std::exp(x)) << x;
  }
  EXPECT_EQ(exp_of_nonpositive(0.0), 1.0);
  EXPECT_EQ(exp_of_nonpositive(-1000.0), 0.0);
}

// Whatever vectors the processor has, and however many classes fill their last one.
TEST(ClassProbabilities, HaveTheBitsOfOneEntryAtATime) {
  std::mt19937_64 engine(4);
  for (const std::size_t classes : {2u, 3u, 8u, 10u, 17u, 1000u}) {
    const std::vector<std::int64_t> products = some_products(engine, classes);
    std::vector<double> factors(classes);
    for (auto& factor : factors) factor = 1e-8 * static_cast<double>(1 + engine() % 7);
    std::vector<double> softmax(classes);
    std::vector<double> sigmoid(classes);
    class_probabilities(products, factors, Loss::kSoftmax, softmax);
    class_probabilities(products, factors, Loss::kSigmoid, sigmoid);
    std::vector<double> scores(classes);
    for (std::size_t c = 0; c < classes; ++c) scores[c] = factors[c] * static_cast<double>(products[c]);
    const double largest = *std::max_element(scores.begin(), scores.end());
    std::array<double, 8> sums{};
    for (std::size_t c = 0; c < classes; ++c) sums[c % 8] += exp_of_nonpositive(scores[c] - largest);
    const double sum = ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
    for (std::size_t c = 0; c < classes; ++c) {
      EXPECT_EQ(softmax[c], exp_of_nonpositive(scores[c] - largest) * (1.0 / sum)) << c << " of " << classes;
      const double small = exp_of_nonpositive(-std::abs(scores[c]));
      EXPECT_EQ(sigmoid[c], (scores[c] < 0.0 ? small : 1.0) / (1.0 + small)) << c << " of " << classes;
    }
  }
}

// What is longer than 1 is scaled to that. A row of several classes has one taken from each, one of none from none.
TEST(LatticeResidual, IsProbabilitiesMinusLabelsOnTheLattice) {
  const std::vector<double> factors{0.01, 0.02, 0.05, 1.0};
  const double sum = 2 * std::exp(1.0) + std::exp(-1.0) + 1.0;
  const std::vector<double> softmax{std::exp(1.0) / sum, std::exp(-1.0) / sum - 1.0, std::exp(1.0) / sum, 1.0 / sum};
  struct Case {
    std::vector<std::int64_t> products;
    std::vector<std::int32_t> classes;
    Loss loss;
    std::vector<double> expected;
  };
  const std::vector<std::int64_t> zeros{0, 0, 0};
  for (const auto& [products, classes, loss, expected] :
       {Case{{100, -50, 20, 0}, {1}, Loss::kSoftmax, softmax},  // scores 1, -1, 1, 0
        Case{{10, 0, -20, 0}, {1}, Loss::kSquare, {0.1, -1.0, -1.0, 0.0}},
        Case{{0, 0, 0, 0}, {2}, Loss::kSigmoid, {0.5, 0.5, -0.5, 0.5}},
        Case{zeros, {0, 2}, Loss::kSigmoid, {-0.5, 0.5, -0.5}}, Case{zeros, {}, Loss::kSigmoid, {0.5, 0.5, 0.5}},
        Case{zeros, {0, 1, 2}, Loss::kSquare, {-1.0, -1.0, -1.0}}}) {
    const auto rho = residual_of(products, {factors.begin(), factors.begin() + std::ssize(products)}, classes, loss);
    const double scale = Lattice{1.0, rho.size()}.scale() * std::min(1.0, 1.0 / std::sqrt(sum_of_squares(expected)));
    for (std::size_t c = 0; c < rho.size(); ++c) {
      EXPECT_NEAR(rho[c], expected[c] * scale, 0.51) << to_string(loss) << " of " << classes.size() << ", " << c;
    }
  }
}

TEST(LatticeResidual, WithAPriorIsTheGradientOfTheResidualLoss) {
  // Cosines 0.5, -1, 0, 0 from products of lengths 2 and 4, 5, 1, 0.
  std::vector<double> prior(4);
  prior_probabilities(std::vector<std::int64_t>{4, -10, 0, 0}, 2.0, std::vector<double>{4.0, 5.0, 1.0, 0.0}, prior);
  const double prior_sum = std::exp(0.5) + std::exp(-1.0) + 2.0;
  EXPECT_NEAR(prior[0], std::exp(0.5) / prior_sum, 1e-15);
  EXPECT_NEAR(prior[1], std::exp(-1.0) / prior_sum, 1e-15);
  EXPECT_NEAR(prior[3], 1.0 / prior_sum, 1e-15);
  // By central differences of the loss in each score z_c = products_c factor_c.
  const std::vector<std::int64_t> products{100, -50, 20, 0};
  const std::vector<double> factors{0.01, 0.02, 0.05, 1.0};
  const std::int32_t label = 2;
  const auto loss = [&](std::size_t moved, double by) {
    double sum = 0.0;
    double of_label = 0.0;
    for (std::size_t c = 0; c < 4; ++c) {
      const double z = factors[c] * static_cast<double>(products[c]) + (c == moved ? by : 0.0);
      sum += std::exp(z);
      if (c == static_cast<std::size_t>(label)) of_label = std::exp(z);
    }
    return -std::log((of_label / sum + prior[static_cast<std::size_t>(label)]) / 2.0);
  };
  std::vector<double> scratch(4);
  std::vector<std::int16_t> rho(4);
  lattice_residual(products, factors, {&label, 1}, Loss::kSoftmax, scratch, rho, prior);
  const double scale = Lattice{1.0, 4}.scale();
  for (std::size_t c = 0; c < 4; ++c) {
    EXPECT_NEAR(rho[c], (loss(c, 1e-5) - loss(c, -1e-5)) / 2e-5 * scale, 0.51);
  }
}

TEST(LatticeResidual, NeverPassesTheNormBound) {
  std::mt19937_64 engine(2);
  for (const std::size_t classes : {2u, 3u, 10u, 257u, 1000u}) {
    for (const Loss loss : {Loss::kSoftmax, Loss::kSigmoid, Loss::kSquare}) {
      for (int trial = 0; trial < 200; ++trial) {
        const double size = std::pow(10.0, static_cast<double>(engine() % 200) - 100.0);
        const std::vector<std::int64_t> products = some_products(engine, classes);
        const std::vector<double> factors(classes, size);
        const auto rho = residual_of(products, factors, some_classes(engine, classes, loss), loss);
        EXPECT_LE(sum_of_squares<std::int64_t>(rho), kLatticeNorm * kLatticeNorm);
      }
    }
  }
}

TEST(LatticeResidual, OfSoftmaxWithoutAClassIsZero) {
  EXPECT_EQ(residual_of({5, 7}, {1.0, 1.0}, {}, Loss::kSoftmax), (std::vector<std::int16_t>{0, 0}));
  EXPECT_THROW(residual_of({5, 7}, {1.0, 1.0}, {0, 1}, Loss::kSoftmax), std::logic_error);
}

using Classes = std::vector<std::vector<std::int32_t>>;

// Of each row alone and of all at once.
void expect_the_bits_of_rows_alone(const std::vector<std::int64_t>& products, const std::vector<double>& factors,
                                   const Classes& labels, Loss loss, double residual_norm) {
  const std::size_t classes = factors.size();
  std::vector<std::int16_t> rho(products.size(), 7);
  std::vector<double> norms(labels.size(), -1.0);
  lattice_residuals(
      products, [&](std::size_t row) { return std::span<const std::int32_t>(labels[row]); },
      {factors, loss, residual_norm}, rho, norms);
  std::vector<double> scratch(classes);
  std::vector<std::int16_t> alone(classes);
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const double norm = lattice_residual(std::span(products).subspan(row * classes, classes), factors, labels[row],
                                         loss, scratch, alone, {}, residual_norm);
    EXPECT_EQ(norms[row], norm) << "row " << row;
    for (std::size_t c = 0; c < classes; ++c) {
      EXPECT_EQ(rho[row * classes + c], alone[c]) << "row " << row << ", class " << c << " of " << classes;
    }
  }
}

TEST(LatticeResiduals, OfManyRowsHaveTheBitsOfEachAlone) {
  std::mt19937_64 engine(1);
  for (std::size_t classes = 2; classes <= kMostClassesAcross; ++classes) {
    for (const Loss loss : {Loss::kSoftmax, Loss::kSigmoid, Loss::kSquare}) {
      for (const std::size_t rows : {0, 1, 7, 8, 9, 64}) {
        for (const double size : {1e-12, 1e-9, 1e-6, 1e80}) {
          const std::vector<std::int64_t> products = some_products(engine, rows * classes);
          std::vector<double> factors(classes, size);
          factors[engine() % classes] = 0.0;  // a class without weights
          Classes labels(rows);
          for (auto& of_row : labels) {
            const bool is_of_none = loss == Loss::kSoftmax && engine() % 5 == 0;
            if (!is_of_none) of_row = some_classes(engine, classes, loss);
          }
          expect_the_bits_of_rows_alone(products, factors, labels, loss, engine() % 2 == 0 ? 1.0 : 0.3);
        }
      }
    }
  }
}

TEST(LatticeResiduals, RefuseSoftmaxOfTwoClasses) {
  const std::vector<double> factors{1.0, 1.0};
  const std::vector<std::int32_t> both{0, 1};
  std::vector<std::int16_t> rho(2);
  std::vector<double> norms(1);
  const auto both_of_each = [&](std::size_t) { return std::span<const std::int32_t>(both); };
  EXPECT_THROW(
      lattice_residuals(std::vector<std::int64_t>{5, 7}, both_of_each, {factors, Loss::kSoftmax, 1.0}, rho, norms),
      std::logic_error);
}

}  // namespace dpreduce::residuals_test
