// Rows that HDF5 would fill in by itself are refused, wherever they are missing.
#include "common/data/hdf5_written.hpp"

#include <hdf5.h>

#include "common/data/hdf5_array.hpp"
#include "tests/common/data/data_files.hpp"
#include "tests/testing.hpp"

namespace dpreduce::hdf5_written_test {

constexpr hsize_t kRows = 8;
constexpr hsize_t kDim = 2;

class Hdf5WrittenTest : public testing::Test {
 protected:
  Hdf5Handle file(const std::string& name) const {
    const std::string path = folder_ / name;
    return std::filesystem::exists(path)
               ? Hdf5Handle(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose)
               : Hdf5Handle(H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  }

  static Hdf5Handle creation() { return {H5Pcreate(H5P_DATASET_CREATE), H5Pclose}; }

  static Hdf5Handle space_of(hsize_t rows) {
    const hsize_t extents[] = {rows, kDim};
    return {H5Screate_simple(2, extents, nullptr), H5Sclose};
  }

  static Hdf5Handle rows_of(hsize_t all, hsize_t first, hsize_t count) {
    Hdf5Handle space = space_of(all);
    const hsize_t start[] = {first, 0};
    const hsize_t extent[] = {count, kDim};
    EXPECT_GE(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start, nullptr, extent, nullptr), 0);
    return space;
  }

  // A dataset of so many rows, of which those from `first` on are written: element k of them is base + k.
  void write(const std::string& name, hsize_t rows, hsize_t first, hsize_t count, const Hdf5Handle& how = creation(),
             const std::string& dataset_name = "x", float base = 1.0F) const {
    const Hdf5Handle out = file(name);
    const Hdf5Handle space = space_of(rows);
    const Hdf5Handle dataset(
        H5Dcreate2(out.get(), dataset_name.c_str(), H5T_NATIVE_FLOAT, space.get(), H5P_DEFAULT, how.get(), H5P_DEFAULT),
        H5Dclose);
    ASSERT_TRUE(dataset.is_valid());
    if (count == 0) return;
    std::vector<float> values(count * kDim);
    std::iota(values.begin(), values.end(), base);
    const Hdf5Handle in_memory = space_of(count);
    const Hdf5Handle in_file = rows_of(rows, first, count);
    ASSERT_GE(H5Dwrite(dataset.get(), H5T_NATIVE_FLOAT, in_memory.get(), in_file.get(), H5P_DEFAULT, values.data()), 0);
  }

  static void map(const Hdf5Handle& how, hsize_t first, hsize_t count, const std::string& source, hsize_t source_rows,
                  const std::string& dataset = "x") {
    const Hdf5Handle covered = rows_of(kRows, first, count);
    const Hdf5Handle taken = rows_of(source_rows, 0, count);
    ASSERT_GE(H5Pset_virtual(how.get(), covered.get(), source.c_str(), dataset.c_str(), taken.get()), 0);
  }

  std::vector<float> read(const std::string& name, const std::string& dataset = "/x") const {
    Hdf5Array array(folder_ / name, dataset);
    std::vector<float> values(array.rows() * array.columns());
    array.read_features(0, array.rows(), values);
    return values;
  }

  void expect_missing(const std::string& name, const std::vector<std::string>& said) const {
    std::vector<std::string> parts = said;
    parts.insert(parts.end(), {name + ":/x", "never written"});
    expect_bad_input([&] { read(name); }, parts);
  }

