#include "audit/neighbor_rows.hpp"

#include "common/base/output_file.hpp"
#include "tests/testing.hpp"

namespace dpreduce::neighbor_rows_test {

NeighborTerms terms(Adjacency adjacency, std::size_t person_rows = 0) {
  return {.classes = 3,
          .dim = 4,
          .clip_norm = 2.0,
          .other_rows = 5,
          .rows_taken_for = 4,
          .balancing_rows = 6,
          .adjacency = adjacency,
          .person_rows = person_rows};
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
  EXPECT_EQ(std::ranges::count(pairs[0].with.y, 0), 1);
  EXPECT_EQ(std::ranges::count(pairs[1].with.y, 0), 6);
  EXPECT_EQ(std::ranges::count(pairs[0].with.y, 1), 4);
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
  const WorldRows files = pair.with.write(folder.path(), "1");
  EXPECT_TRUE(files.person.empty());
  WorkerRows rows = WorkerRows::open(files.x, files.y, 0, 1);
  ASSERT_EQ(rows.range().count, 13U);
  std::vector<float> last(4);
  std::vector<std::int32_t> label(1);
  rows.features().read_features(12, 1, last);
  rows.labels().read_labels(12, 1, 3, label);
  EXPECT_EQ(last, std::vector<float>(4, 1000.0F));
  EXPECT_EQ(label.front(), 0);
}

// Rows of one world by person, as features, label and number of rows: what one person holds.
std::map<std::int64_t, std::vector<std::pair<float, std::int32_t>>> rows_by_person(const LabeledRows& rows) {
  std::map<std::int64_t, std::vector<std::pair<float, std::int32_t>>> by_unit;
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    by_unit[rows.person[row]].emplace_back(rows.row(row)[0], rows.y[row]);
  }
  return by_unit;
}

TEST(NeighborRows, DifferByOneWholePersonOnEveryRank) {
  for (const Adjacency adjacency : {Adjacency::kAddRemove, Adjacency::kReplaceOne}) {
    const auto pairs = worst_case_pairs(terms(adjacency, 6));
    EXPECT_EQ(pairs.size(), 2U);
    for (const NeighborPair& pair : pairs) {
      auto without = rows_by_person(pair.without);
      auto with = rows_by_person(pair.with);
      EXPECT_EQ(with.at(0).size(), 6U) << pair.name;
      EXPECT_EQ(without.count(0), adjacency == Adjacency::kAddRemove ? 0U : 1U) << pair.name;
      with.erase(0);
      without.erase(0);
      EXPECT_EQ(without, with) << pair.name;
      for (const auto& [person, rows] : with) EXPECT_EQ(rows.size(), 1U) << person;
      for (std::size_t rank = 0; rank < 3; ++rank) {
        const RowRange share = even_share(pair.with.rows(), rank, 3);
        const auto persons = std::span(pair.with.person).subspan(share.first, share.count);
        EXPECT_GT(std::ranges::count(persons, 0), 0) << pair.name << ", rank " << rank;
      }
    }
  }
}

TEST(NeighborRows, AHollowPersonMovesCountsAlone) {
  NeighborTerms of_persons = terms(Adjacency::kAddRemove, 6);
  of_persons.has_counts = true;
  const auto pairs = worst_case_pairs(of_persons);
  ASSERT_EQ(pairs.size(), 3U);
  EXPECT_EQ(pairs[2].name, "hollow");
  const auto canary = rows_by_person(pairs[2].with).at(0);
  ASSERT_EQ(canary.size(), 6U);
  EXPECT_EQ(std::count(canary.begin(), canary.end(), std::pair(0.0F, 0)), 5);
  EXPECT_EQ(std::count(canary.begin(), canary.end(), std::pair(1000.0F, 0)), 1);
}

TEST(NeighborRows, ArePersonsThatTheRanksOfAFitWeighTogether) {
  FitOptions options;
  options.data.train.person = {"persons"};
  options.data.rows_per_person = 2;
  for (const NeighborPair& pair : worst_case_pairs(terms(Adjacency::kAddRemove, 8))) {
    const PrivateFolder folder;
    const WorkerRows rows = open_world(options, pair.with.write(folder.path(), "1"));
    for (std::size_t row = 0; row < pair.with.rows(); ++row) {
      EXPECT_EQ(rows.weight(row), pair.with.person[row] == 0 ? kWholeRow / 4 : kWholeRow) << pair.name << " " << row;
    }
  }
}

TEST(NeighborRows, RefuseTermsWithoutRoom) {
  NeighborTerms two = terms(Adjacency::kAddRemove);
  two.classes = 2;
  EXPECT_THROW(worst_case_pairs(two), std::logic_error);
  NeighborTerms flat = terms(Adjacency::kAddRemove);
  flat.dim = 0;
  EXPECT_THROW(worst_case_pairs(flat), std::logic_error);
  LabeledRows rows{3, {}, {}, {}};
  EXPECT_THROW(rows.add(std::vector<float>(2), 0), std::logic_error);
}

}  // namespace dpreduce::neighbor_rows_test
