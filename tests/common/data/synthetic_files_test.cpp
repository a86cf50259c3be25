#include "common/data/synthetic.hpp"
#include "common/data/worker_rows.hpp"
#include "tests/common/data/array_reads.hpp"
#include "tests/testing.hpp"

namespace dpreduce::synthetic_files_test {

SyntheticSpec small_spec() {
  SyntheticSpec spec;
  spec.train_rows = 203;
  spec.test_rows = 30;
  spec.dim = 12;
  spec.train_noise = 0.1;
  return spec;
}

std::pair<std::vector<float>, std::vector<std::int32_t>> read_all(const std::vector<std::string>& x,
                                                                  const std::vector<std::string>& y) {
  WorkerRows data = WorkerRows::open(x, y, 0, 1);
  RowStream stream(data, 10, 64);
  std::pair<std::vector<float>, std::vector<std::int32_t>> all;
  while (const auto chunk = stream.next()) {
    const std::vector<float> features = decoded_floats(chunk->features, 0, chunk->features.size());
    all.first.insert(all.first.end(), features.begin(), features.end());
    all.second.insert(all.second.end(), chunk->labels.begin(), chunk->labels.end());
  }
  return all;
}

class SyntheticFilesTest : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  const SyntheticRows rows_{small_spec()};
};

TEST_F(SyntheticFilesTest, AnyNumberOfShardsHoldsTheSameRows) {
  std::vector<float> x(203 * 12);
  std::vector<std::int32_t> y(203);
  rows_.fill(SyntheticPart::kTrain, 0, 203, x, y);
  for (const std::size_t shards : {1, 2, 3, 12}) {
    const SyntheticFiles files = write_synthetic(rows_, folder_ / std::to_string(shards), shards);
    EXPECT_EQ(files.train_x.size(), shards);
    EXPECT_EQ(read_all(files.train_x, files.train_y), std::make_pair(x, y));
    EXPECT_EQ(read_all(files.test_x, files.test_y).second.size(), 30u);
  }
  EXPECT_TRUE(std::filesystem::exists(folder_ / "1/train_x.npy"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "12/train_y_11.npy"));
}

TEST_F(SyntheticFilesTest, ShardsAreTheSharesOfWorkersWithRankInThePath) {
  write_synthetic(rows_, folder_.path(), 3);
  std::uint64_t total = 0;
  for (std::size_t worker = 0; worker < 3; ++worker) {
    total +=
        WorkerRows::open({folder_ / "train_x_{rank}.npy"}, {folder_ / "train_y_{rank}.npy"}, worker, 3).range().count;
  }
  EXPECT_EQ(total, 203u);
}

TEST_F(SyntheticFilesTest, GlobsPairFeaturesWithTheirLabelsAlsoBeyondTenShards) {
  write_synthetic(rows_, folder_.path(), 12);
  const auto [x, y] = read_all({folder_ / "train_x_*.npy"}, {folder_ / "train_y_*.npy"});
  // Noise is small: each row is nearest to the mean of its label.
  for (std::size_t r = 0; r < y.size(); ++r) {
    double product = 0;
    for (std::size_t a = 0; a < 12; ++a) product += x[r * 12 + a] * rows_.class_mean(static_cast<std::size_t>(y[r]))[a];
    EXPECT_GT(product, 0.1);
  }
}

TEST_F(SyntheticFilesTest, WhatCannotBeWrittenIsNamedAndLeavesNothing) {
  std::filesystem::create_directory(folder_ / "train_y_2.npy");
  expect_bad_input([&] { write_synthetic(rows_, folder_.path(), 3); }, {"train_y_2.npy"});
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"train_y_2.npy"});
  write_bytes(folder_ / "file", "x");
  expect_bad_input([&] { write_synthetic(rows_, folder_ / "file/data", 1); }, {"file/data"});
  EXPECT_THROW(write_synthetic(rows_, folder_.path(), 0), UsageError) << "no shards";
  EXPECT_THROW(write_synthetic(rows_, folder_.path(), 204), UsageError) << "shards without rows";
}

}  // namespace dpreduce::synthetic_files_test
