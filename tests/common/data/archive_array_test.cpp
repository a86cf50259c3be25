// Files that NumPy has written, and two of PyTorch (tests/fuzz/corpus/archive): features are 0, 1, ... 5 in three rows,
// labels 0, 2, 1.
#include "common/data/array_formats.hpp"
#include "common/data/safetensors.hpp"
#include "common/data/sharded_array.hpp"
#include "tests/common/data/array_reads.hpp"

namespace dpreduce::archive_array_test {

std::string archive(const std::string& name) {
  return std::string(DPREDUCE_ARCHIVES) + "/" + name;
}

TEST(ArchiveArray, ReadsTheArraysOfNumPy) {
  for (const char* const file :
       {"one.npz", "one.npz:arr_0", "two.npz:features", "two.npz:/features", "packed.npz:features"}) {
    const auto array = open_array(archive(file));
    EXPECT_EQ(array->shape(), (Shape{3, 2})) << file;
    EXPECT_EQ(all_features(*array), counted(6)) << file;
  }
  for (const char* const file : {"two.npz:labels", "packed.npz:labels"}) {
    EXPECT_EQ(all_labels(*open_array(archive(file)), 3), (std::vector<std::int32_t>{0, 2, 1})) << file;
  }
}

TEST(ArchiveArray, AnArrayIsReadWhereItLiesButForOneThatIsPacked) {
  const auto plain = open_array(archive("two.npz:features"));
  const auto packed = open_array(archive("packed.npz:features"));
  EXPECT_EQ(plain->features_in_place(0, 3).size(), 6u);
  EXPECT_TRUE(plain->is_cheap_to_keep_open());
  EXPECT_FALSE(packed->is_cheap_to_keep_open());
  EXPECT_EQ(plain->held_bytes(), 0u);
  EXPECT_GE(packed->held_bytes(), 6 * sizeof(float));
}

TEST(ArchiveArray, WhatIsNoArrayIsRefusedWithACure) {
  const std::pair<const char*, const char*> refused[] = {
      {"two.npz", "has several arrays; it has \"features\", \"labels\": name one, as in"},
      {"two.npz:x", "there is no array \"x\"; it has \"features\", \"labels\""},
      {"tensor.pt", "tensor.pt', map_location='cpu', weights_only=True).numpy())"},
      {"several.pt:features", "several.pt', map_location='cpu', weights_only=True)['features'].numpy())"},
      {"cut.npz", "damaged zip file"},
      {"cut_front.npz", "was cut short; write or copy it again"},
      {"empty.npz", "has no array"},
      {"bzip.npz", "packed by another method than deflate"},
      {"packed_damaged.npz:features", "fails its checksum"}};
  for (const auto& row : refused) {
    SCOPED_TRACE(row.first);
    expect_bad_input([&] { open_array(archive(row.first)); }, {row.second});
  }
}

TEST(ArchiveArray, FilesOfOtherFormatsAreNamedWithTheWayToConvertThem) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& name, const std::string& bytes, const std::string& message) {
    SCOPED_TRACE(name);
    write_bytes(folder / name, bytes);
    expect_bad_input([&] { open_array(folder / name, ArrayRole::kFeatures); }, {folder / name, message});
  };
  refused("x.parquet", "PAR1....", "is a Parquet file; convert it: numpy.save(");
  refused("x.arrow", "ARROW1..", "pandas.read_feather(");
  refused("x.feather", "FEA1....", "pandas.read_feather(");
  refused("x.pkl", "\x80\x02....", "is a Python pickle, which is never read");
  refused("y.pkl", "cnumpy.core.multiarray\n_reconstruct", "is a Python pickle, which is never read");
  refused("x.npy.gz", "\x1f\x8b....", "unpack it with gunzip");
  refused("x.csv", "\x1f\x8b....", "unpack it with gunzip");
  refused("x.zst", "\x28\xb5\x2f\xfd....", "unpack it with unzstd");
  refused("x.bz2", "BZh9....", "unpack it with bunzip2");
  refused("x.xz", std::string("\xfd\x37zXZ\0....", 10), "unpack it with unxz");
  refused("x.tar", std::string(257, '\0') + "ustar", "is a tar archive; unpack it with tar xf");
  refused("x.mat", "MATLAB 5.0 MAT-file, Platform: GLNXA64", "scipy.io.loadmat(");
  refused("x.png", "\x89PNG\r\n", "is a picture; an encoder makes features");
  refused("x.jpg", "\xff\xd8\xff\xe0", "is a picture; an encoder makes features");
  refused("x.pdf", "%PDF-1.7", "is a PDF document");
  refused("x.db", std::string("SQLite format 3\0", 16), "is an SQLite database; export a table as .csv");
  refused("x.xls", "\xd0\xcf\x11\xe0\xa1", "save the sheet as .csv");
  refused("x.tsv", "1\t2\n", "tables with commas named .csv, and HDF5");
  refused("y.csv", "a;b\n1;2\n", "separate cells by commas");
  refused("x.json", "[[1, 2]]", "tables with commas named .csv, and HDF5");
  refused("x.safetensors", "{}", "too few for a safetensors file");
  write_bytes(folder / "x.pt", "\x80\x02....");
  expect_bad_input([&] { open_array((folder / "x.pt") + ":x"); }, {"is not a zip file"});
}

