#include <fcntl.h>
#include <hdf5.h>
#include <sys/file.h>

#include "common/base/file_descriptor.hpp"
#include "common/data/array_formats.hpp"
#include "common/data/hdf5_written.hpp"
#include "tests/common/data/array_reads.hpp"
#include "tests/without_calls.hpp"

namespace dpreduce::hdf5_array_test {

const std::vector<float> kSix = counted(6);

// Strings of so many bytes, or of any number: H5T_VARIABLE.
Hdf5Handle string_type(std::size_t bytes, H5T_str_t padding = H5T_STR_NULLTERM, H5T_cset_t set = H5T_CSET_ASCII) {
  Hdf5Handle type(H5Tcopy(H5T_C_S1));
  H5Tset_size(type.get(), bytes);
  H5Tset_strpad(type.get(), padding);
  H5Tset_cset(type.get(), set);
  return type;
}

class Hdf5ArrayTest : public testing::Test {
 protected:
  // Writes one dataset of native elements, stored as `stored`; chunked and deflated where `chunk` is not empty.
  template <typename Element>
  void write(const std::string& name, hid_t stored, hid_t native, const Shape& shape,
             const std::vector<Element>& elements, const Shape& chunk = {}) const {
    const Hdf5Handle file = opened_to_write();
    const std::vector<hsize_t> extents(shape.begin(), shape.end());
    const Hdf5Handle space(shape.empty() ? H5Screate(H5S_SCALAR)
                                         : H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr));
    const Hdf5Handle creation(H5Pcreate(H5P_DATASET_CREATE));
    if (!chunk.empty()) {
      const std::vector<hsize_t> chunk_extents(chunk.begin(), chunk.end());
      H5Pset_chunk(creation.get(), static_cast<int>(chunk_extents.size()), chunk_extents.data());
      H5Pset_deflate(creation.get(), 1);
    }
    const Hdf5Handle dataset(
        H5Dcreate2(file.get(), name.c_str(), stored, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT));
    ASSERT_TRUE(dataset.is_valid());
    ASSERT_GE(H5Dwrite(dataset.get(), native, H5S_ALL, H5S_ALL, H5P_DEFAULT, elements.data()), 0);
  }

  void write_floats(const std::string& name, const Shape& shape, const std::vector<float>& elements,
                    const Shape& chunk = {}) const {
    write(name, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, shape, elements, chunk);
  }

