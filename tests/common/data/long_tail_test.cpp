#include "common/data/long_tail.hpp"

#include "common/data/worker_rows.hpp"
#include "tests/common/data/array_reads.hpp"

namespace dpreduce::long_tail_test {

constexpr std::size_t kDim = 3;
constexpr std::size_t kClasses = 4;
constexpr std::size_t kRows = 8000;

// 8000 different rows of labels row mod 4, in two files of features.
class LongTailRows : public testing::Test {
 protected:
  LongTailRows() {
    std::vector<float> x;
    for (std::size_t row = 0; row < kRows; ++row) {
      x.insert(x.end(), {static_cast<float>(row), 1.0F, -static_cast<float>(row % 10)});
    }
    const auto second = x.begin() + 3000 * kDim;
    write_npy(folder / numbered_npy("x", 0), std::vector<float>(x.begin(), second), kDim);
    write_npy(folder / numbered_npy("x", 1), std::vector<float>(second, x.end()), kDim);
    write_row_labels("y.npy", 0);
  }

  void write_row_labels(const std::string& name, std::size_t first) {
    std::vector<std::int64_t> labels;
    for (std::size_t row = first; row < kRows; ++row) labels.push_back(static_cast<std::int64_t>(row % kClasses));
    write_labels(folder / name, labels);
  }

  WorkerRows open(std::size_t worker = 0, std::size_t workers = 1) {
    return WorkerRows::open({folder / "x*.npy"}, {folder / "y.npy"}, worker, workers);
  }

  // First entries of what is kept, which tell rows apart.
  static std::vector<float> kept_of(WorkerRows rows, const LongTail& tail, std::size_t chunk_rows = 100) {
    std::vector<float> firsts;
    keep_long_tail(rows, kClasses, tail);
    RowStream stream(rows, kClasses, chunk_rows);
    while (const auto chunk = stream.next()) {
      for (std::size_t row = 0; row < chunk->rows; ++row) {
        firsts.push_back(decoded_floats(chunk->features, row * kDim, 1).front());
        EXPECT_EQ(chunk->labels[row], static_cast<std::int32_t>(static_cast<std::size_t>(firsts.back()) % kClasses));
      }
    }
    return firsts;
  }
  // The same by worker.
  std::vector<float> kept(const LongTail& tail, std::size_t workers = 1, std::size_t chunk_rows = 100) {
    std::vector<float> all;
    for (std::size_t worker = 0; worker < workers; ++worker) {
      const std::vector<float> firsts = kept_of(open(worker, workers), tail, chunk_rows);
      all.insert(all.end(), firsts.begin(), firsts.end());
    }
    return all;
  }

  TemporaryFolder folder;
};

TEST_F(LongTailRows, SharesFallFromOneToOneOverTheRatio) {
  const std::vector<double> shares = long_tail_shares(4, 1000.0);
  EXPECT_EQ(shares[0], 1.0);
  for (std::size_t c = 1; c < 4; ++c) EXPECT_NEAR(shares[c], std::pow(10.0, -static_cast<double>(c)), 1e-12);
  EXPECT_EQ(long_tail_shares(3, 1.0), std::vector<double>(3, 1.0));
}

// False alarm: a binomial count 5 standard deviations off, 3 times 6e-7.
TEST_F(LongTailRows, ClassesAreKeptAsTheLawSays) {
  const LongTail tail{.ratio = 27.0, .seed = 3};
  const std::vector<double> shares = long_tail_shares(kClasses, tail.ratio);
  std::vector<double> counts(kClasses, 0.0);
  for (const float first : kept(tail)) ++counts[static_cast<std::size_t>(first) % kClasses];
  const double of_class = kRows / kClasses;
  EXPECT_EQ(counts[0], of_class);
  for (std::size_t c = 1; c < kClasses; ++c) {
    EXPECT_NEAR(counts[c], of_class * shares[c], 5.0 * std::sqrt(of_class * shares[c] * (1.0 - shares[c]))) << c;
  }
}

TEST_F(LongTailRows, AnyNumberOfWorkersAndAnyChunkKeepTheSameRowsInTheSameOrder) {
  const LongTail tail{.ratio = 10.0, .seed = 1};
  const std::vector<float> alone = kept(tail);
  for (const std::size_t workers : {2, 3, 5}) EXPECT_EQ(kept(tail, workers, 7 * workers), alone) << workers;
}

TEST_F(LongTailRows, ARowIsKeptByItsOwnContentWhereverItLies) {
  const LongTail tail{.ratio = 10.0, .seed = 1};
  const std::vector<float> all = kept(tail);
  // The same rows without the first file.
  write_row_labels("second_y.npy", 3000);
  WorkerRows rows = WorkerRows::open({folder / numbered_npy("x", 1)}, {folder / "second_y.npy"}, 0, 1);
  EXPECT_EQ(kept_of(std::move(rows), tail),
            std::vector<float>(std::lower_bound(all.begin(), all.end(), 3000.0F), all.end()));
}

TEST_F(LongTailRows, AnotherSeedKeepsOtherRows) {
  const std::vector<float> one = kept({.ratio = 10.0, .seed = 1});
  const std::vector<float> other = kept({.ratio = 10.0, .seed = 2});
  const std::set<float> both(one.begin(), one.end());
  std::size_t common = 0;
  for (const float first : other) common += static_cast<std::size_t>(first) % kClasses == 3 && both.count(first) > 0;
  EXPECT_LT(common, 100u);  // of some 200 in the last class, 20 expected: 18 standard deviations
}

TEST_F(LongTailRows, MessagesNameTheRowOfTheFile) {
  WorkerRows rows = open();
  rows.keep({2, 2999, 3000, 3004});
  EXPECT_EQ(rows.range().count, 4u);
  EXPECT_THAT(rows.where(1), HasSubstr("row 2999"));
  EXPECT_THAT(rows.where(2), HasSubstr("row 0"));
  EXPECT_THAT(rows.where(3), HasSubstr("row 4"));
}

TEST_F(LongTailRows, LabelsAreClassesAndPreconditionsAreAsserted) {
  EXPECT_THROW(long_tail_shares(1, 2.0), std::logic_error);
  EXPECT_THROW(long_tail_shares(3, 0.5), std::logic_error);
  EXPECT_THROW(long_tail_shares(3, INFINITY), std::logic_error);
  WorkerRows rows = open();
  EXPECT_THROW(keep_long_tail(rows, kClasses - 1, {.ratio = 2.0, .seed = 1}), BadInput) << "a label is no class";
  EXPECT_THROW(rows.keep({3, 3}), std::logic_error);
  EXPECT_THROW(rows.keep({kRows}), std::logic_error);
  WorkerRows without_labels = WorkerRows::open({folder / "x*.npy"}, {}, 0, 1);
  EXPECT_THROW(keep_long_tail(without_labels, kClasses, {.ratio = 2.0, .seed = 1}), std::logic_error);
}

}  // namespace dpreduce::long_tail_test
