#include "common/data/hdf5_array.hpp"

#include <fcntl.h>
#include <hdf5.h>
#include <sys/file.h>

#include "common/base/file_descriptor.hpp"
#include "tests/common/data/data_files.hpp"
#include "tests/without_calls.hpp"

namespace dpreduce::hdf5_array_test {

// Writes one dataset of native elements, stored as `stored`; chunked and deflated where `chunk` is not empty.
template <typename Element>
void write_dataset(const std::string& path, const std::string& name, hid_t stored, hid_t native, const Shape& shape,
                   const std::vector<Element>& elements, const Shape& chunk = {}) {
  const hid_t file = std::filesystem::exists(path) ? H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT)
                                                   : H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT);
  const std::vector<hsize_t> extents(shape.begin(), shape.end());
  const hid_t space = shape.empty() ? H5Screate(H5S_SCALAR)
                                    : H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr);
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  if (!chunk.empty()) {
    const std::vector<hsize_t> chunk_extents(chunk.begin(), chunk.end());
    H5Pset_chunk(creation, static_cast<int>(chunk_extents.size()), chunk_extents.data());
    H5Pset_deflate(creation, 1);
  }
  const hid_t dataset = H5Dcreate2(file, name.c_str(), stored, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  ASSERT_GE(dataset, 0);
  ASSERT_GE(H5Dwrite(dataset, native, H5S_ALL, H5S_ALL, H5P_DEFAULT, elements.data()), 0);
  H5Dclose(dataset);
  H5Pclose(creation);
  H5Sclose(space);
  H5Fclose(file);
}

std::vector<float> features_of(ArrayFile& array, std::uint64_t first, std::uint64_t count) {
  array.require_holds_features();
  std::vector<float> out(count * array.columns());
  array.read_features(first, count, out);
  return out;
}

const std::vector<float> kSix = {0, 1, 2, 3, 4, 5};

// A file system without locks, on which the library by itself opens nothing.
TEST(Hdf5Array, IsReadWhereTheFileSystemHasNoLocks) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.h5";
  write_dataset(path, "/x", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {2, 3}, kSix);
  for (const unsigned missing : {ENOLCK, EOPNOTSUPP, ENOSYS}) {
    std::vector<float> features;
    if (!run_without({SYS_flock}, missing, [&] { features = features_of(*open_array(path + ":x"), 0, 2); })) {
      GTEST_SKIP();
    }
    EXPECT_EQ(features, kSix);
  }
}

