#include "common/data/sharded_array.hpp"

#include "tests/common/data/array_reads.hpp"

namespace dpreduce::sharded_array_test {

// Files of 3, 0, 1 and 4 rows, whose entries count on.
class FourFiles : public testing::Test {
 protected:
  FourFiles() {
    float next = 0;
    for (const std::size_t rows : {3, 0, 1, 4}) {
      paths.push_back(folder / numbered_npy("x", paths.size()));
      write_features(paths.back(), rows, 2, next);
      next += static_cast<float>(2 * rows);
    }
  }
  TemporaryFolder folder;
  std::vector<std::string> paths;
};

TEST_F(FourFiles, EveryRangeOfRowsIsReadAcrossFiles) {
  ShardedArray array(paths, ArrayRole::kFeatures);
  ASSERT_EQ(array.rows(), 8u);
  ASSERT_EQ(array.columns(), 2u);
  for (std::uint64_t first = 0; first <= 8; ++first) {
    for (std::uint64_t count = 0; first + count <= 8; ++count) {
      std::vector<float> out(2 * count);
      array.expect_rows(first, count);
      array.read_features(first, count, out);
      array.release_rows(first, count);
      EXPECT_EQ(out, counted(2 * count, static_cast<float>(2 * first))) << first;
    }
  }
}

TEST_F(FourFiles, ARowIsFoundInItsFile) {
  const ShardedArray array(paths, ArrayRole::kFeatures);
  std::uint64_t row = 0;
  for (const auto& [file, place] : {std::pair{0, 0}, {0, 1}, {0, 2}, {2, 0}, {3, 0}, {3, 1}, {3, 2}, {3, 3}}) {
    EXPECT_EQ(array.where(row++), fmt::format("{}/x{}.npy: row {}", folder.path(), file, place));
  }
  EXPECT_THROW(array.where(8), std::logic_error);
  EXPECT_EQ(array.rows_in_file(3), 4u);
}

TEST_F(FourFiles, RowsAreInPlaceOnlyInsideOneFile) {
  ShardedArray array(paths, ArrayRole::kFeatures);
  EXPECT_TRUE(array.features_in_place(2, 2).empty());
  EXPECT_TRUE(array.features_in_place(0, 0).empty());
  std::vector<float> copy(8);
  array.read_features(4, 4, copy);
  EXPECT_EQ(decoded_floats(array.features_in_place(4, 4), 0, 8), copy);
}

TEST_F(FourFiles, AFileOfTheSameRowsAtBothEndsIsFoundWhateverItsWidth) {
  ShardedArray array(paths, ArrayRole::kFeatures);
  write_features(folder / "other.npy", 4, 2, 0.0F);  // as many rows as the last, which begins with 8
  write_npy(folder / "begins.npy", std::vector<float>{8, 9, 10, 11, 12, 13, 14, 0}, 2);  // and ends otherwise
  ShardedArray unlike({folder / "other.npy", folder / "begins.npy"}, ArrayRole::kFeatures);
  EXPECT_FALSE(array.files_alike(unlike).has_value());
  write_npy(folder / "wide.npy", std::vector<double>{8, 9, 10, 11, 12, 13, 14, 15}, 2);
  ShardedArray alike({folder / "other.npy", folder / "wide.npy"}, ArrayRole::kFeatures);
  EXPECT_EQ(array.files_alike(alike), std::pair(std::size_t{3}, std::size_t{1}));
  array.keep({0, 5});
  EXPECT_TRUE(array.files_alike(alike).has_value()) << "files are compared, and not what is kept of them";
}

TEST(ShardedArray, FilesAreAlikeWhoseSixteenRowsAtEachEndAreTheSame) {
  const TemporaryFolder folder;
  write_features(folder / "x.npy", 100, 2, 0.0F);
  const auto is_alike = [&](std::size_t changed_row, std::size_t rows) {
    std::vector<float> other = counted(2 * rows);
    if (changed_row < rows) other[2 * changed_row] += 1;
    write_npy(folder / "other.npy", other, 2);
    ShardedArray array({folder / "x.npy"}, ArrayRole::kFeatures);
    ShardedArray compared({folder / "other.npy"}, ArrayRole::kFeatures);
    return array.files_alike(compared).has_value();
  };
  EXPECT_TRUE(is_alike(100, 100));
  EXPECT_TRUE(is_alike(16, 100)) << "the middle is not read";
  for (const std::size_t row : {0, 15, 84, 99}) EXPECT_FALSE(is_alike(row, 100)) << row;
  EXPECT_FALSE(is_alike(100, 99));
}

TEST_F(FourFiles, FilesOfAnotherWidthOrRoleAreNamed) {
  expect_bad_input([&] { ShardedArray(paths, ArrayRole::kLabels); }, {"x0.npy", "float32"});
  write_features(folder / "wide.npy", 2, 3, 0);
  paths.push_back(folder / "wide.npy");
  expect_bad_input([&] { ShardedArray(paths, ArrayRole::kFeatures); },
                   {"x0.npy has 2 features", "wide.npy has 3", "one encoder"});
  write_labels(folder / "y.npy", {0, 1});
  paths.back() = folder / "y.npy";
  expect_bad_input([&] { ShardedArray(paths, ArrayRole::kFeatures); }, {"y.npy", "int64"});
}

TEST_F(FourFiles, AFileThatChangedSinceItWasCheckedIsRefused) {
  ShardedArray array(paths, ArrayRole::kFeatures);
  write_features(paths[3], 3, 2, 0);
  std::vector<float> out(2);
  array.read_features(0, 1, out);
  expect_bad_input([&] { array.read_features(7, 1, out); }, {"x3.npy", "changed its shape"});
}

TEST(ShardedArray, LabelsAreReadAcrossFilesAndABadOneIsFoundInItsFile) {
  const TemporaryFolder folder;
  write_labels(folder / "y0.npy", {0, 1, 2});
  write_labels(folder / "y1.npy", {3, 4});
  ShardedArray array({folder / "y0.npy", folder / "y1.npy"}, ArrayRole::kLabels);
  std::vector<std::int32_t> labels(3);
  array.read_labels(1, 3, 5, labels);
  EXPECT_EQ(labels, (std::vector<std::int32_t>{1, 2, 3}));
  expect_bad_input([&] { array.read_labels(2, 3, 4, labels); }, {"y1.npy", "row 1", "label 4", "0 to 3"});
  EXPECT_THROW(array.read_labels(3, 3, 5, labels), std::logic_error);
  EXPECT_THROW(ShardedArray(std::vector<std::string>{}, ArrayRole::kLabels), std::logic_error);
}

TEST(ShardedArray, ZerosAndOnesBecomeTheClassesOfEachRow) {
  const TemporaryFolder folder;
  write_npy<std::int16_t>(folder / "y0.npy", {1, 0, 1, 0, 0, 0}, 3);
  write_npy<std::int16_t>(folder / "y1.npy", {1, 1, 1, 0, 1, 0}, 3);
  ShardedArray array({folder / "y0.npy", folder / "y1.npy"}, ArrayRole::kLabels);
  EXPECT_EQ(array.columns(), 3U);
  std::vector<std::int32_t> slots(8);
  array.read_labels(0, 4, 3, slots);
  EXPECT_EQ(slots, (std::vector<std::int32_t>{0, 2, -1, -1, -3, -1, 1, -1}));
  slots.resize(9);
  array.read_labels(1, 3, 3, slots);
  EXPECT_EQ(slots, (std::vector<std::int32_t>{-1, -1, -1, 0, 1, 2, 1, -1, -1}));
  expect_bad_input([&] { array.read_labels(1, 3, 4, slots); }, {"y0.npy", "3 columns", "4 classes"});
  for (const std::int16_t bad : {std::int16_t{2}, std::int16_t{-1}}) {
    write_npy<std::int16_t>(folder / "bad.npy", {1, 0, 1, 0, bad, 0}, 3);
    ShardedArray wrong({folder / "bad.npy"}, ArrayRole::kLabels);
    slots.resize(6);
    expect_bad_input([&] { wrong.read_labels(0, 2, 3, slots); },
                     {"bad.npy", "row 1", "entry " + std::to_string(bad), "class 1", "0 and 1 only"});
  }
  write_labels(folder / "plain.npy", {0, 1});
  const std::vector<std::string> unlike{folder / "y0.npy", folder / "plain.npy"};
  expect_bad_input([&] { ShardedArray(unlike, ArrayRole::kLabels); }, {"y0.npy", "3", "plain.npy has 1"});
}

}  // namespace dpreduce::sharded_array_test
