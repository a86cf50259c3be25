#include "worker/row_digest.hpp"

#include "tests/common/data/data_files.hpp"
#include "tests/testing.hpp"
#include "tests/worker/drawn_numbers.hpp"

namespace dpreduce::row_digest_test {

constexpr std::size_t kDim = 13;
constexpr std::size_t kClasses = 4;

struct Row {
  std::vector<float> x;
  std::int32_t y = kNoLabel;
  std::int32_t second = kNoLabel;  // another class, above y
};

std::vector<Row> some_rows(std::size_t count) {
  std::mt19937 engine(3);
  std::vector<Row> rows(count);
  for (Row& row : rows) {
    row.y = static_cast<std::int32_t>(engine() % kClasses);
    row.x = normal_numbers(engine, kDim, 0.1F);
  }
  return rows;
}

RowHasher hasher_of(int secret, std::size_t dim = kDim) {
  std::array<std::byte, 32> bytes{};
  bytes[5] = static_cast<std::byte>(secret);
  return {bytes, dim};
}

using Digests = std::vector<RowDigest>;  // of each class

Digests digest_of(const std::vector<Row>& rows, std::size_t chunk_rows = 100, unsigned threads = 1, int secret = 1,
                  std::size_t labels_per_row = 1) {
  const RowTransform transform(
      {.input_dim = kDim, .pool = 1, .normalize = Normalize::kNone, .clip_norm = 1.0, .center = {}, .intercept = 0.0});
  const RowHasher hasher = hasher_of(secret);
  Digests by_class(kClasses);
  LatticeRows chunk({1.0, kDim}, chunk_rows, labels_per_row);
  for (std::size_t first = 0; first < rows.size(); first += chunk_rows) {
    std::vector<float> x;
    std::vector<std::int32_t> y;
    for (std::size_t row = first; row < std::min(rows.size(), first + chunk_rows); ++row) {
      x.insert(x.end(), rows[row].x.begin(), rows[row].x.end());
      y.push_back(rows[row].y);
      if (labels_per_row == 2) y.push_back(rows[row].second);
    }
    chunk.assign(transform, x, y, 1);
    hasher.accumulate(chunk, chunk.weights(), by_class, threads);
  }
  return by_class;
}

TEST(RowDigest, IgnoresOrderChunksAndThreads) {
  std::vector<Row> rows = some_rows(57);
  const Digests expected = digest_of(rows);
  std::mt19937 engine(4);
  for (const std::size_t chunk_rows : {1, 7, 56, 57}) {
    std::shuffle(rows.begin(), rows.end(), engine);
    EXPECT_EQ(digest_of(rows, chunk_rows, 3), expected);
  }
}

TEST(RowDigest, IsTheSumOverAnySplitOfTheRows) {
  const std::vector<Row> rows = some_rows(40);
  for (const std::ptrdiff_t cut : {0, 1, 17, 40}) {
    Digests sum = digest_of({rows.begin(), rows.begin() + cut});
    const Digests rest = digest_of({rows.begin() + cut, rows.end()});
    for (std::size_t label = 0; label < kClasses; ++label) {
      for (std::size_t word = 0; word < sum[label].size(); ++word) sum[label][word] += rest[label][word];
    }
    EXPECT_EQ(sum, digest_of(rows));
  }
}

TEST(RowDigest, ChangesWithAnyEntryAnyLabelAnyRowAndTheSecret) {
  std::vector<Row> rows = some_rows(9);
  rows[0].y = 0;
  rows[1].y = 1;
  std::set<Digests> seen{digest_of(rows), digest_of(rows, 100, 1, 2)};
  ASSERT_EQ(seen.size(), 2U) << "of two secrets";
  const auto expect_new = [&](const char* change, std::size_t row, const std::vector<Row>& changed) {
    EXPECT_TRUE(seen.insert(digest_of(changed)).second) << change << ", row " << row;
  };
  std::vector<Row> changed = rows;
  std::swap(changed[0].y, changed[1].y);
  expect_new("the same features and labels, otherwise paired", 0, changed);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    changed = rows;
    changed[row].x[row % kDim] += 1.01F / 32765.0F;
    expect_new("one unit of the lattice more", row, changed);
    changed = rows;
    changed[row].y = (changed[row].y + 1) % static_cast<std::int32_t>(kClasses);
    expect_new("another label", row, changed);
    changed = rows;
    changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(row));
    expect_new("a row less", row, changed);
    changed = rows;
    changed.push_back(rows[row]);
    expect_new("a row twice", row, changed);
  }
}

TEST(RowDigest, RowsThatAreNotFiniteAndRowsOfNoClassCountNowhere) {
  std::vector<Row> rows = some_rows(5);
  const Digests expected = digest_of(rows);
  rows.push_back(rows[0]);
  rows.back().y = kNoLabel;
  EXPECT_EQ(digest_of(rows), expected);
  rows.back().y = 0;
  rows.back().x[3] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(digest_of(rows), expected);
}

TEST(RowDigest, CoversTheWholeSetOfARowsClasses) {
  const auto digest_of_sets = [](const std::vector<std::pair<std::int32_t, std::int32_t>>& sets) {
    std::vector<Row> rows;
    for (const auto& [first, second] : sets) rows.push_back({std::vector<float>(kDim, 0.1F), first, second});
    return digest_of(rows, 100, 1, 1, 2);
  };
  const std::set<Digests> digests{
      digest_of_sets({{0, 1}, {2, 3}}), digest_of_sets({{0, 2}, {1, 3}}),  // the same sums by class
      digest_of_sets({{0, 1}, {2, -1}, {3, -1}}), digest_of_sets({{-5, -1}, {2, 3}, {-1, -1}})};
  EXPECT_EQ(digests.size(), 4U) << "all differ";
  EXPECT_EQ(digest_of_sets({{-5, -1}, {2, 3}}), digest_of_sets({{2, 3}})) << "more classes than slots: nowhere";
}

TEST(RowDigest, RowsMustHaveItsDimension) {
  Digests by_class(kClasses);
  EXPECT_THROW(hasher_of(1, kDim + 1).accumulate(LatticeRows({1.0, kDim}, 1), {}, by_class, 1), std::logic_error);
}

}  // namespace dpreduce::row_digest_test
