
#include "common/data/synthetic.hpp"
#include "common/data/worker_rows.hpp"
#include "tests/common/data/data_files.hpp"
#include "tests/testing.hpp"

namespace dpreduce::synthetic_files_test {

SyntheticSpec spec_of(std::uint64_t rows) {
  SyntheticSpec spec;
  spec.train_rows = rows;
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
    std::vector<float> scratch;
    const auto features = chunk->features.decoded(0, chunk->features.size(), scratch);
    all.first.insert(all.first.end(), features.begin(), features.end());
    all.second.insert(all.second.end(), chunk->labels.begin(), chunk->labels.end());
  }
  return all;
}

TEST(SyntheticFiles, AnyNumberOfShardsHoldsTheSameRows) {
  const TemporaryFolder folder;
  const SyntheticRows rows(spec_of(203));
  std::vector<float> x(203 * 12);
  std::vector<std::int32_t> y(203);
  rows.fill(SyntheticPart::kTrain, 0, 203, x, y);
  for (const std::size_t shards : {1, 2, 3, 12}) {
    const SyntheticFiles files = write_synthetic(rows, folder / std::to_string(shards), shards);
    EXPECT_EQ(files.train_x.size(), shards);
    EXPECT_EQ(read_all(files.train_x, files.train_y), std::make_pair(x, y));
    EXPECT_EQ(read_all(files.test_x, files.test_y).second.size(), 30u);
  }
  EXPECT_TRUE(std::filesystem::exists(folder / "1/train_x.npy"));
  EXPECT_TRUE(std::filesystem::exists(folder / "12/train_y_11.npy"));
}

TEST(SyntheticFiles, ShardsAreTheSharesOfWorkersWithRankInThePath) {
  const TemporaryFolder folder;
  write_synthetic(SyntheticRows(spec_of(203)), folder.path(), 3);
  std::uint64_t total = 0;
  for (std::size_t worker = 0; worker < 3; ++worker) {
    total +=
        WorkerRows::open({folder / "train_x_{rank}.npy"}, {folder / "train_y_{rank}.npy"}, worker, 3).range().count;
  }
  EXPECT_EQ(total, 203u);
}

TEST(SyntheticFiles, GlobsPairFeaturesWithTheirLabelsAlsoBeyondTenShards) {
  const TemporaryFolder folder;
  const SyntheticRows rows(spec_of(203));
  write_synthetic(rows, folder.path(), 12);
  const auto [x, y] = read_all({folder / "train_x_*.npy"}, {folder / "train_y_*.npy"});
  // Noise is small: each row is nearest to the mean of its label.
  for (std::size_t r = 0; r < y.size(); ++r) {
    double product = 0;
    for (std::size_t a = 0; a < 12; ++a) product += x[r * 12 + a] * rows.class_mean(static_cast<std::size_t>(y[r]))[a];
    EXPECT_GT(product, 0.1);
  }
}

TEST(SyntheticFiles, AFileThatCannotBeWrittenTakesTheOthersWithIt) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "train_y_2.npy");
  expect_bad_input([&] { write_synthetic(SyntheticRows(spec_of(203)), folder.path(), 3); }, {"train_y_2.npy"});
  EXPECT_EQ(folder.names(), std::vector<std::string>{"train_y_2.npy"});
}

TEST(SyntheticFiles, AFolderThatCannotBeMadeIsNamed) {
  const TemporaryFolder folder;
  write_bytes(folder / "file", "x");
  expect_bad_input([&] { write_synthetic(SyntheticRows(spec_of(203)), folder / "file/data", 1); }, {"file/data"});
}

TEST(SyntheticFiles, ShardsMustHaveRows) {
  const TemporaryFolder folder;
  EXPECT_THROW(write_synthetic(SyntheticRows(spec_of(203)), folder.path(), 0), UsageError);
  EXPECT_THROW(write_synthetic(SyntheticRows(spec_of(203)), folder.path(), 204), UsageError);
}

}  // namespace dpreduce::synthetic_files_test
