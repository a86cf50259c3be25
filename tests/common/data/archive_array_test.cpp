// Files that NumPy has written, and two of PyTorch (tests/fuzz/corpus/archive): features are 0, 1, ... 5 in three rows,
// labels 0, 2, 1.
#include "common/base/paths.hpp"
#include "common/data/npy_array.hpp"
#include "common/data/sharded_array.hpp"
#include "tests/common/data/data_files.hpp"

namespace dpreduce::archive_array_test {

std::string archive(const std::string& name) {
  return std::string(DPREDUCE_ARCHIVES) + "/" + name;
}

std::vector<float> rows_of(ArrayFile& array) {
  array.require_holds_features();
  std::vector<float> features(array.rows() * array.columns());
  array.read_features(0, array.rows(), features);
  return features;
}

std::vector<std::int32_t> labels_of(ArrayFile& array) {
  array.require_holds_labels(nullptr);
  std::vector<std::int32_t> labels(array.rows());
  array.read_labels(0, array.rows(), 3, labels);
  return labels;
}

const std::vector<float> kSix = {0, 1, 2, 3, 4, 5};

TEST(ArchiveArray, ReadsTheArraysOfNumPy) {
  for (const char* const file :
       {"one.npz", "one.npz:arr_0", "two.npz:features", "two.npz:/features", "packed.npz:features"}) {
    const auto array = open_array(archive(file));
    EXPECT_EQ(array->shape(), (Shape{3, 2})) << file;
    EXPECT_EQ(rows_of(*array), kSix) << file;
  }
  for (const char* const file : {"two.npz:labels", "packed.npz:labels"}) {
    EXPECT_EQ(labels_of(*open_array(archive(file))), (std::vector<std::int32_t>{0, 2, 1})) << file;
  }
}

TEST(ArchiveArray, AnArrayIsReadWhereItLiesButForOneThatIsPacked) {
  EXPECT_EQ(open_array(archive("two.npz:features"))->features_in_place(0, 3).size(), 6u);
  EXPECT_TRUE(open_array(archive("two.npz:features"))->is_cheap_to_keep_open());
  EXPECT_FALSE(open_array(archive("packed.npz:features"))->is_cheap_to_keep_open());
  EXPECT_EQ(open_array(archive("two.npz:features"))->held_bytes(), 0u);
  EXPECT_GE(open_array(archive("packed.npz:features"))->held_bytes(), 6 * sizeof(float));
}

TEST(ArchiveArray, WhatIsNoArrayIsRefusedWithACure) {
  const std::pair<const char*, const char*> kRefused[] = {
      {"two.npz", "has several arrays; it has \"features\", \"labels\": name one, as in"},
      {"two.npz:x", "there is no array \"x\"; it has \"features\", \"labels\""},
      {"tensor.pt", "tensor.pt', map_location='cpu', weights_only=True).numpy())"},
      {"several.pt:features", "several.pt', map_location='cpu', weights_only=True)['features'].numpy())"},
      {"cut.npz", "damaged zip file"},
      {"cut_front.npz", "was cut short; write or copy it again"},
      {"empty.npz", "has no array"},
      {"bzip.npz", "packed by another method than deflate"},
      {"packed_damaged.npz:features", "does not unpack to what it was"}};
  for (const auto& refused : kRefused) {
    expect_refusal<BadInput>([&] { open_array(archive(refused.first)); }, {refused.second});
  }
}

TEST(ArchiveArray, FilesOfOtherFormatsAreNamedWithTheWayToConvertThem) {
  const TemporaryFolder folder;
  const std::pair<std::string, const char*> kOthers[] = {{"PAR1....", "is a Parquet file; convert it: numpy.save("},
                                                         {"ARROW1..", "pandas.read_feather("},
                                                         {"FEA1....", "pandas.read_feather("},
                                                         {"\x80\x02....", "is a Python pickle, which is never read"},
                                                         {"\x1f\x8b....", "unpack it with gunzip"}};
  for (const auto& [bytes, message] : kOthers) {
    write_bytes(folder / "x", bytes);
    expect_refusal<BadInput>([&] { open_array(folder / "x"); }, {folder / "x", message});
  }
  write_bytes(folder / "x.pt", "\x80\x02....");
  expect_refusal<BadInput>([&] { open_array((folder / "x.pt") + ":x"); }, {"is no zip file"});
}

TEST(ArchiveArray, TwoArraysOfAFileAreTwoAndOneIsOne) {
  EXPECT_NO_THROW(ShardedArray({archive("two.npz:features"), archive("one.npz")}, ArrayRole::kFeatures));
  expect_refusal<BadInput>(
      [&] {
        ShardedArray({archive("one.npz"), archive("one.npz:arr_0")}, ArrayRole::kFeatures);
      },
      {"are one file"});
}

}  // namespace dpreduce::archive_array_test