  const TemporaryFolder folder_;
};

TEST_F(Hdf5WrittenTest, AVirtualDatasetOfSourcesThatAreThereIsRead) {
  write("a.h5", 4, 0, 4);
  write("b.h5", 4, 0, 4, creation(), "x", 9.0F);
  const Hdf5Handle how = creation();
  map(how, 0, 4, "a.h5", 4);
  map(how, 4, 4, "b.h5", 4);
  write("virtual.h5", kRows, 0, 0, how);
  const Hdf5Handle nested = creation();
  map(nested, 0, 8, "virtual.h5", 8);
  write("nested.h5", kRows, 0, 0, nested);
  std::vector<float> expected(kRows * kDim);
  std::iota(expected.begin(), expected.end(), 1.0F);
  EXPECT_EQ(read("virtual.h5"), expected);
  EXPECT_EQ(read("nested.h5"), expected);
}

TEST_F(Hdf5WrittenTest, AVirtualDatasetOfItsOwnFileIsRead) {
  write("one.h5", 8, 0, 8, creation(), "source");
  const Hdf5Handle how = creation();
  map(how, 0, 8, ".", 8, "source");
  write("one.h5", kRows, 0, 0, how);
  EXPECT_EQ(read("one.h5").back(), 16.0F);
}

TEST_F(Hdf5WrittenTest, AMissingSourceIsRefusedWithItsRows) {
  write("a.h5", 4, 0, 4);
  const Hdf5Handle how = creation();
  map(how, 0, 4, "a.h5", 4);
  map(how, 4, 4, "gone.h5", 4);
  write("virtual.h5", kRows, 0, 0, how);
  expect_missing("virtual.h5", {"rows 4 to 7", "gone.h5"});
  const Hdf5Handle nested = creation();
  map(nested, 0, 8, "virtual.h5", 8);
  write("nested.h5", kRows, 0, 0, nested);
  expect_missing("nested.h5", {"rows 0 to 7", "virtual.h5:x", "rows 4 to 7", "gone.h5"});
}

TEST_F(Hdf5WrittenTest, AMissingDatasetOfASourceIsRefused) {
  write("a.h5", 8, 0, 8);
  const Hdf5Handle how = creation();
  map(how, 0, 8, "a.h5", 8, "other");
  write("virtual.h5", kRows, 0, 0, how);
  expect_missing("virtual.h5", {"rows 0 to 7", "a.h5:other"});
}

TEST_F(Hdf5WrittenTest, ASourceThatIsTooSmallIsRefused) {
  write("a.h5", 6, 0, 6);
  const Hdf5Handle how = creation();
  map(how, 0, 8, "a.h5", 8);
  write("virtual.h5", kRows, 0, 0, how);
  expect_missing("virtual.h5", {"a.h5:x", "too small"});
}

TEST_F(Hdf5WrittenTest, AGapBetweenMappingsIsRefused) {
  write("a.h5", 4, 0, 4);
  const Hdf5Handle how = creation();
  map(how, 0, 3, "a.h5", 4);
  map(how, 5, 3, "a.h5", 4);
  write("virtual.h5", kRows, 0, 0, how);
  expect_missing("virtual.h5", {"rows 3 to 4", "no source"});
}

TEST_F(Hdf5WrittenTest, OfASourceOnlyRowsThatAreTakenAreNeeded) {
  const Hdf5Handle chunked = creation();
  const hsize_t chunk[] = {2, kDim};
  H5Pset_chunk(chunked.get(), 2, chunk);
  write("a.h5", 20, 0, 8, chunked);
  const Hdf5Handle how = creation();
  map(how, 0, 8, "a.h5", 20);
  write("virtual.h5", kRows, 0, 0, how);
  EXPECT_EQ(read("virtual.h5").back(), 16.0F);
  expect_missing("a.h5", {"rows 8 to 9"});
}

TEST_F(Hdf5WrittenTest, AMappingWithoutAnEndIsReadAsFarAsAllSourcesGo) {
  for (const auto& [name, rows] : {std::pair{"even", 8}, std::pair{"short", 6}}) {
    SCOPED_TRACE(name);
    const Hdf5Handle how = creation();
    const hsize_t none[] = {0, kDim};
    const hsize_t most[] = {H5S_UNLIMITED, kDim};
    const Hdf5Handle all(H5Screate_simple(2, none, most), H5Sclose);
    for (const hsize_t parity : {0, 1}) {  // rows of two sources by turns
      const hsize_t start[] = {parity, 0};
      const hsize_t stride[] = {2, 1};
      const hsize_t count[] = {H5S_UNLIMITED, 1};
      const hsize_t block[] = {1, kDim};
      const hsize_t first[] = {0, 0};
      const hsize_t step[] = {1, 1};
      const Hdf5Handle covered(H5Scopy(all.get()), H5Sclose);
      const Hdf5Handle taken(H5Scopy(all.get()), H5Sclose);
      ASSERT_GE(H5Sselect_hyperslab(covered.get(), H5S_SELECT_SET, start, stride, count, block), 0);
      ASSERT_GE(H5Sselect_hyperslab(taken.get(), H5S_SELECT_SET, first, step, count, block), 0);
      const std::string source = std::string(name) + std::to_string(parity) + ".h5";
      write(source, parity == 0 ? 8 : static_cast<hsize_t>(rows), 0, parity == 0 ? 8 : static_cast<hsize_t>(rows));
      ASSERT_GE(H5Pset_virtual(how.get(), covered.get(), source.c_str(), "x", taken.get()), 0);
    }
    const Hdf5Handle out = file(std::string(name) + ".h5");
    const Hdf5Handle dataset(
        H5Dcreate2(out.get(), "x", H5T_NATIVE_FLOAT, all.get(), H5P_DEFAULT, how.get(), H5P_DEFAULT), H5Dclose);
    ASSERT_TRUE(dataset.is_valid());
  }
  EXPECT_EQ(read("even.h5").size(), 16 * kDim);
  expect_missing("short.h5", {"ends too early"});
}

TEST_F(Hdf5WrittenTest, AChunkThatWasNeverWrittenIsRefusedWithItsRows) {
  const Hdf5Handle how = creation();
  const hsize_t chunk[] = {3, 1};
  H5Pset_chunk(how.get(), 2, chunk);
  H5Pset_deflate(how.get(), 1);
  write("whole.h5", 8, 0, 8, how);
  EXPECT_EQ(read("whole.h5").back(), 16.0F);
  write("part.h5", 8, 0, 5, how);
  expect_missing("part.h5", {"rows 6 to 7"});
  write("none.h5", 8, 0, 0, how);
  expect_missing("none.h5", {"rows 0 to 2"});
}

TEST_F(Hdf5WrittenTest, ADatasetInWhichNothingWasStoredIsRefused) {
  write("none.h5", 8, 0, 0);
  expect_missing("none.h5", {"rows 0 to 7"});
  write("no_rows.h5", 0, 0, 0);
  EXPECT_TRUE(read("no_rows.h5").empty());
}

TEST_F(Hdf5WrittenTest, ARawFileThatIsMissingOrShortIsRefused) {
  const std::string raw = folder_ / "raw";
  const Hdf5Handle how = creation();
  ASSERT_GE(H5Pset_external(how.get(), raw.c_str(), 0, kRows * kDim * sizeof(float)), 0);
  write("external.h5", kRows, 0, kRows, how);
  EXPECT_EQ(read("external.h5").back(), 16.0F);
  std::filesystem::resize_file(raw, 60);
  expect_missing("external.h5", {"raw", "too short"});
  std::filesystem::remove(raw);
  expect_missing("external.h5", {"raw", "not there"});
}

// Allocated space that was not written holds the fill value in the file.
TEST_F(Hdf5WrittenTest, ARowOfNothingButAChosenFillValueIsRefused) {
  const Hdf5Handle how = creation();
  const float fill = -1.0F;
  ASSERT_GE(H5Pset_fill_value(how.get(), H5T_NATIVE_FLOAT, &fill), 0);
  write("filled.h5", 8, 0, 5, how);
  expect_missing("filled.h5", {"row 5"});
  write("whole.h5", 8, 0, 8, how, "x", -1.0F);  // one element of its first row is the fill value
  EXPECT_EQ(read("whole.h5").front(), -1.0F);
}

}  // namespace dpreduce::hdf5_written_test
