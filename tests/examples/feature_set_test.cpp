// Reading the data set's files, and writing the folder of features.
#include "feature_set.hpp"

#include <zlib.h>

#include "common/base/error.hpp"
#include "idx_file.hpp"
#include "tests/temporary_folder.hpp"

namespace dpreduce::fashion_mnist {
namespace {

namespace fs = std::filesystem;

class IdxFile : public ::testing::Test {
 protected:
  static std::string big_endian(std::uint32_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(value >> shift & 0xff));
    return bytes;
  }
  static std::string images(std::uint32_t count, std::uint32_t side, std::size_t bytes) {
    return big_endian(0x803) + big_endian(count) + big_endian(side) + big_endian(side) + std::string(bytes, '\7');
  }
  static std::string labels(std::uint32_t count) {
    return big_endian(0x801) + big_endian(count) + std::string(count, '\3');
  }

  void put(const std::string& name, const std::string& bytes) {
    const gzFile file = gzopen((folder_ / name).c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
  }
  void put_both(const std::string& image_bytes, const std::string& label_bytes) {
    put("train-images-idx3-ubyte.gz", image_bytes);
    put("train-labels-idx1-ubyte.gz", label_bytes);
  }
  void expect_refused(const std::string& because) {
    expect_refusal<BadInput>([&] { read_labeled_images(folder_.path(), "train"); }, {because, "dataset-fashion-mnist"});
  }

  TemporaryFolder folder_;
};

TEST_F(IdxFile, GivesPixelsAndLabels) {
  put_both(images(2, 28, 2 * 784), labels(2));
  const LabeledImages read = read_labeled_images(folder_.path(), "train");
  EXPECT_EQ(read.count(), 2u);
  EXPECT_EQ(read.pixels, std::vector<std::uint8_t>(2 * 784, 7));
  EXPECT_EQ(read.labels, std::vector<std::uint8_t>(2, 3));
}

TEST_F(IdxFile, ThatIsAbsentNamesTheDebianPackage) {
  expect_refused("No such file");
}

TEST_F(IdxFile, WithOtherContentIsRefused) {
  struct Case {
    std::string images, labels, because;
  };
  for (const Case& wrong :
       {Case{labels(2), labels(2), "magic"}, Case{images(2, 32, 2 * 1024), labels(2), "32 x 32"},
        Case{images(2, 28, 2 * 784 - 1), labels(2), "ends early"},
        Case{images(2, 28, 2 * 784 + 1), labels(2), "more bytes"},
        Case{images(0xffffffff, 28, 784), labels(2), "claims 4294967295"},  // before memory is taken
        Case{images(0, 28, 0), labels(0), "claims 0"},
        Case{images(2, 28, 2 * 784), labels(3), "2 images but 3 labels"}}) {
    SCOPED_TRACE(wrong.because);
    put_both(wrong.images, wrong.labels);
    expect_refused(wrong.because);
  }
}

TEST_F(IdxFile, WithADamagedChecksumIsRefused) {
  put_both(images(2, 28, 2 * 784), labels(2));
  const std::string path = folder_ / "train-images-idx3-ubyte.gz";
  std::string bytes = read_bytes(path);
  bytes.replace(bytes.size() - 8, 4, "\xde\xad\xbe\xef");  // CRC-32, then the length
  write_bytes(path, bytes);
  expect_refused("train-images");
}

class FeatureSetTest : public ::testing::Test {
 protected:
  FeatureSetTest() {
    parameters_.dataset = "somewhere";
    parameters_.shards = 2;
  }
  void write_all(FeatureSet& set) {
    const std::vector<std::uint8_t> labels{4, 9};
    const std::vector<float> rows(2 * parameters_.rows.dimension(), 0.25f);
    set.begin();
    set.write("train", "_00", rows, labels);
    set.write("train", "_01", rows, labels);
    set.write("test", "", rows, labels);
  }