  void write_groups(const std::vector<const char*>& names) const {
    const Hdf5Handle file = opened_to_write();
    for (const char* name : names) H5Gclose(H5Gcreate2(file.get(), name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  }

  std::unique_ptr<ArrayFile> opened(const std::string& dataset) const { return open_array(path_ + ":" + dataset); }

  std::vector<std::int32_t> named_labels(const std::string& dataset) const {
    const NamedClasses names({"ash", "oak", "élm"});
    return all_labels(*opened(dataset), names.size(), &names);
  }

  const TemporaryFolder folder_;
  std::string path_ = folder_ / "x.h5";

 private:
  Hdf5Handle opened_to_write() const {
    return Hdf5Handle(std::filesystem::exists(path_)
                          ? H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT)
                          : H5Fcreate(path_.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT));
  }
};

// A file system without locks, on which the library by itself opens nothing.
TEST_F(Hdf5ArrayTest, IsReadWhereTheFileSystemHasNoLocks) {
  write_floats("/x", {2, 3}, kSix);
  for (const unsigned missing : {ENOLCK, EOPNOTSUPP, ENOSYS}) {
    std::vector<float> features;
    if (!run_without({SYS_flock}, missing, [&] { features = all_features(*opened("x")); })) GTEST_SKIP();
    EXPECT_EQ(features, kSix);
  }
}

TEST_F(Hdf5ArrayTest, AFileThatIsBeingWrittenIsRefused) {
  write_floats("/x", {2, 3}, kSix);
  const FileDescriptor writer(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::flock(writer.get(), LOCK_EX), 0);
  expect_bad_input([&] { opened("x"); }, {"x.h5: is open for writing in another program"});
}

TEST_F(Hdf5ArrayTest, FeaturesOfEachStoredTypeAreRead) {
  const Hdf5Handle half(H5Tcopy(H5T_IEEE_F32LE));  // as h5py defines float16
  H5Tset_fields(half.get(), 15, 10, 5, 0, 10);
  H5Tset_size(half.get(), 2);
  H5Tset_ebias(half.get(), 15);
  const std::vector<std::pair<std::string, hid_t>> types = {{"/f4", H5T_IEEE_F32LE},
                                                            {"/f4_big", H5T_IEEE_F32BE},
                                                            {"/f8", H5T_IEEE_F64LE},
                                                            {"/f8_big", H5T_IEEE_F64BE},
                                                            {"/f2", half.get()}};
  for (const auto& [name, stored] : types) {
    write(name, stored, H5T_NATIVE_FLOAT, {2, 3}, kSix);
    SCOPED_TRACE(name);
    const auto array = opened(name);
    EXPECT_EQ(all_features(*array), kSix);
    EXPECT_EQ(some_features(*array, 1, 1), (std::vector<float>{3, 4, 5}));
    EXPECT_TRUE(array->features_in_place(0, 2).empty());
  }
}

TEST_F(Hdf5ArrayTest, ChunkedAndCompressedRowsAreReadByRanges) {
  constexpr std::uint64_t kRows = 1000;
  constexpr std::uint64_t kDim = 300;
  const std::vector<float> entries = counted(kRows * kDim);
  write_floats("/x", {kRows, kDim}, entries, {900, 299});
  const auto array = opened("/x");
  for (std::uint64_t first = 0; first < kRows; first += 137) {
    const std::vector<float> rows = some_features(*array, first, std::min<std::uint64_t>(137, kRows - first));
    EXPECT_TRUE(std::equal(rows.begin(), rows.end(), entries.begin() + static_cast<std::ptrdiff_t>(first * kDim)));
  }
}

TEST_F(Hdf5ArrayTest, LabelsOfEachWidthAreRead) {
  const std::vector<std::pair<std::string, hid_t>> types = {
      {"/i1", H5T_STD_I8LE}, {"/i2", H5T_STD_I16BE}, {"/i4", H5T_STD_I32LE}, {"/i8", H5T_STD_I64BE},
      {"/u1", H5T_STD_U8LE}, {"/u2", H5T_STD_U16BE}, {"/u4", H5T_STD_U32LE}, {"/u8", H5T_STD_U64BE}};
  for (const auto& [name, stored] : types) {
    SCOPED_TRACE(name);
    write<int>(name, stored, H5T_NATIVE_INT, {3, 1}, {0, 2, 100});
    const auto array = opened(name);
    EXPECT_THAT(all_labels(*array, 101), ElementsAre(0, 2, 100));
    expect_bad_input([&] { all_labels(*array, 100); }, {"x.h5:" + name, "row 2", "label 100"});
  }
}

TEST_F(Hdf5ArrayTest, BooleansOfH5pyAreLabels) {
  const Hdf5Handle boolean(H5Tenum_create(H5T_NATIVE_INT8));
  const std::int8_t values[] = {0, 1};
  H5Tenum_insert(boolean.get(), "FALSE", &values[0]);
  H5Tenum_insert(boolean.get(), "TRUE", &values[1]);
  write<std::int8_t>("/y", boolean.get(), boolean.get(), {3}, {0, 1, 1});
  EXPECT_EQ(all_labels(*opened("/y"), 2), (std::vector<std::int32_t>{0, 1, 1}));
}

TEST_F(Hdf5ArrayTest, DatasetsInGroupsAreFound) {
  write_groups({"/train"});
  write_floats("/train/x", {2, 3}, kSix);
  EXPECT_EQ(all_features(*opened("/train/x")), kSix);
  expect_bad_input([&] { opened("/train"); }, {"x.h5:/train: is a group; name a dataset in it"});
}

// As AnnData stores them.
TEST_F(Hdf5ArrayTest, SparseMatricesAndCategoriesAreNamedWithWhatToDo) {
  path_ = folder_ / "x.h5ad";
  write_groups({"/X", "/kind"});
  for (const char* name : {"/X/data", "/X/indices", "/X/indptr", "/kind/codes", "/kind/categories"}) {
    write_floats(name, {2, 3}, kSix);
  }
  expect_bad_input([&] { opened("X"); }, {"x.h5ad:/X: is a sparse matrix", "X.toarray()"});
  expect_bad_input([&] { opened("/kind"); }, {"is a column of categories", "x.h5ad:/kind/codes"});
  expect_bad_input([&] { opened("/kind/none"); }, {"has no such dataset"});
}

TEST_F(Hdf5ArrayTest, WhatCannotBeReadIsNamedAndHdf5PrintsNothing) {
  write_floats("/x", {2, 3}, kSix);
  write_floats("/scalar", {}, kSix);
  const Hdf5Handle opaque(H5Tcreate(H5T_OPAQUE, 1));
  write<char>("/text", opaque.get(), opaque.get(), {3}, {'a', 'b', 'c'});
  write_bytes(folder_ / "not.h5", "no HDF5 file");

  testing::internal::CaptureStderr();
  expect_bad_input([&] { open_hdf5(folder_ / "none.h5", "/x"); }, {"none.h5", "No such file"});
  expect_bad_input([&] { open_hdf5(folder_.path(), "/x"); }, {"regular file"});
  expect_bad_input([&] { open_hdf5(folder_ / "not.h5", "/x"); }, {"not.h5", "HDF5"});
  expect_bad_input([&] { open_hdf5(path_, "/y"); }, {"x.h5:/y", "no such dataset"});
  expect_bad_input([&] { open_hdf5(path_, "/scalar"); }, {"x.h5:/scalar", "single number"});
  expect_bad_input([&] { open_hdf5(path_, "/text"); },
                   {"x.h5:/text", "neither floats nor integers", "identifiers of persons as int64 or strings"});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(Hdf5ArrayTest, AFileCutShortIsRefused) {
  write_floats("/x", {1000, 100}, std::vector<float>(100'000));
  std::filesystem::resize_file(path_, 200'000);
  expect_bad_input([&] { all_features(*opened("/x")); }, {"x.h5"});
}

TEST_F(Hdf5ArrayTest, ADamagedChunkIsReportedWithItsRows) {
  write_floats("/x", {1000, 100}, counted(100'000), {1000, 100});
  std::string bytes = read_bytes(path_);
  for (std::size_t at = bytes.size() / 2; at < bytes.size() / 2 + 2000; ++at) bytes[at] = '\xff';
  write_bytes(path_, bytes);
  expect_bad_input([&] { some_features(*opened("/x"), 0, 10); }, {"x.h5:/x", "rows 0 to 9"});
}

TEST_F(Hdf5ArrayTest, NamesOfFixedAndVariableLengthAreTheirClasses) {
  for (const H5T_str_t padding : {H5T_STR_NULLTERM, H5T_STR_NULLPAD, H5T_STR_SPACEPAD}) {
    const Hdf5Handle fixed = string_type(5, padding, H5T_CSET_UTF8);
    const std::string fill(1, padding == H5T_STR_SPACEPAD ? ' ' : '\0');
    const std::string stored = "oak" + fill + fill + "\xc3\xa9lm" + fill + "ash" + fill + fill;
    const std::string name = "/fixed" + std::to_string(static_cast<int>(padding));
    write<char>(name, fixed.get(), fixed.get(), {3}, {stored.begin(), stored.end()});
    EXPECT_EQ(named_labels(name), (std::vector<std::int32_t>{1, 2, 0})) << name;
  }
  for (const H5T_cset_t characters : {H5T_CSET_ASCII, H5T_CSET_UTF8}) {
    const Hdf5Handle variable = string_type(H5T_VARIABLE, H5T_STR_NULLTERM, characters);
    const hid_t type = variable.get();
    const std::string name = "/variable" + std::to_string(static_cast<int>(characters));
    write<const char*>(name, type, type, {4, 1}, {"ash", "oak", "oak", "ash"}, {3, 1});
    write<const char*>(name + "_wrong", type, type, {2}, {"ash", "a very long label that no class has"});
    EXPECT_EQ(named_labels(name), (std::vector<std::int32_t>{0, 1, 1, 0})) << name;
    expect_bad_input([&] { named_labels(name + "_wrong"); }, {name + "_wrong: row 1 has label \"a very long label"});
  }
}

TEST_F(Hdf5ArrayTest, StringsThatAreLongerThanAnyNameAreRefused) {
  const Hdf5Handle fixed = string_type(65537);
  write("/y", fixed.get(), fixed.get(), {1}, std::vector<char>(65537, 'a'));
  expect_bad_input([&] { opened("/y"); }, {"x.h5:/y", "strings of up to 65536 bytes"});
}

TEST_F(Hdf5ArrayTest, StringsThatAreMissingAreNoPersonsAndNoNames) {
  const Hdf5Handle variable = string_type(H5T_VARIABLE);
  write<const char*>("/variable", variable.get(), variable.get(), {3}, {"ann", "<NA>", "bob"});
  write<const char*>("/none", variable.get(), variable.get(), {3}, {"ann", "bob", nullptr});
  const Hdf5Handle fixed = string_type(4, H5T_STR_SPACEPAD);
  const std::string stored = "ann     bob ";
  write<char>("/spaces", fixed.get(), fixed.get(), {3}, {stored.begin(), stored.end()});
  expect_bad_input([&] { all_persons(*opened("/variable")); }, {"row 1 has the identifier \"<NA>\""});
  expect_bad_input([&] { all_persons(*opened("/none")); }, {"row 2 has no identifier"});
  expect_bad_input([&] { all_persons(*opened("/spaces")); }, {"row 1 has "});
  write<const char*>("/y", variable.get(), variable.get(), {2}, {"ash", nullptr});
  expect_bad_input([&] { named_labels("/y"); }, {"row 1 has label \"\""});
}

}  // namespace dpreduce::hdf5_array_test