TEST(Hdf5Array, AFileThatIsBeingWrittenIsRefused) {
  const TemporaryFolder folder;
  write_dataset(folder / "x.h5", "/x", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {2, 3}, kSix);
  const FileDescriptor writer(::open((folder / "x.h5").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::flock(writer.get(), LOCK_EX), 0);
  expect_refusal<BadInput>([&] { open_array((folder / "x.h5") + ":x"); },
                           {"x.h5: is open for writing in another program"});
}

TEST(Hdf5Array, FeaturesOfEachStoredTypeAreRead) {
  const TemporaryFolder folder;
  const hid_t half = H5Tcopy(H5T_IEEE_F32LE);  // as h5py defines float16
  H5Tset_fields(half, 15, 10, 5, 0, 10);
  H5Tset_size(half, 2);
  H5Tset_ebias(half, 15);
  const std::vector<std::pair<std::string, hid_t>> types = {{"/f4", H5T_IEEE_F32LE},
                                                            {"/f4_big", H5T_IEEE_F32BE},
                                                            {"/f8", H5T_IEEE_F64LE},
                                                            {"/f8_big", H5T_IEEE_F64BE},
                                                            {"/f2", half}};
  for (const auto& [name, stored] : types) {
    write_dataset(folder / "x.h5", name, stored, H5T_NATIVE_FLOAT, {2, 3}, kSix);
    SCOPED_TRACE(name);
    const auto array = open_array((folder / "x.h5") + ":" + name);
    EXPECT_EQ(features_of(*array, 0, 2), kSix);
    EXPECT_EQ(features_of(*array, 1, 1), (std::vector<float>{3, 4, 5}));
    EXPECT_TRUE(array->features_in_place(0, 2).empty());
  }
  H5Tclose(half);
}

TEST(Hdf5Array, ChunkedAndCompressedRowsAreReadByRanges) {
  const TemporaryFolder folder;
  constexpr std::uint64_t kRows = 1000;
  constexpr std::uint64_t kDim = 300;
  std::vector<float> entries(kRows * kDim);
  std::iota(entries.begin(), entries.end(), 0.0f);
  write_dataset(folder / "x.h5", "/x", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {kRows, kDim}, entries, {900, 299});
  const auto array = open_array((folder / "x.h5") + ":/x");
  for (std::uint64_t first = 0; first < kRows; first += 137) {
    const std::uint64_t count = std::min<std::uint64_t>(137, kRows - first);
    const std::vector<float> rows = features_of(*array, first, count);
    EXPECT_TRUE(std::equal(rows.begin(), rows.end(), entries.begin() + static_cast<std::ptrdiff_t>(first * kDim)));
  }
}

TEST(Hdf5Array, LabelsOfEachWidthAreRead) {
  const TemporaryFolder folder;
  const std::vector<std::pair<std::string, hid_t>> types = {
      {"/i1", H5T_STD_I8LE}, {"/i2", H5T_STD_I16BE}, {"/i4", H5T_STD_I32LE}, {"/i8", H5T_STD_I64BE},
      {"/u1", H5T_STD_U8LE}, {"/u2", H5T_STD_U16BE}, {"/u4", H5T_STD_U32LE}, {"/u8", H5T_STD_U64BE}};
  for (const auto& [name, stored] : types) {
    SCOPED_TRACE(name);
    write_dataset<int>(folder / "y.h5", name, stored, H5T_NATIVE_INT, {3, 1}, {0, 2, 100});
    const auto array = open_array((folder / "y.h5") + ":" + name);
    array->require_holds_labels(nullptr);
    std::vector<std::int32_t> labels(3);
    array->read_labels(0, 3, 101, labels);
    EXPECT_EQ(labels, (std::vector<std::int32_t>{0, 2, 100}));
    expect_bad_input([&] { array->read_labels(0, 3, 100, labels); }, {"y.h5:" + name, "row 2", "label 100"});
  }
}

TEST(Hdf5Array, BooleansOfH5pyAreLabels) {
  const TemporaryFolder folder;
  const hid_t boolean = H5Tenum_create(H5T_NATIVE_INT8);
  const std::int8_t no = 0;
  const std::int8_t yes = 1;
  H5Tenum_insert(boolean, "FALSE", &no);
  H5Tenum_insert(boolean, "TRUE", &yes);
  write_dataset<std::int8_t>(folder / "y.h5", "/y", boolean, boolean, {3}, {0, 1, 1});
  H5Tclose(boolean);
  Hdf5Array array(folder / "y.h5", "/y");
  std::vector<std::int32_t> labels(3);
  array.read_labels(0, 3, 2, labels);
  EXPECT_EQ(labels, (std::vector<std::int32_t>{0, 1, 1}));
}

TEST(Hdf5Array, DatasetsInGroupsAreFound) {
  const TemporaryFolder folder;
  const hid_t file = H5Fcreate((folder / "x.h5").c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT);
  H5Gclose(H5Gcreate2(file, "/train", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Fclose(file);
  write_dataset(folder / "x.h5", "/train/x", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {2, 3}, kSix);
  EXPECT_EQ(features_of(*open_array((folder / "x.h5") + ":/train/x"), 0, 2), kSix);
  expect_bad_input([&] { open_array((folder / "x.h5") + ":/train"); },
                   {"x.h5:/train: is a group; name a dataset in it"});
}

// As AnnData stores them.
TEST(Hdf5Array, SparseMatricesAndCategoriesAreNamedWithWhatToDo) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.h5ad";
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT);
  for (const char* group : {"/X", "/kind"}) H5Gclose(H5Gcreate2(file, group, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Fclose(file);
  for (const char* name : {"/X/data", "/X/indices", "/X/indptr", "/kind/codes", "/kind/categories"}) {
    write_dataset(path, name, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {2, 3}, kSix);
  }
  expect_bad_input([&] { open_array(path + ":X"); }, {"x.h5ad:/X: is a sparse matrix", "X.toarray()"});
  expect_bad_input([&] { open_array(path + ":/kind"); }, {"is a column of categories", "x.h5ad:/kind/codes"});
  expect_bad_input([&] { open_array(path + ":/kind/none"); }, {"has no such dataset"});
}

TEST(Hdf5Array, WhatCannotBeReadIsNamedAndHdf5PrintsNothing) {
  const TemporaryFolder folder;
  write_dataset(folder / "x.h5", "/x", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {2, 3}, kSix);
  write_dataset(folder / "x.h5", "/scalar", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {}, kSix);
  const hid_t opaque = H5Tcreate(H5T_OPAQUE, 1);
  write_dataset<char>(folder / "x.h5", "/text", opaque, opaque, {3}, {'a', 'b', 'c'});
  H5Tclose(opaque);
  write_bytes(folder / "not.h5", "no HDF5 file");

  testing::internal::CaptureStderr();
  expect_bad_input([&] { Hdf5Array(folder / "none.h5", "/x"); }, {"none.h5", "No such file"});
  expect_bad_input([&] { Hdf5Array(folder.path(), "/x"); }, {"regular file"});
  expect_bad_input([&] { Hdf5Array(folder / "not.h5", "/x"); }, {"not.h5", "HDF5"});
  expect_bad_input([&] { Hdf5Array(folder / "x.h5", "/y"); }, {"x.h5:/y", "no such dataset"});
  expect_bad_input([&] { Hdf5Array(folder / "x.h5", "/scalar"); }, {"x.h5:/scalar", "single number"});
  expect_bad_input([&] { Hdf5Array(folder / "x.h5", "/text"); },
                   {"x.h5:/text", "neither floats nor integers", "identifiers of persons as int64 or strings"});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Hdf5Array, AFileCutShortIsRefused) {
  const TemporaryFolder folder;
  std::vector<float> entries(100'000);
  write_dataset(folder / "x.h5", "/x", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {1000, 100}, entries);
  std::filesystem::resize_file(folder / "x.h5", 200'000);
  expect_bad_input([&] { features_of(*open_array((folder / "x.h5") + ":/x"), 0, 1000); }, {"x.h5"});
}

TEST(Hdf5Array, ADamagedChunkIsReportedWithItsRows) {
  const TemporaryFolder folder;
  std::vector<float> entries(100'000);
  std::iota(entries.begin(), entries.end(), 0.0f);
  write_dataset(folder / "x.h5", "/x", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {1000, 100}, entries, {1000, 100});
  std::string bytes = read_bytes(folder / "x.h5");
  for (std::size_t at = bytes.size() / 2; at < bytes.size() / 2 + 2000; ++at) bytes[at] = '\xff';
  write_bytes(folder / "x.h5", bytes);
  expect_bad_input([&] { features_of(*open_array((folder / "x.h5") + ":/x"), 0, 10); }, {"x.h5:/x", "rows 0 to 9"});
}

std::vector<std::int32_t> named_labels_of(const std::string& path) {
  const NamedClasses names({"ash", "oak", "élm"});
  const auto array = open_array(path);
  array->require_holds_labels(&names);
  std::vector<std::int32_t> labels(array->rows());
  array->read_labels(0, array->rows(), names.size(), labels, &names);
  return labels;
}

TEST(Hdf5Array, NamesOfFixedAndVariableLengthAreTheirClasses) {
  const TemporaryFolder folder;
  for (const H5T_str_t padding : {H5T_STR_NULLTERM, H5T_STR_NULLPAD, H5T_STR_SPACEPAD}) {
    const hid_t fixed = H5Tcopy(H5T_C_S1);
    H5Tset_size(fixed, 5);
    H5Tset_cset(fixed, H5T_CSET_UTF8);
    H5Tset_strpad(fixed, padding);
    const std::string fill(1, padding == H5T_STR_SPACEPAD ? ' ' : '\0');
    const std::string stored = "oak" + fill + fill + "\xc3\xa9lm" + fill + "ash" + fill + fill;
    const std::string name = "/fixed" + std::to_string(static_cast<int>(padding));
    write_dataset<char>(folder / "y.h5", name, fixed, fixed, {3}, {stored.begin(), stored.end()});
    H5Tclose(fixed);
    EXPECT_EQ(named_labels_of((folder / "y.h5") + ":" + name), (std::vector<std::int32_t>{1, 2, 0})) << name;
  }
  for (const H5T_cset_t characters : {H5T_CSET_ASCII, H5T_CSET_UTF8}) {
    const hid_t variable = H5Tcopy(H5T_C_S1);
    H5Tset_size(variable, H5T_VARIABLE);
    H5Tset_cset(variable, characters);
    const std::vector<const char*> words = {"ash", "oak", "oak", "ash"};
    const std::string name = "/variable" + std::to_string(static_cast<int>(characters));
    write_dataset<const char*>(folder / "y.h5", name, variable, variable, {4, 1}, words, {3, 1});
    const std::vector<const char*> wrong = {"ash", "a very long label that no class has"};
    write_dataset<const char*>(folder / "y.h5", name + "_wrong", variable, variable, {2}, wrong);
    H5Tclose(variable);
    EXPECT_EQ(named_labels_of((folder / "y.h5") + ":" + name), (std::vector<std::int32_t>{0, 1, 1, 0})) << name;
    expect_bad_input([&] { named_labels_of((folder / "y.h5") + ":" + name + "_wrong"); },
                     {name + "_wrong: row 1 has label \"a very long label"});
  }
}

TEST(Hdf5Array, StringsThatAreLongerThanAnyNameAreRefused) {
  const TemporaryFolder folder;
  const hid_t fixed = H5Tcopy(H5T_C_S1);
  H5Tset_size(fixed, 65537);
  write_dataset<char>(folder / "y.h5", "/y", fixed, fixed, {1}, std::vector<char>(65537, 'a'));
  H5Tclose(fixed);
  expect_bad_input([&] { open_array((folder / "y.h5") + ":/y"); }, {"y.h5:/y", "strings of up to 65536 bytes"});
}

TEST(Hdf5Array, IdentifiersThatAreMissingAreRefused) {
  const TemporaryFolder folder;
  const hid_t variable = H5Tcopy(H5T_C_S1);
  H5Tset_size(variable, H5T_VARIABLE);
  write_dataset<const char*>(folder / "p.h5", "/variable", variable, variable, {3}, {"ann", "<NA>", "bob"});
  write_dataset<const char*>(folder / "p.h5", "/none", variable, variable, {3}, {"ann", "bob", nullptr});
  H5Tclose(variable);
  const hid_t fixed = H5Tcopy(H5T_C_S1);
  H5Tset_size(fixed, 4);
  H5Tset_strpad(fixed, H5T_STR_SPACEPAD);
  const std::string stored = "ann     bob ";
  write_dataset<char>(folder / "p.h5", "/spaces", fixed, fixed, {3}, {stored.begin(), stored.end()});
  H5Tclose(fixed);
  for (const auto& [name, what] : {std::pair("variable", "row 1 has the identifier \"<NA>\""),
                                   std::pair("none", "row 2 has no identifier"), std::pair("spaces", "row 1 has ")}) {
    const auto array = open_array((folder / "p.h5") + ":/" + name);
    array->require_holds_persons();
    expect_bad_input([&] { array->visit_persons(0, 3, {[](auto) {}, [](auto) {}}); }, {what});
  }
}

TEST(Hdf5Array, AVariableStringThatIsNotThereIsEmpty) {
  const TemporaryFolder folder;
  const hid_t variable = H5Tcopy(H5T_C_S1);
  H5Tset_size(variable, H5T_VARIABLE);
  write_dataset<const char*>(folder / "y.h5", "/y", variable, variable, {2}, {"ash", nullptr});
  H5Tclose(variable);
  expect_bad_input([&] { named_labels_of((folder / "y.h5") + ":/y"); }, {"row 1 has label \"\""});
}

}  // namespace dpreduce::hdf5_array_test
