// Persons that are clipped, against sums in wide integers that are made in the plainest way.
#include "common/lattice/lattice_rows.hpp"
#include "tests/testing.hpp"
#include "tests/worker/drawn_numbers.hpp"
#include "worker/statistic_entry.hpp"
#include "worker/weighted_rows.hpp"

namespace dpreduce::clipped_persons_test {

constexpr std::size_t kDimOfPersons = 12;
constexpr std::int32_t kClassesOfPersons = 4;
constexpr std::array kSums{UnitSum::kClassSums, UnitSum::kGram, UnitSum::kClassGrams};

WeightPower power_of(UnitSum sum) {
  return sum == UnitSum::kClassSums ? WeightPower::kWhole : WeightPower::kHalf;
}

LatticeRows on_lattice(const std::vector<float>& features, const std::vector<std::int32_t>& labels,
                       const std::vector<std::uint32_t>& persons, std::size_t labels_per_row = 1) {
  const RowTransform transform({kDimOfPersons, 1, Normalize::kL2, 1.0, {}, 0.0});
  LatticeRows chunk({1.0, kDimOfPersons}, persons.size(), labels_per_row);
  chunk.assign(transform, StoredFloats(features), labels, 1);
  chunk.set_units(persons);
  return chunk;
}

// Rows of one class, of one person.
LatticeRows of_one_person(const std::vector<float>& features) {
  const std::size_t rows = features.size() / kDimOfPersons;
  return on_lattice(features, std::vector<std::int32_t>(rows, 1), std::vector<std::uint32_t>(rows, 0));
}

// Persons of these many rows; with `spread` 0 all rows of a person point the same way.
LatticeRows rows_of_persons(const std::vector<std::size_t>& sizes, double spread, unsigned seed,
                            std::size_t labels_per_row = 1) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> features;
  std::vector<std::int32_t> labels;
  std::vector<std::uint32_t> persons;
  for (std::size_t person = 0; person < sizes.size(); ++person) {
    std::vector<float> direction(kDimOfPersons);
    for (float& entry : direction) entry = normal(engine);
    const auto label = static_cast<std::int32_t>(engine() % kClassesOfPersons);
    for (std::size_t row = 0; row < sizes[person]; ++row) {
      for (const float entry : direction) features.push_back(entry + static_cast<float>(spread) * normal(engine));
      labels.push_back(spread == 0.0 ? label : static_cast<std::int32_t>(engine() % kClassesOfPersons));
      const std::int32_t next = labels.back() + 1;
      if (labels_per_row == 2) labels.push_back(next < kClassesOfPersons ? next : kNoLabel);
      persons.push_back(static_cast<std::uint32_t>(person));
    }
  }
  return on_lattice(features, labels, persons, labels_per_row);
}

// |the sum that rows [first, end) add with this weight|, over S^2 (over S for class sums).
long double norm_of(const LatticeRows& chunk, std::size_t first, std::size_t end, UnitSum sum, RowWeight weight) {
  const std::size_t square = sum == UnitSum::kClassSums ? kDimOfPersons : kDimOfPersons * kDimOfPersons;
  std::vector<long double> total(kClassesOfPersons * square, 0.0L);
  std::vector<std::int16_t> q(kDimOfPersons);
  for (std::size_t row = first; row < end; ++row) {
    weigh_row(chunk.row(row), weight, power_of(sum), q);
    std::vector<std::int32_t> classes(chunk.classes_of(row).begin(), chunk.classes_of(row).end());
    if (sum == UnitSum::kGram) classes = {0};
    for (const std::int32_t label : classes) {
      long double* const block = &total[static_cast<std::size_t>(label) * square];
      for (std::size_t a = 0; a < kDimOfPersons; ++a) {
        if (sum == UnitSum::kClassSums) {
          block[a] += q[a];
          continue;
        }
        for (std::size_t b = 0; b < kDimOfPersons; ++b)
          block[a * kDimOfPersons + b] += static_cast<long double>(q[a]) * q[b];
      }
    }
  }
  return std::sqrt(sum_of_squares<long double>(total)) /
         static_cast<long double>(sum == UnitSum::kClassSums ? kLatticeNorm : static_cast<std::int64_t>(kSquaredNorm));
}

