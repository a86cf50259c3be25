#include "audit/neighbor_rows.hpp"

#include <cmath>
#include <filesystem>
#include <stdexcept>

#include <gtest/gtest.h>

#include "common/data/private_folder.hpp"
#include "common/data/worker_rows.hpp"

namespace dpreduce {
namespace {

NeighborTerms terms(Adjacency adjacency) {
  return {.classes = 3,
          .dim = 4,
          .clip_norm = 2.0,
          .other_rows = 5,
          .rows_taken_for = 4,
          .balancing_rows = 6,
          .adjacency = adjacency};
}

TEST(NeighborRows, DifferByOneRecord) {
  for (const NeighborPair& pair : worst_case_pairs(terms(Adjacency::kAddRemove))) {
    EXPECT_EQ(pair.without.y.size(), pair.name == "alone" ? 12U : 11U);
    EXPECT_EQ(pair.with.y.size(), pair.without.y.size() + 1);
    EXPECT_TRUE(std::equal(pair.without.x.begin(), pair.without.x.end(), pair.with.x.begin())) << pair.name;
    EXPECT_TRUE(std::equal(pair.without.y.begin(), pair.without.y.end(), pair.with.y.begin())) << pair.name;
  }
  for (const NeighborPair& pair : worst_case_pairs(terms(Adjacency::kReplaceOne))) {
    ASSERT_EQ(pair.without.x.size(), pair.with.x.size());
    EXPECT_TRUE(std::equal(pair.without.x.begin(), pair.without.x.end() - 4, pair.with.x.begin())) << pair.name;
    EXPECT_TRUE(std::equal(pair.without.y.begin(), pair.without.y.end() - 1, pair.with.y.begin())) << pair.name;
  }
}

TEST(NeighborRows, OneCanaryIsAloneInItsClassAndOneIsOpposed) {
  const auto pairs = worst_case_pairs(terms(Adjacency::kAddRemove));
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(std::count(pairs[0].with.y.begin(), pairs[0].with.y.end(), 0), 1);
  EXPECT_EQ(std::count(pairs[1].with.y.begin(), pairs[1].with.y.end(), 0), 6);
  EXPECT_EQ(std::count(pairs[0].with.y.begin(), pairs[0].with.y.end(), 1), 4);
  EXPECT_FLOAT_EQ(pairs[0].with.x.front(), 1.0F);    // what the canary is taken for
  EXPECT_FLOAT_EQ(pairs[1].with.x.front(), -1.0F);   // norm 2, away from the canary
  EXPECT_FLOAT_EQ(pairs[1].with.x.back(), 1000.0F);  // norm 2000
}

TEST(NeighborRows, PublicRowsAreAlongTheCanaryAgainstItAndAtRightAngles) {
  const LabeledRows rows = opposed_public_rows(4, 2.0);
  ASSERT_EQ(rows.y.size(), 3U);
  const auto product_with_canary = [&](std::size_t row) {  // of the canary's direction (1, 1, 1, 1) / 2
    double sum = 0.0;
    for (std::size_t a = 0; a < 4; ++a) sum += 0.5 * static_cast<double>(rows.x[4 * row + a]);
    return sum;
  };
  EXPECT_FLOAT_EQ(product_with_canary(0), 2.0);
  EXPECT_FLOAT_EQ(product_with_canary(1), -2.0);
  EXPECT_FLOAT_EQ(product_with_canary(2), 0.0);
}

TEST(NeighborRows, AreWrittenAsTheReaderTakesThem) {
  const PrivateFolder folder;
  const NeighborPair pair = worst_case_pairs(terms(Adjacency::kAddRemove)).front();
  pair.with.write(folder / "x.npy", folder / "y.npy");
  WorkerRows rows = WorkerRows::open({folder / "x.npy"}, {folder / "y.npy"}, 0, 1);
  ASSERT_EQ(rows.range().count, 13U);
  std::vector<float> last(4);
  std::vector<std::int32_t> label(1);
  rows.features().read_features(12, 1, last);
  rows.labels().read_labels(12, 1, 3, label);
  EXPECT_EQ(last, std::vector<float>(4, 1000.0F));
  EXPECT_EQ(label.front(), 0);
}

TEST(NeighborRows, RefuseTermsWithoutRoom) {
  NeighborTerms two = terms(Adjacency::kAddRemove);
  two.classes = 2;
  EXPECT_THROW(worst_case_pairs(two), std::logic_error);
  NeighborTerms flat = terms(Adjacency::kAddRemove);
  flat.dim = 0;
  EXPECT_THROW(worst_case_pairs(flat), std::logic_error);
  LabeledRows rows{3, {}, {}};
  EXPECT_THROW(rows.add(std::vector<float>(2), 0), std::logic_error);
}

}  // namespace
}  // namespace dpreduce
