

#include "common/lattice/lattice_rows.hpp"
#include "tests/testing.hpp"
#include "worker/residuals.hpp"

namespace dpreduce::residual_block_test {

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
          std::vector<std::int64_t> products(rows * classes);
          for (auto& product : products) product = static_cast<std::int64_t>(engine() >> 34) - (std::int64_t{1} << 29);
          std::vector<double> factors(classes, size);
          factors[engine() % classes] = 0.0;  // a class without weights
          Classes labels(rows);
          for (auto& of_row : labels) {
            if (loss == Loss::kSoftmax) {
              if (engine() % 5 != 0) of_row.push_back(static_cast<std::int32_t>(engine() % classes));
              continue;
            }
            for (std::size_t c = 0; c < classes; ++c) {
              if (engine() % 3 == 0) of_row.push_back(static_cast<std::int32_t>(c));
            }
          }
          expect_the_bits_of_rows_alone(products, factors, labels, loss, engine() % 2 == 0 ? 1.0 : 0.3);
        }
      }
    }
  }
}

TEST(LatticeResiduals, RefuseSoftmaxOfTwoClasses) {
  const std::vector<std::int64_t> products{5, 7};
  const std::vector<double> factors{1.0, 1.0};
  const std::vector<std::int32_t> both{0, 1};
  std::vector<std::int16_t> rho(2);
  std::vector<double> norms(1);
  EXPECT_THROW(lattice_residuals(
                   products, [&](std::size_t) { return std::span<const std::int32_t>(both); },
                   {factors, Loss::kSoftmax, 1.0}, rho, norms),
               std::logic_error);
}

}  // namespace dpreduce::residual_block_test
