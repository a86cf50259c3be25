// Rows that HDF5 would fill in by itself are refused, wherever they are missing.
#include "common/data/hdf5_written.hpp"

#include <hdf5.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/data/array_formats.hpp"
#include "tests/common/data/array_reads.hpp"

namespace dpreduce::hdf5_written_test {

constexpr hsize_t kRows = 8;
constexpr hsize_t kDim = 2;

class Hdf5WrittenTest : public testing::Test {
 protected:
  Hdf5Handle file(const std::string& name) const {
    const std::string path = folder_ / name;
    return std::filesystem::exists(path) ? Hdf5Handle(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT))
                                         : Hdf5Handle(H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT));
  }

  static Hdf5Handle creation() { return Hdf5Handle(H5Pcreate(H5P_DATASET_CREATE)); }

  static Hdf5Handle chunked(hsize_t rows, hsize_t columns = kDim) {
    Hdf5Handle how = creation();
    const hsize_t chunk[] = {rows, columns};
    H5Pset_chunk(how.get(), 2, chunk);
    return how;
  }

  static Hdf5Handle new_dataset(const Hdf5Handle& out, const Hdf5Handle& space, const Hdf5Handle& how,
                                const std::string& name = "x") {
    Hdf5Handle dataset(
        H5Dcreate2(out.get(), name.c_str(), H5T_NATIVE_FLOAT, space.get(), H5P_DEFAULT, how.get(), H5P_DEFAULT));
    EXPECT_TRUE(dataset.is_valid());
    return dataset;
  }

  static Hdf5Handle space_of(hsize_t rows) {
    const hsize_t extents[] = {rows, kDim};
    return Hdf5Handle(H5Screate_simple(2, extents, nullptr));
  }

  static Hdf5Handle rows_of(hsize_t all, hsize_t first, hsize_t count) {
    Hdf5Handle space = space_of(all);
    const hsize_t start[] = {first, 0};
    const hsize_t extent[] = {count, kDim};
    EXPECT_GE(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start, nullptr, extent, nullptr), 0);
    return space;
  }

  static Hdf5Handle space_without_end() {
    const hsize_t none[] = {0, kDim};
    const hsize_t most[] = {H5S_UNLIMITED, kDim};
    return Hdf5Handle(H5Screate_simple(2, none, most));
  }

  // A creation that takes `taken` of the dataset x of `source` where a virtual dataset has `covered`.
  static void map(const Hdf5Handle& how, const Hdf5Handle& covered, const std::string& source, const Hdf5Handle& taken,
                  const std::string& dataset = "x") {
    ASSERT_GE(H5Pset_virtual(how.get(), covered.get(), source.c_str(), dataset.c_str(), taken.get()), 0);
  }

  // So many rows from each `step`-th on, of which `first` is one, without an end.
  static Hdf5Handle rows_without_end(hsize_t first, hsize_t step, hsize_t rows) {
    Hdf5Handle space = space_without_end();
    const hsize_t start[] = {first, 0};
    const hsize_t stride[] = {step, 1};
    const hsize_t count[] = {H5S_UNLIMITED, 1};
    const hsize_t block[] = {rows, kDim};
    EXPECT_GE(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start, stride, count, block), 0);
    return space;
  }

  // A dataset of so many rows, of which those from `first` on are written: element k of them is base + k.
  void write(const std::string& name, hsize_t rows, hsize_t first, hsize_t count, const Hdf5Handle& how = creation(),
             const std::string& dataset_name = "x", float base = 1.0F) const {
    const Hdf5Handle out = file(name);
    const Hdf5Handle space = space_of(rows);
    const Hdf5Handle dataset = new_dataset(out, space, how, dataset_name);
    if (count == 0) return;
    const std::vector<float> values = counted(count * kDim, base);
    const Hdf5Handle in_memory = space_of(count);
    const Hdf5Handle in_file = rows_of(rows, first, count);
    ASSERT_GE(H5Dwrite(dataset.get(), H5T_NATIVE_FLOAT, in_memory.get(), in_file.get(), H5P_DEFAULT, values.data()), 0);
  }

  struct Mapping {
    hsize_t first;  // row of the virtual dataset
    hsize_t count;
    std::string source;
    hsize_t source_rows = kRows;  // of which the first ones are taken
    std::string dataset = "x";
  };

  void write_virtual(const std::string& name, const std::vector<Mapping>& mappings) const {
    const Hdf5Handle how = creation();
    for (const Mapping& mapping : mappings) {
      map(how, rows_of(kRows, mapping.first, mapping.count), mapping.source,
          rows_of(mapping.source_rows, 0, mapping.count), mapping.dataset);
    }
    write(name, kRows, 0, 0, how);
  }

  // A dataset x of one dimension.
  void write_vector(const std::string& name, const std::vector<float>& values) const {
    const hsize_t length = values.size();
    const Hdf5Handle out = file(name);
    const Hdf5Handle space(H5Screate_simple(1, &length, nullptr));
    const Hdf5Handle dataset = new_dataset(out, space, creation());
    ASSERT_GE(H5Dwrite(dataset.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
  }

  std::vector<float> read(const std::string& name) const { return all_features(*open_hdf5(folder_ / name, "/x")); }

  void expect_missing(const std::string& name, const std::vector<std::string>& said) const {
    std::vector<std::string> parts = said;
    parts.insert(parts.end(), {name + ":/x", "never written"});
    expect_bad_input([&] { read(name); }, parts);
  }

  // How a process that does that work ends.
  static int end_of_process(const std::function<void()>& work) {
    const pid_t job = ::fork();
    if (job == 0) {
      work();
      ::_exit(0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(job, &status, 0), job);
    return status;
  }

  const TemporaryFolder folder_;
};

TEST_F(Hdf5WrittenTest, AVirtualDatasetOfSourcesThatAreThereIsRead) {
  write("a.h5", 4, 0, 4);
  write("b.h5", 4, 0, 4, creation(), "x", 9.0F);
  write_virtual("virtual.h5", {{0, 4, "a.h5", 4}, {4, 4, "b.h5", 4}});
  write_virtual("nested.h5", {{0, 8, "virtual.h5"}});
  const std::vector<float> expected = counted(kRows * kDim, 1.0F);
  EXPECT_EQ(read("virtual.h5"), expected);
  EXPECT_EQ(read("nested.h5"), expected);
  write("one.h5", 8, 0, 8, creation(), "source");
  write_virtual("one.h5", {{0, 8, ".", 8, "source"}});
  EXPECT_EQ(read("one.h5"), expected) << "of its own file";
}

// As h5py's manual has it: layout[n] = VirtualSource("n.h5", "x", shape=(2,)), whose selection is all of the source.
TEST_F(Hdf5WrittenTest, AVirtualDatasetOfWholeSourcesIsRead) {
  const hsize_t length = kDim;
  const Hdf5Handle whole(H5Screate_simple(1, &length, nullptr));
  const Hdf5Handle how = creation();
  for (hsize_t row = 0; row < kRows; ++row) {
    write_vector(std::to_string(row) + ".h5", {1.0F, static_cast<float>(row)});
    map(how, rows_of(kRows, row, 1), std::to_string(row) + ".h5", whole);
  }
  write("virtual.h5", kRows, 0, 0, how);
  const std::vector<float> values = read("virtual.h5");
  for (hsize_t row = 0; row < kRows; ++row) EXPECT_EQ(values[row * kDim + 1], static_cast<float>(row));

  std::filesystem::remove(folder_ / "3.h5");
  expect_missing("virtual.h5", {"source 3.h5:x", "is missing"});
  for (const std::size_t size : {1, 3}) {
    write_vector("3.h5", counted(size, 1.0F));
    expect_missing("virtual.h5", {"source 3.h5:x", "has another size"});
    std::filesystem::remove(folder_ / "3.h5");
  }
}

TEST_F(Hdf5WrittenTest, AMappingOfAllOnAllIsRead) {
  write("a.h5", kRows, 0, kRows);
  const Hdf5Handle all = space_of(kRows);
  const Hdf5Handle how = creation();
  map(how, all, "a.h5", all);
  write("virtual.h5", kRows, 0, 0, how);
  EXPECT_EQ(read("virtual.h5").back(), 16.0F);
}

TEST_F(Hdf5WrittenTest, AVirtualDatasetThatLacksRowsIsRefused) {
  write("four.h5", 4, 0, 4);
  write("six.h5", 6, 0, 6);
  write("eight.h5", 8, 0, 8);
  struct Case {
    std::string name;
    std::vector<Mapping> mappings;
    std::vector<std::string> said;
  };
  const Case cases[] = {
      {"source.h5", {{0, 4, "four.h5", 4}, {4, 4, "gone.h5", 4}}, {"gone.h5:x", "is missing"}},
      {"nested.h5", {{0, 8, "source.h5"}}, {"in the source source.h5:x", "gone.h5:x", "is missing"}},
      {"dataset.h5", {{0, 8, "eight.h5", 8, "other"}}, {"eight.h5:other", "is missing"}},
      {"small.h5", {{0, 8, "six.h5"}}, {"six.h5:x", "has another size"}},
      {"gap.h5", {{0, 3, "four.h5", 4}, {5, 3, "four.h5", 4}}, {"no source of the virtual dataset has rows 3 to 4"}},
  };
  for (const Case& virtual_dataset : cases) {
    SCOPED_TRACE(virtual_dataset.name);
    write_virtual(virtual_dataset.name, virtual_dataset.mappings);
    expect_missing(virtual_dataset.name, virtual_dataset.said);
  }
}

TEST_F(Hdf5WrittenTest, ASourceIsNeededWhole) {
  write("a.h5", 20, 0, 8, chunked(2));
  write_virtual("virtual.h5", {{0, 8, "a.h5", 20}});
  expect_missing("virtual.h5", {"in the source a.h5:x: 4 of its 10 chunks are there"});
  write("b.h5", 20, 0, 20, chunked(2));
  write_virtual("part.h5", {{0, 8, "b.h5", 20}});
  EXPECT_EQ(read("part.h5").back(), 16.0F);
}

TEST_F(Hdf5WrittenTest, AMappingWithoutAnEndIsReadAsFarAsAllSourcesGo) {
  for (const auto& [name, rows] : {std::pair{"even", hsize_t{8}}, std::pair{"short", hsize_t{6}}}) {
    SCOPED_TRACE(name);
    const Hdf5Handle how = creation();
    for (const hsize_t parity : {0, 1}) {  // rows of two sources by turns
      const std::string source = fmt::format("{}{}.h5", name, parity);
      const hsize_t in_source = parity == 0 ? 8 : rows;
      write(source, in_source, 0, in_source);
      map(how, rows_without_end(parity, 2, 1), source, rows_without_end(0, 1, 1));
    }
    new_dataset(file(fmt::format("{}.h5", name)), space_without_end(), how);
  }
  EXPECT_EQ(read("even.h5").size(), 16 * kDim);
  expect_missing("short.h5", {"ends too early"});
}

// "%b" is the number of a block: sources are found by their names as far as there are any.
TEST_F(Hdf5WrittenTest, SourcesOfAPatternAreLookedAtOneByOne) {
  const Hdf5Handle how = creation();
  map(how, rows_without_end(0, 4, 4), "part%b.h5", rows_of(4, 0, 4));
  write("part0.h5", 4, 0, 4, chunked(2));
  write("part1.h5", 4, 0, 4, chunked(2), "x", 9.0F);
  new_dataset(file("virtual.h5"), space_without_end(), how);
  EXPECT_EQ(read("virtual.h5").back(), 16.0F);
  write("part2.h5", 4, 0, 2, chunked(2));
  expect_missing("virtual.h5", {"in the source part2.h5:x: 1 of its 2 chunks are there"});
}

TEST_F(Hdf5WrittenTest, AChunkThatWasNeverWrittenIsRefused) {
  const Hdf5Handle how = chunked(3, 1);
  H5Pset_deflate(how.get(), 1);
  write("whole.h5", 8, 0, 8, how);
  EXPECT_EQ(read("whole.h5").back(), 16.0F);
  write("part.h5", 8, 0, 5, how);
  expect_missing("part.h5", {"4 of its 6 chunks are there"});
  write("none.h5", 8, 0, 0, how);
  expect_missing("none.h5", {"0 of its 6 chunks are there"});
  write("nothing.h5", 8, 0, 0);
  expect_missing("nothing.h5", {"nothing was written to it"});
  write("no_rows.h5", 0, 0, 0);
  EXPECT_TRUE(read("no_rows.h5").empty());
}

TEST_F(Hdf5WrittenTest, ADamagedLengthOfChunksIsRefused) {
  write("x.h5", 8, 0, 8, chunked(4));
  std::string damaged = read_bytes(folder_ / "x.h5");
  const std::size_t chunk = damaged.find(std::string{"\4\0\0\0\2\0\0\0\4\0\0\0", 12});
  ASSERT_NE(chunk, std::string::npos);
  damaged[chunk + 4] = 100;
  write_bytes(folder_ / "x.h5", damaged);
  expect_missing("x.h5", {"its chunks are larger than it may become"});
}

// A job that writes chunk after chunk is killed half-way: its file is whole to HDF5.
TEST_F(Hdf5WrittenTest, AJobThatWasKilledHalfWayLeavesADatasetThatIsRefused) {
  for (const std::string name : {"plain.h5", "gzip.h5"}) {
    const int status = end_of_process([&] {
      const Hdf5Handle how = chunked(1);
      if (name == "gzip.h5") H5Pset_deflate(how.get(), 1);
      const Hdf5Handle out = file(name);
      const Hdf5Handle dataset = new_dataset(out, space_of(kRows), how);
      const Hdf5Handle in_memory = space_of(1);
      const std::vector<float> values(kDim, 1.0F);
      for (hsize_t row = 0; row < kRows / 2; ++row) {
        const Hdf5Handle in_file = rows_of(kRows, row, 1);
        H5Dwrite(dataset.get(), H5T_NATIVE_FLOAT, in_memory.get(), in_file.get(), H5P_DEFAULT, values.data());
      }
      H5Fflush(out.get(), H5F_SCOPE_GLOBAL);
      ::kill(::getpid(), SIGKILL);
    });
    EXPECT_TRUE(WIFSIGNALED(status));
    expect_missing(name, {"4 of its 8 chunks are there"});
  }
}

// In the newest format a file has a mark while it is open to be written, which a crash leaves there.
TEST_F(Hdf5WrittenTest, AFileThatIsOpenInAWriterIsRefusedAsThat) {
  const std::string path = folder_ / "open.h5";
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_libver_bounds(access.get(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  end_of_process([&] {
    const Hdf5Handle out(H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, access.get()));
    H5Fflush(out.get(), H5F_SCOPE_GLOBAL);
    ::kill(::getpid(), SIGKILL);
  });
  write_virtual("virtual.h5", {{0, kRows, "open.h5"}});
  for (const std::string name : {"open.h5", "virtual.h5"}) {
    EXPECT_THAT(refusal<BadInput>([&] { read(name); }),
                AllOf(HasSubstr(path + ": is open for writing in another program; close it there"),
                      Not(HasSubstr("write it again")), Not(HasSubstr("write the file again"))));
  }
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
  expect_missing("external.h5", {"raw", "is missing"});
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