  TemporaryFolder folder_;
  SetParameters parameters_;
};

TEST_F(FeatureSetTest, IsCompleteOnlyAfterTheManifest) {
  FeatureSet set(folder_ / "new/set", parameters_);
  EXPECT_FALSE(set.is_complete());
  write_all(set);
  EXPECT_FALSE(set.is_complete());
  set.finish();
  EXPECT_TRUE(set.is_complete());
  EXPECT_EQ(fs::file_size(folder_ / "new/set/train_x_01.npy"), 128 + 2 * 1296 * 2u);
  EXPECT_EQ(fs::file_size(folder_ / "new/set/test_y.npy"), 128 + 2 * 8u);
}

TEST_F(FeatureSetTest, OfOtherParametersIsNotComplete) {
  FeatureSet set(folder_.path(), parameters_);
  write_all(set);
  set.finish();
  for (int changed = 0; changed < 5; ++changed) {
    SetParameters other = parameters_;
    if (changed == 0) other.rows.standardize = Standardize::kChannel;
    if (changed == 1) other.rows.grid = 8;
    if (changed == 2) other.dtype = DType::kFloat32;
    if (changed == 3) other.shards = 3;
    if (changed == 4) other.dataset = "elsewhere";
    EXPECT_FALSE(FeatureSet(folder_.path(), other).is_complete()) << changed;
  }
  EXPECT_TRUE(FeatureSet(folder_.path(), parameters_).is_complete());
}

TEST_F(FeatureSetTest, WithAMissingOrShorterFileIsNotComplete) {
  FeatureSet set(folder_.path(), parameters_);
  write_all(set);
  set.finish();
  fs::resize_file(folder_ / "train_x_00.npy", 1000);
  EXPECT_FALSE(set.is_complete());
  fs::remove(folder_ / "train_x_00.npy");
  EXPECT_FALSE(set.is_complete());
}

TEST_F(FeatureSetTest, WithADamagedManifestIsNotComplete) {
  for (const char* text : {"", "{", "[1]", "{\"parameters\": 3}", "{\"bytes\": []}"}) {
    write_bytes(folder_ / "manifest.json", text);
    EXPECT_FALSE(FeatureSet(folder_.path(), parameters_).is_complete()) << text;
  }
}

TEST_F(FeatureSetTest, LeavesNoShardOfAnEarlierSetAndNothingElseIsTouched) {
  write_bytes(folder_ / "train_x_07.npy", "old");
  write_bytes(folder_ / "train_x_07.txt", "mine");
  FeatureSet set(folder_.path(), parameters_);
  write_all(set);
  EXPECT_FALSE(fs::exists(folder_ / "train_x_07.npy"));
  EXPECT_TRUE(fs::exists(folder_ / "train_x_07.txt"));
}

TEST_F(FeatureSetTest, InAPlaceThatIsNoFolderIsRefused) {
  write_bytes(folder_ / "file", "x");
  FeatureSet set(folder_ / "file", parameters_);
  EXPECT_THROW(set.begin(), BadInput);
}

TEST_F(FeatureSetTest, RefusesItsCallersMistakes) {
  const std::vector<std::uint8_t> labels{4};
  const std::vector<float> rows(parameters_.rows.dimension());
  FeatureSet set(folder_.path(), parameters_);
  EXPECT_THROW(set.write("test", "", rows, labels), std::logic_error);
  EXPECT_THROW(set.finish(), std::logic_error);
  set.begin();
  EXPECT_THROW(set.write("test", "", std::span(rows).first(5), labels), std::logic_error);
  parameters_.shards = 0;
  EXPECT_THROW(FeatureSet(folder_.path(), parameters_), std::logic_error);
  parameters_.shards = 1;
  parameters_.dtype = DType::kInt64;
  EXPECT_THROW(FeatureSet(folder_.path(), parameters_), std::logic_error);
}

}  // namespace
}  // namespace dpreduce::fashion_mnist
