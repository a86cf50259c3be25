#include "common/data/npy_writer.hpp"
#include "common/data/worker_rows.hpp"
#include "tests/common/data/array_reads.hpp"

namespace dpreduce::row_stream_test {

TEST(RowsPerChunk, FillsTheBudgetOfAtLeastOneRow) {
  EXPECT_EQ(rows_per_chunk(12, 2), 1u);
  EXPECT_EQ(rows_per_chunk(23, 2), 1u);
  EXPECT_EQ(rows_per_chunk(std::size_t{256} << 20, 1664), (std::size_t{256} << 20) / 6660);
  EXPECT_THROW(rows_per_chunk(11, 2), UsageError);
  EXPECT_THROW(rows_per_chunk(1, 0), std::logic_error);
}

constexpr std::size_t kDim = 3;
constexpr std::size_t kRows = 40;

// 40 rows of entries 0, 1, 2, ... and labels row mod 7, cut into files of 10, 0, 25, 5 rows (x) and 17, 23 (y).
class Streamed : public testing::Test {
 protected:
  Streamed() {
    std::size_t file = 0;
    std::size_t first = 0;
    for (const std::size_t rows : {10, 0, 25, 5}) {
      NpyWriter x(folder / numbered_npy("x", file), file % 2 == 0 ? DType::kFloat32 : DType::kFloat16, {rows, kDim});
      x.append(std::span<const float>(counted(rows * kDim, static_cast<float>(first * kDim))));
      x.commit();
      ++file;
      first += rows;
    }
    std::vector<std::int64_t> labels(kRows);
    for (std::size_t row = 0; row < kRows; ++row) labels[row] = static_cast<std::int64_t>(row % 7);
    write_labels(folder / "y0.npy", {labels.begin(), labels.begin() + 17});
    write_labels(folder / "y1.npy", {labels.begin() + 17, labels.end()});
  }
  WorkerRows open(std::size_t worker, std::size_t workers) {
    return WorkerRows::open({folder / "x*.npy"}, {folder / "y*.npy"}, worker, workers);
  }
  TemporaryFolder folder;
};

// Counts the rows that a pass sees.
void see_pass(RowStream& stream, std::size_t chunk_rows, std::vector<int>& seen) {
  stream.rewind();
  while (const auto chunk = stream.next()) {
    ASSERT_LE(chunk->rows, chunk_rows);
    ASSERT_EQ(chunk->labels.size(), chunk->rows);
    EXPECT_EQ(decoded_floats(chunk->features, 0, chunk->features.size()),
              counted(chunk->rows * kDim, static_cast<float>(chunk->first_row * kDim)));
    for (std::size_t r = 0; r < chunk->rows; ++r) {
      ++seen[chunk->first_row + r];
      ASSERT_EQ(chunk->labels[r], static_cast<std::int32_t>((chunk->first_row + r) % 7));
    }
  }
  EXPECT_FALSE(stream.next());
}

TEST_F(Streamed, AllWorkersTogetherSeeEveryRowOnceInEachPassWhateverTheChunk) {
  for (const std::size_t workers : {1, 2, 3, 7, 40}) {
    for (const std::size_t chunk_rows : {1, 2, 7, 25, 1000}) {
      std::vector<int> seen(kRows, 0);
      for (std::size_t worker = 0; worker < workers; ++worker) {
        WorkerRows data = open(worker, workers);
        RowStream stream(data, 7, chunk_rows);
        for (int pass = 0; pass < 2; ++pass) see_pass(stream, chunk_rows, seen);
      }
      EXPECT_THAT(seen, testing::Each(2));
    }
  }
}

// Files have 10, 0, 25 and 5 rows.
TEST_F(Streamed, AChunkEndsWithItsFileUnlessItWereSmall) {
  const auto chunks = [&](std::size_t chunk_rows) {
    WorkerRows data = open(0, 1);
    RowStream stream(data, 7, chunk_rows);
    std::vector<std::size_t> rows;
    while (const std::size_t count = stream.rows_of_next()) {
      rows.push_back(stream.next().value().rows);
      EXPECT_EQ(rows.back(), count);
    }
    return rows;
  };
  EXPECT_THAT(chunks(8), ElementsAre(8, 2, 8, 8, 8, 1 + 5));
  EXPECT_THAT(chunks(12), ElementsAre(10, 12, 12, 1 + 5));
  EXPECT_THAT(chunks(20), ElementsAre(10, 20, 5, 5));
  EXPECT_THAT(chunks(24), ElementsAre(10, 24, 1 + 5));
}

TEST_F(Streamed, RowsMayHaveNoLabelsAndAWorkerNoRows) {
  WorkerRows data = WorkerRows::open({folder / "x*.npy"}, {}, 0, 1);
  const auto chunk = RowStream(data, 0, 100).next();
  ASSERT_TRUE(chunk);
  EXPECT_EQ(chunk->rows, kRows);
  EXPECT_TRUE(chunk->labels.empty());
  write_features(folder / "none0.npy", 0, kDim, 0);
  WorkerRows none = WorkerRows::open({folder / "none{rank}.npy"}, {}, 0, 1);
  EXPECT_FALSE(RowStream(none, 0, 100).next());
  EXPECT_THROW(RowStream(none, 0, 0), std::logic_error);
}

}  // namespace dpreduce::row_stream_test
