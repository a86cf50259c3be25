#include "common/data/npy_writer.hpp"
#include "common/data/worker_rows.hpp"
#include "tests/common/data/array_reads.hpp"
#include "tests/testing.hpp"

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
    float next = 0;
    std::size_t file = 0;
    for (const std::size_t rows : {10, 0, 25, 5}) {
      std::vector<float> entries(rows * kDim);
      for (float& entry : entries) entry = next++;
      NpyWriter x(folder / numbered_npy("x", file), file % 2 == 0 ? DType::kFloat32 : DType::kFloat16, {rows, kDim});
      ++file;
      x.append(std::span<const float>(entries));
      x.commit();
    }
    std::vector<std::int64_t> labels;
    for (std::size_t row = 0; row < kRows; ++row) labels.push_back(static_cast<std::int64_t>(row % 7));
    write_labels(folder / "y0.npy", {labels.begin(), labels.begin() + 17});
    write_labels(folder / "y1.npy", {labels.begin() + 17, labels.end()});
  }
  WorkerRows open(std::size_t worker, std::size_t workers) {
    return WorkerRows::open({folder / "x*.npy"}, {folder / "y*.npy"}, worker, workers);
  }
  TemporaryFolder folder;
};

TEST_F(Streamed, AllWorkersTogetherSeeEveryRowOnceWhateverTheChunk) {
  for (const std::size_t workers : {1, 2, 3, 7, 40}) {
    for (const std::size_t chunk_rows : {1, 2, 7, 25, 1000}) {
      std::vector<int> seen(kRows, 0);
      for (std::size_t worker = 0; worker < workers; ++worker) {
        WorkerRows data = open(worker, workers);
        RowStream stream(data, 7, chunk_rows);
        while (const auto chunk = stream.next()) {
          ASSERT_LE(chunk->rows, chunk_rows);
          ASSERT_EQ(chunk->features.size(), chunk->rows * kDim);
          ASSERT_EQ(chunk->labels.size(), chunk->rows);
          const std::vector<float> features = decoded_floats(chunk->features, 0, chunk->rows * kDim);
          for (std::size_t r = 0; r < chunk->rows; ++r) {
            const std::uint64_t row = chunk->first_row + r;
            ++seen[row];
            ASSERT_EQ(chunk->labels[r], static_cast<std::int32_t>(row % 7));
            for (std::size_t a = 0; a < kDim; ++a) {
              ASSERT_EQ(features[r * kDim + a], static_cast<float>(row * kDim + a));
            }
          }
        }
        EXPECT_FALSE(stream.next());
      }
      EXPECT_EQ(seen, std::vector<int>(kRows, 1));
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
  EXPECT_EQ(chunks(8), (std::vector<std::size_t>{8, 2, 8, 8, 8, 1 + 5}));
  EXPECT_EQ(chunks(12), (std::vector<std::size_t>{10, 12, 12, 1 + 5}));
  EXPECT_EQ(chunks(20), (std::vector<std::size_t>{10, 20, 5, 5}));
  EXPECT_EQ(chunks(24), (std::vector<std::size_t>{10, 24, 1 + 5}));
}

TEST_F(Streamed, ASecondPassSeesTheSameRows) {
  WorkerRows data = open(1, 2);
  RowStream stream(data, 7, 8);
  std::vector<float> passes[2];
  for (auto& pass : passes) {
    stream.rewind();
    while (const auto chunk = stream.next()) {
      const std::vector<float> features = decoded_floats(chunk->features, 0, chunk->features.size());
      pass.insert(pass.end(), features.begin(), features.end());
    }
  }
  EXPECT_EQ(passes[0].size(), 20 * kDim);
  EXPECT_EQ(passes[0], passes[1]);
}

TEST_F(Streamed, ABadLabelStopsTheStreamAtItsFileAndRow) {
  WorkerRows data = open(0, 1);
  RowStream stream(data, 6, 20);
  const auto pass = [&] {
    while (stream.next()) {
    }
  };
  expect_bad_input(pass, {"y0.npy", "row 6", "label 6", "0 to 5"});
}

TEST_F(Streamed, RowsWithoutLabelsHaveNone) {
  WorkerRows data = WorkerRows::open({folder / "x*.npy"}, {}, 0, 1);
  RowStream stream(data, 0, 100);
  const auto chunk = stream.next();
  ASSERT_TRUE(chunk);
  EXPECT_EQ(chunk->rows, kRows);
  EXPECT_TRUE(chunk->labels.empty());
}

TEST_F(Streamed, AWorkerWithoutRowsHasNoChunk) {
  write_features(folder / "none0.npy", 0, kDim, 0);
  WorkerRows data = WorkerRows::open({folder / "none{rank}.npy"}, {}, 0, 1);
  EXPECT_FALSE(RowStream(data, 0, 100).next());
  EXPECT_THROW(RowStream(data, 0, 0), std::logic_error);
}

}  // namespace dpreduce::row_stream_test