// |the sum of rho_row q_row^T over rows first, ..., with these residuals|, over S^2.
long double gradient_norm(const LatticeRows& chunk, std::size_t first, std::span<const std::int16_t> rho,
                          std::size_t classes) {
  std::vector<long double> sum(classes * kDimOfPersons, 0.0L);
  for (std::size_t row = 0; row * classes < rho.size(); ++row) {
    for (std::size_t e = 0; e < sum.size(); ++e) {
      sum[e] +=
          static_cast<long double>(rho[row * classes + e / kDimOfPersons]) * chunk.row(first + row)[e % kDimOfPersons];
    }
  }
  return std::sqrt(sum_of_squares<long double>(sum)) / static_cast<long double>(kSquaredNorm);
}

// The same rows, whose persons have these parts of the bound.
LatticeRows with_parts(LatticeRows chunk, const UnitParts& parts) {
  std::vector<std::uint32_t> persons;
  for (std::size_t row = 0; row < chunk.rows(); ++row) persons.push_back(chunk.unit(row));
  chunk.set_units(persons, std::make_shared<const UnitParts>(parts));
  return chunk;
}

// The same on any threads. Rows that are not whole are those of weigh_row.
std::vector<RowWeight> expected_weights(const LatticeRows& chunk, UnitSum sum, std::uint64_t bound) {
  std::vector<std::int16_t> scaled(chunk.rows() * kDimOfPersons);
  std::vector<RowWeight> weights = clipped_weights(chunk, sum, bound, 3, scaled);
  EXPECT_EQ(weights, clipped_weights(chunk, sum, bound, 1));
  std::vector<std::int16_t> q(kDimOfPersons);
  for (std::size_t row = 0; row < chunk.rows(); ++row) {
    if (weights[row] == kWholeRow) continue;
    weigh_row(chunk.row(row), weights[row], power_of(sum), q);
    EXPECT_TRUE(std::ranges::equal(std::span(scaled).subspan(row * kDimOfPersons, kDimOfPersons), q)) << row;
  }
  return weights;
}

// No person adds more than its part of the bound, or nearly so much where it would add more.
void expect_persons_held(const LatticeRows& chunk, UnitSum sum, std::uint64_t bound, std::size_t labels,
                         const UnitParts& parts) {
  const std::vector<RowWeight> weights = expected_weights(chunk, sum, bound);
  const long double root = std::sqrt(sum == UnitSum::kGram ? 1.0L : static_cast<long double>(labels));
  for (std::size_t first = 0; first < chunk.rows(); first = chunk.end_of_unit(first)) {
    const std::size_t end = chunk.end_of_unit(first);
    for (std::size_t row = first; row < end; ++row) ASSERT_EQ(weights[row], weights[first]);
    const UnitPart part = parts.empty() ? UnitPart() : parts[chunk.unit(first)];
    const long double most = root * static_cast<long double>(bound * part.count) / part.of;
    const bool is_within = norm_of(chunk, first, end, sum, kWholeRow) <= most * (1.0L + 1e-15L);
    EXPECT_EQ(weights[first] == kWholeRow, is_within);
    const long double norm = norm_of(chunk, first, end, sum, weights[first]);
    EXPECT_LE(norm, most * (1.0L + 1e-15L));
    // The lattice is coarse for a short row.
    const long double closeness = parts.empty() ? 0.995L : part.of < 1000 ? 0.98L : 0.5L;
    EXPECT_TRUE(is_within || norm >= most * closeness) << norm << " of " << most;
    if (parts.empty()) {  // never below weighing
      EXPECT_GE(weights[first], weight_of_rows(end - first, bound) - (kWholeRow >> 7));
    }
  }
}

// Who has rows elsewhere may add a part of B here: so much, and no more. One row alone may be too long for it.
TEST(ClippedPersons, ASumIsScaledDownToItsPartOfTheBoundAndNoFurther) {
  const std::vector<std::size_t> sizes{1, 2, 3, 5, 40, 2, 13, 1, 7};  // 13 and 40 rows are more than features
  const UnitParts parts{{1, 3}, {1, 1}, {1, 3}, {2, 5}, {1, 7}, {65535, 65536}, {1, 1024}, {1, 1}, {3, 4}};
  for (const UnitSum sum : kSums) {
    for (const double spread : {0.0, 0.3, 3.0}) {
      for (const std::size_t labels : {1u, 2u}) {
        const LatticeRows chunk = rows_of_persons(sizes, spread, 5, labels);
        for (const std::uint64_t bound : {1u, 2u, 4u}) expect_persons_held(chunk, sum, bound, labels, {});
      }
      const LatticeRows chunk = with_parts(rows_of_persons(sizes, spread, 5), parts);
      for (const std::uint64_t bound : {1u, 3u}) expect_persons_held(chunk, sum, bound, 1, parts);
    }
  }
}

