// Reading the data set's files, and writing the folder of features.
#include "feature_set.hpp"

#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include "common/base/error.hpp"
#include "idx_file.hpp"

namespace dpreduce::fashion_mnist {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class InFolder : public ::testing::Test {
 protected:
  InFolder() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() / (std::string("dpreduce-") + test->name() + "-" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  ~InFolder() override { fs::remove_all(folder_); }
  fs::path folder_;
};

class IdxFile : public InFolder {
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
    try {
      read_labeled_images(folder_, "train");
      ADD_FAILURE() << "expected BadInput: " << because;
    } catch (const BadInput& error) {
      EXPECT_THAT(error.what(), HasSubstr(because));
      EXPECT_THAT(error.what(), HasSubstr("dataset-fashion-mnist"));
    }
  }
};

TEST_F(IdxFile, GivesPixelsAndLabels) {
  put_both(images(2, 28, 2 * 784), labels(2));
  const LabeledImages read = read_labeled_images(folder_, "train");
  EXPECT_EQ(read.count(), 2u);
  EXPECT_EQ(read.pixels, std::vector<std::uint8_t>(2 * 784, 7));
  EXPECT_EQ(read.labels, std::vector<std::uint8_t>(2, 3));
}

TEST_F(IdxFile, ThatIsAbsentNamesTheDebianPackage) {
  expect_refused("No such file");
}

TEST_F(IdxFile, WithAnotherMagicIsRefused) {
  put_both(labels(2), labels(2));
  expect_refused("magic");
}

TEST_F(IdxFile, WithOtherImageSizesIsRefused) {
  put_both(images(2, 32, 2 * 1024), labels(2));
  expect_refused("32 x 32");
}

TEST_F(IdxFile, ThatEndsEarlyIsRefused) {
  put_both(images(2, 28, 2 * 784 - 1), labels(2));
  expect_refused("ends early");
}

TEST_F(IdxFile, ThatEndsLateIsRefused) {
  put_both(images(2, 28, 2 * 784 + 1), labels(2));
  expect_refused("more bytes");
}

TEST_F(IdxFile, ThatClaimsTooMuchIsRefusedBeforeMemoryIsTaken) {
  put_both(images(0xffffffff, 28, 784), labels(2));
  expect_refused("claims 4294967295");
}

TEST_F(IdxFile, WithoutImagesIsRefused) {
  put_both(images(0, 28, 0), labels(0));
  expect_refused("claims 0");
}

TEST_F(IdxFile, WithAnotherNumberOfLabelsIsRefused) {
  put_both(images(2, 28, 2 * 784), labels(3));
  expect_refused("2 images but 3 labels");
}

TEST_F(IdxFile, WithADamagedChecksumIsRefused) {
  put_both(images(2, 28, 2 * 784), labels(2));
  const fs::path path = folder_ / "train-images-idx3-ubyte.gz";
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(fs::file_size(path)) - 8);  // CRC-32, then the length
  file.write("\xde\xad\xbe\xef", 4);
  file.close();
  expect_refused("train-images");
}

class FeatureSetTest : public InFolder {
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
  SetParameters parameters_;
};

TEST_F(FeatureSetTest, IsCompleteOnlyAfterTheManifest) {
  FeatureSet set(folder_ / "new" / "set", parameters_);
  EXPECT_FALSE(set.is_complete());
  write_all(set);
  EXPECT_FALSE(set.is_complete());
  set.finish();
  EXPECT_TRUE(set.is_complete());
  EXPECT_EQ(fs::file_size(folder_ / "new/set/train_x_01.npy"), 128 + 2 * 1296 * 2u);
  EXPECT_EQ(fs::file_size(folder_ / "new/set/test_y.npy"), 128 + 2 * 8u);
}

TEST_F(FeatureSetTest, OfOtherParametersIsNotComplete) {
  FeatureSet set(folder_, parameters_);
  write_all(set);
  set.finish();
  for (int changed = 0; changed < 5; ++changed) {
    SetParameters other = parameters_;
    if (changed == 0) other.rows.standardize = Standardize::kChannel;
    if (changed == 1) other.rows.grid = 8;
    if (changed == 2) other.dtype = DType::kFloat32;
    if (changed == 3) other.shards = 3;
    if (changed == 4) other.dataset = "elsewhere";
    EXPECT_FALSE(FeatureSet(folder_, other).is_complete()) << changed;
  }
  EXPECT_TRUE(FeatureSet(folder_, parameters_).is_complete());
}

TEST_F(FeatureSetTest, WithAMissingOrShorterFileIsNotComplete) {
  FeatureSet set(folder_, parameters_);
  write_all(set);
  set.finish();
  fs::resize_file(folder_ / "train_x_00.npy", 1000);
  EXPECT_FALSE(set.is_complete());
  fs::remove(folder_ / "train_x_00.npy");
  EXPECT_FALSE(set.is_complete());
}

TEST_F(FeatureSetTest, WithADamagedManifestIsNotComplete) {
  for (const char* text : {"", "{", "[1]", "{\"parameters\": 3}", "{\"bytes\": []}"}) {
    std::ofstream(folder_ / "manifest.json") << text;
    EXPECT_FALSE(FeatureSet(folder_, parameters_).is_complete()) << text;
  }
}

TEST_F(FeatureSetTest, LeavesNoShardOfAnEarlierSetAndNothingElseIsTouched) {
  std::ofstream(folder_ / "train_x_07.npy") << "old";
  std::ofstream(folder_ / "train_x_07.txt") << "mine";
  FeatureSet set(folder_, parameters_);
  write_all(set);
  EXPECT_FALSE(fs::exists(folder_ / "train_x_07.npy"));
  EXPECT_TRUE(fs::exists(folder_ / "train_x_07.txt"));
}

TEST_F(FeatureSetTest, InAPlaceThatIsNoFolderIsRefused) {
  std::ofstream(folder_ / "file") << "x";
  FeatureSet set(folder_ / "file", parameters_);
  EXPECT_THROW(set.begin(), BadInput);
}

TEST_F(FeatureSetTest, RefusesItsCallersMistakes) {
  const std::vector<std::uint8_t> labels{4};
  const std::vector<float> rows(parameters_.rows.dimension());
  FeatureSet set(folder_, parameters_);
  EXPECT_THROW(set.write("test", "", rows, labels), std::logic_error);
  EXPECT_THROW(set.finish(), std::logic_error);
  set.begin();
  EXPECT_THROW(set.write("test", "", std::span(rows).first(5), labels), std::logic_error);
  parameters_.shards = 0;
  EXPECT_THROW(FeatureSet(folder_, parameters_), std::logic_error);
  parameters_.shards = 1;
  parameters_.dtype = DType::kInt64;
  EXPECT_THROW(FeatureSet(folder_, parameters_), std::logic_error);
}

}  // namespace
}  // namespace dpreduce::fashion_mnist
