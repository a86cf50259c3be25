#include "common/data/npy_writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/file_descriptor.hpp"
#include "tests/common/data/array_reads.hpp"

namespace dpreduce::npy_writer_test {

class NpyWriterTest : public testing::Test {
 protected:
  const TemporaryFolder folder_;
};

TEST_F(NpyWriterTest, WritesTheBytesOfNumpySave) {
  NpyWriter writer(folder_ / "x.npy", DType::kFloat32, {1, 2});
  writer.append(std::span<const float>(std::vector<float>{1.0f, -2.0f}));
  writer.commit();
  // np.save(f, np.array([[1, -2]], 'f4')), NumPy 1.24
  std::string wanted =
      std::string("\x93NUMPY\x01\x00\x76\x00", 10) + "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }";
  wanted.resize(127, ' ');
  wanted += '\n';
  wanted += std::string("\x00\x00\x80\x3f\x00\x00\x00\xc0", 8);
  EXPECT_EQ(read_bytes(folder_ / "x.npy"), wanted);
}

TEST_F(NpyWriterTest, WhatIsWrittenInPiecesIsReadBack) {
  constexpr std::size_t kRows = 1000;
  constexpr std::size_t kDim = 131;  // more elements than one piece
  std::vector<float> entries(kRows * kDim);
  for (std::size_t k = 0; k < entries.size(); ++k) entries[k] = static_cast<float>(k % 2048);
  for (const DType dtype : {DType::kFloat16, DType::kFloat32}) {
    NpyWriter writer(folder_ / "x.npy", dtype, {kRows, kDim}, Existing::kReplace);
    writer.append(std::span<const float>(entries).first(12345));
    writer.append(std::span<const float>());
    writer.append(std::span<const float>(entries).subspan(12345));
    writer.commit();
    const auto array = open_array(folder_ / "x.npy");
    EXPECT_EQ(array->dtype(), dtype);
    EXPECT_TRUE(all_features(*array) == entries);
    std::vector<float> scratch;
    array->features_in_place(0, kRows).decoded(0, entries.size(), scratch);
    EXPECT_EQ(scratch.empty(), dtype == DType::kFloat32);  // aligned by the writer
  }
}

TEST_F(NpyWriterTest, LabelsComeFromEitherIntegerType) {
  NpyWriter writer(folder_ / "y.npy", DType::kInt64, {4});
  writer.append(std::span<const std::int32_t>(std::vector<std::int32_t>{0, -1}));
  writer.append(std::span<const std::int64_t>(std::vector<std::int64_t>{5, -(std::int64_t{1} << 40)}));
  writer.commit();
  EXPECT_EQ(read_bytes(folder_ / "y.npy").substr(128),
            element_bytes<std::int64_t>({0, -1, 5, -(std::int64_t{1} << 40)}));
  EXPECT_EQ(open_array(folder_ / "y.npy")->shape(), Shape{4});
}

TEST_F(NpyWriterTest, StoredElementsOfEveryTypeAreReadBack) {
  for (const NumberType& type : kNumberTypes) {
    const DType dtype = type.dtype;
    std::vector<std::byte> bytes(6 * size_of(dtype));
    for (std::size_t k = 0; k < bytes.size(); ++k) bytes[k] = static_cast<std::byte>(k % 2);
    NpyWriter writer(folder_ / "x.npy", dtype, {3, 2}, Existing::kReplace);
    writer.append_stored(std::span(bytes).first(2 * size_of(dtype)));
    writer.append_stored(std::span(bytes).subspan(2 * size_of(dtype)));
    writer.commit();
    const auto array = open_array(folder_ / "x.npy");
    EXPECT_EQ(array->dtype(), dtype);
    std::vector<std::byte> read(bytes.size());
    array->read_stored(0, 3, read);
    EXPECT_EQ(read, bytes);
  }
}

TEST_F(NpyWriterTest, AnArrayWithoutRowsIsWrittenAndOneWithoutACommitIsNot) {
  NpyWriter writer(folder_ / "none.npy", DType::kFloat32, {0, 3});
  writer.commit();
  EXPECT_EQ(open_array(folder_ / "none.npy")->shape(), (Shape{0, 3}));
  { NpyWriter(folder_ / "x.npy", DType::kFloat32, {1, 2}).append(std::span<const float>(std::vector<float>{1.0f})); }
  EXPECT_THAT(folder_.names(), ElementsAre("none.npy"));
}

// So that a full disk is found before the commit, which may be after a charge.
TEST_F(NpyWriterTest, AllElementsAreWrittenOnceTheLastIsThere) {
  const std::string pipe = folder_ / "x.npy";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const FileDescriptor reader(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK));
  const std::vector<float> few(6);
  NpyWriter writer(pipe, DType::kFloat32, {3, 2}, Existing::kReplace);
  writer.append(std::span<const float>(few).first(4));
  writer.append(std::span<const float>(few).last(2));
  std::vector<char> bytes(4096);
  EXPECT_EQ(::read(reader.get(), bytes.data(), bytes.size()), 128 + 24);
  writer.commit();
}

TEST_F(NpyWriterTest, ElementsMustFitTypeAndShape) {
  const std::vector<float> three(3);
  NpyWriter floats(folder_ / "x.npy", DType::kFloat32, {1, 2});
  EXPECT_THROW(floats.append(std::span<const float>(three)), std::logic_error);
  EXPECT_THROW(floats.append(std::span<const std::int64_t>()), std::logic_error);
  EXPECT_THROW(floats.commit(), std::logic_error);
  NpyWriter integers(folder_ / "y.npy", DType::kInt64, {2});
  EXPECT_THROW(integers.append(std::span<const float>()), std::logic_error);
  NpyWriter doubles(folder_ / "z.npy", DType::kFloat64, {2});
  EXPECT_THROW(doubles.append(std::span<const float>(three).first(2)), std::logic_error);
  const std::vector<std::byte> stored(24);
  EXPECT_THROW(doubles.append_stored(std::span(stored).first(12)), std::logic_error);
  EXPECT_THROW(doubles.append_stored(stored), std::logic_error);
  EXPECT_THROW(NpyWriter(folder_ / "w.npy", DType::kFloat32, {2, 2, 2}), std::logic_error);
}

}  // namespace dpreduce::npy_writer_test