// Rows that point apart cost the root of their number.
TEST(ClippedPersons, RowsThatPointApartAreWhole) {
  std::vector<float> features(9 * kDimOfPersons, 0.0F);
  for (std::size_t row = 0; row < 9; ++row) features[row * kDimOfPersons + row] = row % 2 == 0 ? 1.0F : -1.0F;
  const LatticeRows chunk = of_one_person(features);
  for (const UnitSum sum : kSums) {
    EXPECT_EQ(clipped_weights(chunk, sum, 3, 1), std::vector<RowWeight>(9, kWholeRow));
    const RowWeight weight = clipped_weights(chunk, sum, 1, 1).front();
    EXPECT_NEAR(weight, kWholeRow / 3.0, kWholeRow * 1e-2);  // in a ninth of rows each would weigh
  }
}

// Of all ways to a norm: by products of rows, of few classes and of many, and by the sum itself.
TEST(ClippedPersons, AGradientIsScaledDownToItsBoundAndNoFurther) {
  std::mt19937 engine(8);
  std::normal_distribution<double> normal;
  for (const std::size_t classes : {2u, 30u, 70u}) {
    for (const double spread : {0.0, 0.4, 3.0}) {
      const std::vector<std::size_t> sizes{1, 3, 20, 2, 9, 70};
      const LatticeRows chunk = rows_of_persons(sizes, spread, 6);
      LatticeRows remembered = chunk;
      remember_products(remembered, 3);
      const Lattice lattice{1.0, classes};
      std::vector<std::int16_t> residuals(chunk.rows() * classes);
      std::vector<double> same(classes);
      for (double& entry : same) entry = normal(engine);
      for (std::size_t row = 0; row < chunk.rows(); ++row) {
        std::vector<double> u = same;
        for (double& entry : u) entry += spread * normal(engine);
        const double factor = (row % 11 == 7 ? 0.01 : 1.0) / std::sqrt(sum_of_squares(u));
        for (double& entry : u) entry *= factor;
        ASSERT_TRUE(quantize_row(u, lattice, std::span(residuals).subspan(row * classes, classes)));
      }
      for (const std::uint64_t bound : {1u, 3u}) {
        for (std::size_t first = 0; first < chunk.rows(); first = chunk.end_of_unit(first)) {
          const std::size_t end = chunk.end_of_unit(first);
          const std::vector<std::int16_t> own(&residuals[first * classes], residuals.data() + end * classes);
          std::vector<std::int16_t> clipped = own;
          clip_residuals(chunk, first, clipped, classes, bound);
          std::vector<std::int16_t> by_remembered = own;
          clip_residuals(remembered, first, by_remembered, classes, bound);
          EXPECT_EQ(by_remembered, clipped);
          const auto most = static_cast<long double>(bound);
          const long double norm = gradient_norm(chunk, first, clipped, classes);
          EXPECT_LE(norm, most * (1.0L + 1e-15L));
          if (gradient_norm(chunk, first, own, classes) <= most) {
            EXPECT_EQ(clipped, own);
          } else {
            EXPECT_GE(norm, most * 0.99L);
          }
        }
      }
    }
  }
}

TEST(ClippedPersons, APartOfTheBoundIsHeldByGradientsToo) {
  const UnitParts parts{{1, 3}, {2, 3}, {1, 2}};
  const LatticeRows chunk = with_parts(rows_of_persons({1, 4, 30}, 0.0, 6), parts);
  constexpr std::size_t kOf = 2;
  for (std::size_t first = 0; first < chunk.rows(); first = chunk.end_of_unit(first)) {
    const std::size_t end = chunk.end_of_unit(first);
    const UnitPart part = parts[chunk.unit(first)];
    // All alike, and nearly as long as may be: N is nearly m F.
    std::vector<std::int16_t> residuals;
    for (std::size_t row = first; row < end; ++row) residuals.insert(residuals.end(), {32000, 1000});
    const auto own = static_cast<long double>(end - first);
    for (const std::uint64_t bound : {1u, 2u, 100u}) {
      std::vector<std::int16_t> clipped = residuals;
      clip_residuals(chunk, first, clipped, kOf, bound);
      const long double norm = gradient_norm(chunk, first, clipped, kOf);
      const long double most = static_cast<long double>(bound * part.count) / part.of;
      EXPECT_LE(norm, most * (1.0L + 1e-15L));
      EXPECT_GE(norm, std::min(own * 0.97L, most * 0.99L));
      EXPECT_EQ(clipped == residuals, most >= own * 0.97L);
    }
  }
}

