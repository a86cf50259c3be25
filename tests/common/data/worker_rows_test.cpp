#include "common/data/worker_rows.hpp"

#include "tests/common/data/data_files.hpp"

namespace dpreduce::worker_rows_test {

TEST(EvenShare, SharesPartitionTheRowsAndDifferByAtMostOne) {
  for (const std::uint64_t rows : {0u, 1u, 2u, 3u, 7u, 8u, 100u, 1'281'167u}) {
    for (const std::size_t workers : {1u, 2u, 3u, 5u, 8u, 1000u}) {
      std::uint64_t next = 0;
      for (std::size_t worker = 0; worker < workers; ++worker) {
        const RowRange share = even_share(rows, worker, workers);
        ASSERT_EQ(share.first, next);
        ASSERT_EQ(share.first, rows * worker / workers);
        ASSERT_GE(share.count, rows / workers);
        ASSERT_LE(share.count, rows / workers + 1);
        next = share.end();
      }
      ASSERT_EQ(next, rows);
    }
  }
  constexpr std::uint64_t kMostRows = ~std::uint64_t{0};
  EXPECT_EQ(even_share(kMostRows, 999, 1000).end(), kMostRows);
  EXPECT_EQ(even_share(kMostRows, 1, 3).first, kMostRows / 3);
  EXPECT_THROW(even_share(10, 2, 2), std::logic_error);
  EXPECT_THROW(even_share(10, 0, 0), std::logic_error);
}

class TwoSilos : public testing::Test {
 protected:
  TwoSilos() {
    write_features(folder / "x0.npy", 3, 2, 0);
    write_features(folder / "x1.npy", 2, 2, 6);
    write_labels(folder / "y0.npy", {0, 1, 2});
    write_labels(folder / "y1.npy", {3, 4});
    write_labels(folder / "all.npy", {0, 1, 2, 3, 4});
  }
  WorkerRows open(const std::string& x, const std::string& y, std::size_t worker, std::size_t workers) {
    return WorkerRows::open({folder / x}, {folder / y}, worker, workers);
  }
  TemporaryFolder folder;
};

TEST_F(TwoSilos, SharedFilesAreCutEvenlyWhateverTheirSizes) {
  for (const std::string y : {"y?.npy", "all.npy"}) {
    for (const std::size_t worker : {0, 1}) {
      const RowRange range = open("x?.npy", y, worker, 2).range();
      EXPECT_EQ(std::pair(range.first, range.count), (std::pair<std::uint64_t, std::uint64_t>(2 * worker, 2 + worker)));
    }
  }
}

TEST_F(TwoSilos, AWorkerOwnsAllRowsOfItsOwnFiles) {
  const WorkerRows rows = open("x{rank}.npy", "y{rank}.npy", 1, 2);
  EXPECT_EQ(rows.range().first, 0u);
  EXPECT_EQ(rows.range().count, 2u);
  EXPECT_EQ(rows.where(1), (folder / "x1.npy") + ": row 1");
  EXPECT_EQ(rows.where_labels(1), (folder / "y1.npy") + ": row 1");
}

TEST_F(TwoSilos, ASiloWithoutRowsAndRowsWithoutLabelsAreAllowed) {
  write_features(folder / "x2.npy", 0, 2, 0);
  write_labels(folder / "y2.npy", {});
  EXPECT_EQ(open("x{rank}.npy", "y{rank}.npy", 2, 3).range().count, 0u);
  WorkerRows rows = WorkerRows::open({folder / "x?.npy"}, {}, 0, 1);
  EXPECT_FALSE(rows.has_labels());
  EXPECT_THROW(rows.labels(), std::logic_error);
  EXPECT_THROW(rows.where_labels(0), std::logic_error);
}

TEST_F(TwoSilos, KeepAShareOfWhatAllHaveAndThenAllAgain) {
  WorkerRows rows = WorkerRows::open({folder / "x?.npy"}, {}, 0, 1);
  const RowRange all = rows.range();
  for (const std::size_t workers : {std::size_t{1}, std::size_t{2}, all.count + 1}) {
    std::uint64_t next = all.first;
    for (std::size_t w = 0; w < workers; ++w) {
      rows.keep_share(w, workers);
      EXPECT_EQ(rows.range().first, next);
      next = rows.range().end();
    }
    EXPECT_EQ(next, all.end());
  }
  rows.keep_all();
  EXPECT_EQ(rows.range().count, all.count);
  EXPECT_THROW(rows.keep_share(2, 2), std::logic_error);
}

TEST_F(TwoSilos, NumbersOfRowsAndPathsThatDoNotFitAreRefused) {
  expect_bad_input([&] { open("x?.npy", "y0.npy", 0, 1); },
                   {"have 5 rows", "have 3", "one label a row", "for the data's owner only"});
  EXPECT_NO_THROW(open("x?.npy", "y?.npy", 4, 5));
  expect_bad_input([&] { open("x?.npy", "y?.npy", 0, 6); }, {"5 rows", "6 workers", "for the data's owner only"});
  EXPECT_THROW(open("x{rank}.npy", "all.npy", 0, 2), UsageError);
  EXPECT_THROW(open("x?.npy", "y{rank}.npy", 0, 2), UsageError);
}

TEST(WorkerRows, NoneAreRowsOfAWidthAllTheSame) {
  WorkerRows none = WorkerRows::none(7);
  EXPECT_TRUE(none.is_none());
  EXPECT_EQ(none.dim(), 7U);
  EXPECT_EQ(none.range().count, 0U);
  EXPECT_TRUE(none.has_labels());
  EXPECT_FALSE(none.has_label_sets());
  EXPECT_EQ(none.features().rows(), 0U);
}

// By identity and names alone: whether two columns hold the same values must not be told.
TEST(WorkerRows, AFileOrColumnIsNotFeatureAndLabelAtOnce) {
  const TemporaryFolder folder;
  write_features(folder / "x.npy", 2, 2, 0.0F);
  std::filesystem::create_hard_link(folder / "x.npy", folder / "hard.npy");
  write_features(folder / "copy.npy", 2, 2, 0.0F);
  write_bytes(folder / "t.csv", "a,b,sick\n1,2,0\n3,4,1\n");
  write_bytes(folder / "y.csv", "sick\n0\n1\n");
  write_bytes(folder / "one.csv", "0\n1\n");
  const auto open = [&](const std::string& x, const std::string& y, ArrayRole role) {
    return WorkerRows::open({folder / x}, {folder / y}, 0, 1, {}, role);
  };
  using enum ArrayRole;
  for (const char* const name : {"x.npy", "hard.npy"}) {
    expect_bad_input([&] { open("x.npy", name, kTargets); }, {"are one file, given as features and as targets"});
  }
  expect_bad_input([&] { open("one.csv", "one.csv", kLabels); }, {"given as features and as labels"});
  for (const char* const labels : {"t.csv:sick", "y.csv"}) {
    expect_bad_input([&] { open("t.csv", labels, kLabels); },
                     {"column \"sick\" is also among the labels", "t.csv:-sick"});
  }
  EXPECT_EQ(open("x.npy", "copy.npy", kTargets).targets(), 2U) << "values decide nothing";
  EXPECT_EQ(open("t.csv:-sick", "t.csv:sick", kLabels).dim(), 2U);
}

TEST(WorkerRows, AHeadingAboveLabelsThatAreNamesIsNamed) {
  const TemporaryFolder folder;
  write_features(folder / "x.npy", 2, 2, 0.0F);
  write_bytes(folder / "y.csv", "diagnosis\nflu\ncold\n");
  const auto names = named_classes({"flu", "cold"});
  expect_bad_input([&] { WorkerRows::open({folder / "x.npy"}, {folder / "y.csv"}, 0, 1, names); },
                   {"give one label a row, and remove the heading of a file of class names"});
}

TEST(OutputCheck, FilesThatAreReadAreRefusedByBothNamesAndThroughLinks) {
  const TemporaryFolder folder;
  write_features(folder / "x.npy", 2, 1, 1.0F);
  write_labels(folder / "y.npy", {0, 1});
  const WorkerRows rows = WorkerRows::open({folder / "x.npy"}, {folder / "y.npy"}, 0, 1);
  const auto said = [&](const std::string& output) {
    return refusal<UsageError>([&] {
      require_not_read(std::array{NamedPath{"--report", ""}, NamedPath{"--out", output}}, rows);
    });
  };
  std::filesystem::create_symlink(folder / "x.npy", folder / "soft");
  std::filesystem::create_hard_link(folder / "y.npy", folder / "hard");
  std::filesystem::create_directory(folder / "inner");
  for (const auto& [output, input] : {std::pair{"x.npy", "x.npy"},
                                      {"y.npy", "y.npy"},
                                      {"soft", "x.npy"},
                                      {"hard", "y.npy"},
                                      {"inner/../x.npy", "x.npy"}}) {
    EXPECT_EQ(said(folder / output), fmt::format("--out {}: is the input {}; name another file for the output",
                                                 folder / output, folder / input));
  }
  std::filesystem::copy_file(folder / "x.npy", folder / "copy.npy");
  for (const std::string& output :
       {folder / "copy.npy", folder / "new.npy", std::string("/dev/null"), std::string("/dev/stdout")}) {
    EXPECT_EQ(said(output), "") << output;
  }
}

}  // namespace dpreduce::worker_rows_test
