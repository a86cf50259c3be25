#include "common/base/paths.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/common/data/data_files.hpp"
#include "tests/testing.hpp"

namespace dpreduce::paths_test {

using Paths = std::vector<std::string>;

TEST(Paths, AnArrayPathIsAFileAndPerhapsADataset) {
  const std::vector<std::tuple<std::string, std::string, std::string>> paths = {{"x.npy", "x.npy", ""},
                                                                                {"x.h5:/x", "x.h5", "/x"},
                                                                                {"/a/x.h5:/g/x", "/a/x.h5", "/g/x"},
                                                                                {"x.h5:/g/a:/b", "x.h5", "/g/a:/b"},
                                                                                {"x.h5:x", "x.h5", "/x"},
                                                                                {"x.hdf5:g/x", "x.hdf5", "/g/x"},
                                                                                {"x.npz:a", "x.npz", "a"},
                                                                                {"x.npz:/a", "x.npz", "a"},
                                                                                {"d/x.pt:a:/b", "d/x.pt", "a:/b"},
                                                                                {"t.csv:a,b", "t.csv", "a,b"},
                                                                                {"d/x.h5ad:X", "d/x.h5ad", "/X"},
                                                                                {"x.npz:", "x.npz:", ""},
                                                                                {"x.h5:/", "x.h5:/", ""},
                                                                                {":/x", ":/x", ""},
                                                                                {"a:b.npy", "a:b.npy", ""},
                                                                                {"", "", ""}};
  for (const auto& [path, file, dataset] : paths) {
    EXPECT_EQ(split_array_path(path).file, file) << path;
    EXPECT_EQ(split_array_path(path).dataset, dataset) << path;
  }
}

TEST(Paths, AddressesOfStoresAreNamedAsSuch) {
  for (const std::string path : {"s3://b/x.npy", "gs://b/x*.npy", "https://a/x.npy", "abfss://a@b/x.npy"}) {
    expect_bad_input([&] { expand_paths({path}, 0); }, {path, "is an address", "mount the store"});
  }
  expect_bad_input([&] { expand_paths({"s3://b/x.npy"}, 0); }, {"(aws s3 cp)"});
}

TEST(Paths, PathsOfWindowsAreNamedAsSuch) {
  expect_bad_input([&] { expand_paths({"C:\\data\\x.npy"}, 0); }, {"is a path of Windows", "/mnt/c/data/x.npy"});
  expect_bad_input([&] { expand_paths({"D:/data/x.npy"}, 0); }, {"/mnt/d/data/x.npy"});
  expect_bad_input([&] { expand_paths({"\\\\server\\x.npy"}, 0); }, {"is a path of Windows"});
}

TEST(Paths, GlobsAreSortedAndPatternsKeepTheirOrder) {
  const TemporaryFolder folder;
  for (const std::string name : {"b_2.npy", "b_10.npy", "b_1.npy", "a.npy"}) write_bytes(folder / name, "x");
  EXPECT_EQ(expand_paths({folder / "b_*.npy", folder / "a.npy"}, 0),
            (Paths{folder / "b_1.npy", folder / "b_10.npy", folder / "b_2.npy", folder / "a.npy"}));
  EXPECT_EQ(expand_paths({folder / "[ab]*.npy"}, 0).size(), 4u);
}

TEST(Paths, RankIsReplacedByTheWorkersNumberWhereverItStands) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "silo12");
  write_bytes(folder / "silo12/x_12.npy", "x");
  EXPECT_EQ(expand_paths({folder / "silo{rank}/x_{rank}.npy"}, 12), Paths{folder / "silo12/x_12.npy"});
  EXPECT_EQ(expand_paths({folder / "silo{rank}/*.npy"}, 12), Paths{folder / "silo12/x_12.npy"});
  expect_bad_input([&] { expand_paths({folder / "silo{rank}/x_{rank}.npy"}, 3); }, {"silo3/x_3.npy", "No such file"});
}

TEST(Paths, OnlyTheFilePartOfADatasetPathIsAGlob) {
  const TemporaryFolder folder;
  write_bytes(folder / "x0.h5", "x");
  write_bytes(folder / "x1.h5", "x");
  EXPECT_EQ(expand_paths({folder / "x?.h5:/f*"}, 0), (Paths{folder / "x0.h5:/f*", folder / "x1.h5:/f*"}));
}

TEST(Paths, ANameThatExistsIsNoGlob) {
  const TemporaryFolder folder;
  write_bytes(folder / "x[1].npy", "x");
  write_bytes(folder / "x1.npy", "x");
  EXPECT_EQ(expand_paths({folder / "x[1].npy"}, 0), Paths{folder / "x[1].npy"});
}