TEST(ArchiveArray, TensorsOfASafetensorsFileAreRead) {
  const TemporaryFolder folder;
  const std::string path = folder / "f.safetensors";
  SafetensorsFile file;
  file.tensors["x"] = make_tensor(std::vector<double>{0.5, -1.0, 2.0, 4.0, 8.0, 16.0}, {2, 3});
  file.tensors["y"] = make_tensor(std::vector<std::int64_t>{1, 0}, {2});
  file.tensors["a"] = make_tensor(std::vector<std::int16_t>{7, 7, 7}, {3});
  const std::vector<std::byte> bytes = serialize(file);
  write_bytes(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const auto x = open_array(path + ":x", ArrayRole::kFeatures);
  const auto y = open_array(path + ":y");
  EXPECT_EQ(all_features(*x), (std::vector<float>{0.5F, -1.0F, 2.0F, 4.0F, 8.0F, 16.0F}));
  EXPECT_EQ(all_labels(*y, 2), (std::vector<std::int32_t>{1, 0}));
  EXPECT_FALSE(is_same_array(x->identity(), y->identity()));
  expect_bad_input([&] { open_array(path); }, {path, "has several arrays; it has \"a\", \"x\", \"y\""});
  expect_bad_input([&] { open_array(path + ":z"); }, {"there is no array \"z\""});

  const auto write_tensor = [&](const char* type, const char* shape, const std::string& elements) {
    const std::string header =
        fmt::format(R"({{"y":{{"data_offsets":[0,{}],"dtype":"{}","shape":{}}}}})", elements.size(), type, shape);
    write_bytes(path, std::string({static_cast<char>(header.size()), 0, 0, 0, 0, 0, 0, 0}) + header + elements);
  };
  for (const auto& [type, size] : {std::pair{"BOOL", 2U}, {"I8", 2U}, {"U16", 4U}, {"U32", 8U}}) {
    std::string elements(size, '\0');
    elements[0] = 1;
    write_tensor(type, "[2]", elements);
    EXPECT_EQ(all_labels(*open_array(path), 2), (std::vector<std::int32_t>{1, 0})) << type;
  }
  write_tensor("BF16", "[1,2]", "....");
  expect_bad_input([&] { open_array(path); }, {path, "BF16, which is not read; convert it: tensor.float()"});
}

TEST(ArchiveArray, TwoArraysOfAFileAreTwoAndOneIsOne) {
  EXPECT_NO_THROW(ShardedArray({archive("two.npz:features"), archive("one.npz")}, ArrayRole::kFeatures));
  const std::vector<std::string> one_twice{archive("one.npz"), archive("one.npz:arr_0")};
  expect_bad_input([&] { ShardedArray(one_twice, ArrayRole::kFeatures); }, {"are the same file"});
}

}  // namespace dpreduce::archive_array_test
