// Files that NumPy has written, and two of PyTorch (tests/fuzz/corpus/archive): features are 0, 1, ... 5 in three rows,
// labels 0, 2, 1.
#include <sys/stat.h>

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
    EXPECT_EQ(all_features(*array), (std::vector<float>{0, 1, 2, 3, 4, 5})) << file;
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
  const std::pair<const char*, const char*> kRefused[] = {
      {"two.npz", "has several arrays; it has \"features\", \"labels\": name one, as in"},
      {"two.npz:x", "there is no array \"x\"; it has \"features\", \"labels\""},
      {"tensor.pt", "tensor.pt', map_location='cpu', weights_only=True).numpy())"},
      {"several.pt:features", "several.pt', map_location='cpu', weights_only=True)['features'].numpy())"},
      {"cut.npz", "damaged zip file"},
      {"cut_front.npz", "was cut short; write or copy it again"},
      {"empty.npz", "has no array"},
      {"bzip.npz", "packed by another method than deflate"},
      {"packed_damaged.npz:features", "fails its checksum"}};
  for (const auto& [name, message] : kRefused) {
    SCOPED_TRACE(name);
    const std::string path = archive(name);
    expect_bad_input([&] { open_array(path); }, {message});
  }
}

TEST(ArchiveArray, FilesOfOtherFormatsAreNamedWithTheWayToConvertThem) {
  const TemporaryFolder folder;
  struct Kind {
    const char* name;
    std::string bytes;
    const char* message;
  };
  const Kind kKinds[] = {
      {"x.parquet", "PAR1....", "is a Parquet file; convert it: numpy.save("},
      {"x.arrow", "ARROW1..", "pandas.read_feather("},
      {"x.feather", "FEA1....", "pandas.read_feather("},
      {"x.pkl", "\x80\x02....", "is a Python pickle, which is never read"},
      {"y.pkl", "cnumpy.core.multiarray\n_reconstruct", "is a Python pickle, which is never read"},
      {"x.npy.gz", "\x1f\x8b....", "unpack it with gunzip"},
      {"x.csv", "\x1f\x8b....", "unpack it with gunzip"},
      {"x.zst", "\x28\xb5\x2f\xfd....", "unpack it with unzstd"},
      {"x.bz2", "BZh9....", "unpack it with bunzip2"},
      {"x.xz", std::string("\xfd\x37zXZ\0....", 10), "unpack it with unxz"},
      {"x.tar", std::string(257, '\0') + "ustar", "is a tar archive; unpack it with tar xf"},
      {"x.mat", "MATLAB 5.0 MAT-file, Platform: GLNXA64", "scipy.io.loadmat("},
      {"x.png", "\x89PNG\r\n", "is a picture; an encoder makes features"},
      {"x.jpg", "\xff\xd8\xff\xe0", "is a picture; an encoder makes features"},
      {"x.pdf", "%PDF-1.7", "is a PDF document"},
      {"x.db", std::string("SQLite format 3\0", 16), "is an SQLite database; export a table as .csv"},
      {"x.xls", "\xd0\xcf\x11\xe0\xa1", "save the sheet as .csv"},
      {"x.tsv", "1\t2\n", "tables with commas named .csv, and HDF5"},
      {"y.csv", "a;b\n1;2\n", "separate cells by commas"},
      {"x.json", "[[1, 2]]", "tables with commas named .csv, and HDF5"},
      {"x.safetensors", "{}", "too few for a safetensors file"}};
  for (const Kind& kind : kKinds) {
    write_bytes(folder / kind.name, kind.bytes);
    expect_bad_input([&] { open_array(folder / kind.name, ArrayRole::kFeatures); }, {folder / kind.name, kind.message});
  }
  write_bytes(folder / "x.pt", "\x80\x02....");
  expect_bad_input([&] { open_array((folder / "x.pt") + ":x"); }, {"is not a zip file"});
  ASSERT_EQ(::mkfifo((folder / "x.fifo").c_str(), 0600), 0);
  expect_bad_input([&] { open_array(folder / "x.fifo"); }, {"is not a regular file"});
}

TEST(ArchiveArray, TensorsOfASafetensorsFileAreRead) {
  const TemporaryFolder folder;
  const std::vector<double> entries = {0.5, -1.0, 2.0, 4.0, 8.0, 16.0};
  const std::vector<std::int64_t> classes = {1, 0};
  const std::vector<std::int16_t> odd = {7, 7, 7};
  SafetensorsFile file;
  file.tensors["x"] = make_tensor(entries, {2, 3});
  file.tensors["y"] = make_tensor(classes, {2});
  file.tensors["a"] = make_tensor(odd, {3});
  const std::vector<std::byte> bytes = serialize(file);
  const std::string path = folder / "f.safetensors";
  write_bytes(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});

  const auto x = open_array(path + ":x", ArrayRole::kFeatures);
  const auto y = open_array(path + ":y");
  EXPECT_EQ(all_features(*x), (std::vector<float>{0.5F, -1.0F, 2.0F, 4.0F, 8.0F, 16.0F}));
  EXPECT_EQ(all_labels(*y, 2), (std::vector<std::int32_t>{1, 0}));
  EXPECT_FALSE(is_same_array(x->identity(), y->identity()));

  const std::pair<const char*, std::string> others[] = {{"BOOL", std::string("\1\0", 2)},
                                                        {"I8", std::string("\1\0", 2)},
                                                        {"U16", std::string("\1\0\0\0", 4)},
                                                        {"U32", std::string("\1\0\0\0\0\0\0\0", 8)}};
  for (const auto& [type, elements] : others) {
    std::string text =
        fmt::format(R"({{"y":{{"data_offsets":[0,{}],"dtype":"{}","shape":[2]}}}})", elements.size(), type);
    text.insert(0, std::string({static_cast<char>(text.size()), 0, 0, 0, 0, 0, 0, 0}));
    write_bytes(folder / "others.safetensors", text + elements);
    EXPECT_EQ(all_labels(*open_array(folder / "others.safetensors"), 2), (std::vector<std::int32_t>{1, 0})) << type;
  }

  expect_bad_input([&] { open_array(path); }, {path, "has several arrays; it has \"a\", \"x\", \"y\""});
  expect_bad_input([&] { open_array(path + ":z"); }, {"there is no array \"z\""});
  std::string bfloats = R"({"x":{"data_offsets":[0,4],"dtype":"BF16","shape":[1,2]}})";
  bfloats.insert(0, std::string({static_cast<char>(bfloats.size()), 0, 0, 0, 0, 0, 0, 0}));
  write_bytes(path, bfloats + "....");
  expect_bad_input([&] { open_array(path); }, {path, "BF16, which is not read; convert it: tensor.float()"});
}

TEST(ArchiveArray, TwoArraysOfAFileAreTwoAndOneIsOne) {
  EXPECT_NO_THROW(ShardedArray({archive("two.npz:features"), archive("one.npz")}, ArrayRole::kFeatures));
  const std::vector<std::string> one_twice{archive("one.npz"), archive("one.npz:arr_0")};
  expect_bad_input([&] { ShardedArray(one_twice, ArrayRole::kFeatures); }, {"are the same file"});
}

}  // namespace dpreduce::archive_array_test