TEST(Paths, WhatCannotBeReadIsNamed) {
  const TemporaryFolder folder;
  expect_bad_input([&] { expand_paths({folder / "none.npy"}, 0); }, {"none.npy", "No such file"});
  expect_bad_input([&] { expand_paths({folder / "*.npy"}, 0); }, {"*.npy", "no file matches"});
  expect_bad_input([&] { expand_paths({folder.path()}, 0); }, {folder.path(), "is a directory"});
  write_bytes(folder / "empty.npy", "");
  expect_bad_input([&] { expand_paths({folder / "*.npy"}, 0); }, {"empty.npy", "is empty"});
}

TEST(Paths, AnUnreadableFileIsNamed) {
  const TemporaryFolder folder;
  write_bytes(folder / "x.npy", "x");
  std::filesystem::permissions(folder / "x.npy", std::filesystem::perms::none);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  const bool was_root = ::geteuid() == 0;
  if (was_root) {
    ASSERT_EQ(::seteuid(65534), 0);
  }
  expect_bad_input([&] { expand_paths({folder / "x.npy"}, 0); }, {"x.npy", "Permission denied"});
  if (was_root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
}

TEST(Paths, AFileNamedTwiceIsRefusedUnderWhateverName) {
  const TemporaryFolder folder;
  write_bytes(folder / "x.npy", "x");
  std::filesystem::create_symlink(folder / "x.npy", folder / "link.npy");
  expect_bad_input([&] { expand_paths({folder / "x.npy", folder / "x.npy"}, 0); }, {"x.npy", "given twice"});
  expect_bad_input([&] { expand_paths({folder / "*.npy"}, 0); }, {"given twice"});
  EXPECT_EQ(expand_paths({folder / "x.npy:/a", folder / "x.npy:/b"}, 0).size(), 2u);  // two datasets of one file
}

void write_silos_of(const TemporaryFolder& folder, const std::vector<std::size_t>& numbers) {
  for (const std::size_t number : numbers) {
    const std::string silo = "silo" + std::to_string(number);
    std::filesystem::create_directory(folder / silo);
    write_bytes(folder / (silo + "/x.npy"), "x");
  }
}

TEST(Paths, AFolderOfNoWorkerIsFound) {
  const TemporaryFolder folder;
  write_silos_of(folder, {0, 1, 2, 3});
  const std::string pattern = folder / "silo{rank}/x.npy";
  EXPECT_EQ(file_of_no_worker(pattern, {0, 3}), std::nullopt);
  EXPECT_EQ(file_of_no_worker(pattern, {1, 3}), folder / "silo0/x.npy");  // four silos from 0, but they count from 1
  EXPECT_EQ(file_of_no_worker(pattern, {0, 2}), folder / "silo3/x.npy");
  EXPECT_EQ(file_of_no_worker(pattern, {0, 0}), folder / "silo1/x.npy");
  EXPECT_EQ(file_of_no_worker(folder / "silo{rank}/*.npy", {1, 3}), folder / "silo0/x.npy");
  EXPECT_EQ(file_of_no_worker(folder / "*{rank}/x.npy", {1, 3}), folder / "silo0/x.npy");
  EXPECT_EQ(file_of_no_worker(folder / "silo{rank}/x.h5:/x", {1, 3}), std::nullopt);  // no such files
}

TEST(Paths, AFolderWithoutTheFilesIsNobodysSilo) {
  const TemporaryFolder folder;
  write_silos_of(folder, {1, 2});
  for (const std::string name : {"silo7", "silo03", "silos", "old_silo4"}) {
    std::filesystem::create_directory(folder / name);
    if (name != "silo7") write_bytes(folder / (name + "/x.npy"), "x");
  }
  EXPECT_EQ(file_of_no_worker(folder / "silo{rank}/x.npy", {1, 2}), std::nullopt);
  EXPECT_EQ(file_of_no_worker("x.npy", {1, 2}), std::nullopt);
}

TEST(Paths, OfPlainFilesOnlyNumberZeroIsLeftOutWhereWorkersCountFromOne) {
  const TemporaryFolder folder;
  for (const std::string name : {"x1.npy", "x2.npy", "x2024.npy"}) write_bytes(folder / name, "x");
  EXPECT_EQ(file_of_no_worker(folder / "x{rank}.npy", {1, 2}), std::nullopt);
  write_bytes(folder / "x0.npy", "x");
  EXPECT_EQ(file_of_no_worker(folder / "x{rank}.npy", {1, 2}), folder / "x0.npy");
  EXPECT_EQ(file_of_no_worker(folder / "x{rank}.npy", {0, 2}), std::nullopt);
}

TEST(Paths, RankIsInAllPatternsOrInNone) {
  EXPECT_TRUE(paths_are_per_worker({"a{rank}.npy", "b{rank}.npy"}));
  EXPECT_FALSE(paths_are_per_worker({"a.npy", "b*.npy"}));
  EXPECT_FALSE(paths_are_per_worker({}));
  EXPECT_THROW(paths_are_per_worker({"a{rank}.npy", "b.npy"}), UsageError);
}

}  // namespace dpreduce::paths_test