// The largest numbers that may occur fit into 128 bits: nobody passes the bound, and who is within it stays.
TEST(ClippedPersons, TheLargestBoundAndTheLargestPartsAreExact) {
  LatticeRows chunk = rows_of_persons({3}, 0.0, 4);
  for (const auto& [part, is_whole] :
       {std::pair{UnitPart{65536, 65537}, true}, std::pair{UnitPart{1, 4294967295}, false},
        std::pair{UnitPart{3, 65536}, true}, std::pair{UnitPart{2, 65536}, false}}) {
    chunk.set_units(std::vector<std::uint32_t>(3, 0), std::make_shared<const UnitParts>(1, part));
    const long double most = 65536.0L * part.count / part.of;
    for (const UnitSum sum : kSums) {
      const RowWeight weight = clipped_weights(chunk, sum, 65536, 1).front();
      EXPECT_EQ(weight == kWholeRow, is_whole) << part.count << " / " << part.of;
      EXPECT_LE(norm_of(chunk, 0, 3, sum, weight), most);
    }
  }
}

// However small the share, a weight is found; of more rows than 32 bits hold the sum of as well.
TEST(ClippedPersons, ManyRowsThatAreAlikeAreHeld) {
  for (const std::size_t rows : {3000u, 70000u}) {
    const LatticeRows chunk = rows_of_persons({rows}, 0.0, 4);
    for (const UnitSum sum : kSums) {
      const RowWeight weight = clipped_weights(chunk, sum, 1, 1).front();
      EXPECT_LE(norm_of(chunk, 0, chunk.rows(), sum, weight), 1.0L);
      EXPECT_GT(weight, 0u);
    }
  }
}

// Residuals whose lengths fall just short of an integer: cut to integers they would be within the bound that they pass.
TEST(ClippedPersons, AGradientWhoseLengthsAreNearlyIntegersIsHeld) {
  for (const std::size_t rows : {7u, 31u, 151u}) {  // divisors of S
    const auto whole = static_cast<std::uint64_t>(kLatticeNorm) / rows;
    const std::uint64_t squared = (whole + 1) * (whole + 1) - 1;  // the length is between `whole` and the next integer
    std::vector<std::int16_t> residual;                           // of four squares, as every integer is
    std::uint64_t rest = squared;
    while (residual.size() < 2) {
      residual.push_back(static_cast<std::int16_t>(std::sqrt(static_cast<double>(rest))));
      rest -= static_cast<std::uint64_t>(residual.back()) * residual.back();
    }
    for (std::uint64_t third = 0; third * third <= rest && residual.size() < 4; ++third) {
      const auto last = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(rest - third * third)));
      if (third * third + last * last == rest)
        residual.insert(residual.end(), {static_cast<std::int16_t>(third), static_cast<std::int16_t>(last)});
    }
    ASSERT_EQ(residual.size(), 4u);
    std::vector<float> features(rows * kDimOfPersons, 0.0F);
    for (std::size_t row = 0; row < rows; ++row) features[row * kDimOfPersons] = 1.0F;
    const LatticeRows chunk = of_one_person(features);
    const auto entry = static_cast<long double>(chunk.row(0)[0]);
    ASSERT_GT(entry * rows * std::sqrt(static_cast<long double>(squared)), static_cast<long double>(kSquaredNorm));
    std::vector<std::int16_t> residuals;
    for (std::size_t row = 0; row < rows; ++row) residuals.insert(residuals.end(), residual.begin(), residual.end());
    clip_residuals(chunk, 0, residuals, 4, 1);
    EXPECT_LE(gradient_norm(chunk, 0, residuals, 4), 1.0L);
  }
}

}  // namespace dpreduce::clipped_persons_test
