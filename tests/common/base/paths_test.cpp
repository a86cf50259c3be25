#include "common/base/paths.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/common/data/data_files.hpp"
#include "tests/testing.hpp"

namespace dpreduce::paths_test {

using Paths = std::vector<std::string>;

class PathsTest : public testing::Test {
 protected:
  void write(const std::vector<std::string>& names) const {
    for (const std::string& name : names) write_bytes(folder_ / name, "x");
  }

  void write_silos(const std::vector<std::string>& names) const {
    for (const std::string& name : names) {
      std::filesystem::create_directory(folder_ / name);
      write({name + "/x.npy"});
    }
  }

  const TemporaryFolder folder_;
};

TEST_F(PathsTest, AnArrayPathIsAFileAndPerhapsADataset) {
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

TEST_F(PathsTest, AddressesOfStoresAndPathsOfWindowsAreNamedAsSuch) {
  for (const std::string path : {"s3://b/x.npy", "gs://b/x*.npy", "https://a/x.npy", "abfss://a@b/x.npy"}) {
    expect_bad_input([&] { expand_paths({path}, 0); }, {path, "is an address", "mount the store"});
  }
  expect_bad_input([&] { expand_paths({"s3://b/x.npy"}, 0); }, {"(aws s3 cp)"});
  expect_bad_input([&] { expand_paths({"C:\\data\\x.npy"}, 0); }, {"is a path of Windows", "/mnt/c/data/x.npy"});
  expect_bad_input([&] { expand_paths({"D:/data/x.npy"}, 0); }, {"/mnt/d/data/x.npy"});
  expect_bad_input([&] { expand_paths({"\\\\server\\x.npy"}, 0); }, {"is a path of Windows"});
}

TEST_F(PathsTest, GlobsAreOfFilesAndSortedAndPatternsKeepTheirOrder) {
  write({"b_2.npy", "b_10.npy", "b_1.npy", "a.npy"});
  EXPECT_EQ(expand_paths({folder_ / "b_*.npy", folder_ / "a.npy"}, 0),
            (Paths{folder_ / "b_1.npy", folder_ / "b_10.npy", folder_ / "b_2.npy", folder_ / "a.npy"}));
  EXPECT_EQ(expand_paths({folder_ / "[ab]*.npy"}, 0).size(), 4u);
  write({"x0.h5", "x1.h5"});
  EXPECT_EQ(expand_paths({folder_ / "x?.h5:/f*"}, 0), (Paths{folder_ / "x0.h5:/f*", folder_ / "x1.h5:/f*"}));
  write({"x[1].npy", "x1.npy"});
  EXPECT_EQ(expand_paths({folder_ / "x[1].npy"}, 0), Paths{folder_ / "x[1].npy"});
}

TEST_F(PathsTest, RankIsReplacedByTheWorkersNumberInAllPatternsOrInNone) {
  std::filesystem::create_directory(folder_ / "silo12");
  write({"silo12/x_12.npy"});
  EXPECT_EQ(expand_paths({folder_ / "silo{rank}/x_{rank}.npy"}, 12), Paths{folder_ / "silo12/x_12.npy"});
  EXPECT_EQ(expand_paths({folder_ / "silo{rank}/*.npy"}, 12), Paths{folder_ / "silo12/x_12.npy"});
  expect_bad_input([&] { expand_paths({folder_ / "silo{rank}/x_{rank}.npy"}, 3); }, {"silo3/x_3.npy", "No such file"});
  EXPECT_TRUE(paths_are_per_worker({"a{rank}.npy", "b{rank}.npy"}));
  EXPECT_FALSE(paths_are_per_worker({"a.npy", "b*.npy"}));
  EXPECT_FALSE(paths_are_per_worker({}));
  EXPECT_THROW(paths_are_per_worker({"a{rank}.npy", "b.npy"}), UsageError);
}

TEST_F(PathsTest, WhatCannotBeReadIsNamed) {
  expect_bad_input([&] { expand_paths({folder_ / "none.npy"}, 0); }, {"none.npy", "No such file"});
  expect_bad_input([&] { expand_paths({folder_ / "*.npy"}, 0); }, {"*.npy", "no file matches"});
  expect_bad_input([&] { expand_paths({folder_.path()}, 0); },
                   {folder_.path(), "is a directory; name the files in it"});
  write_bytes(folder_ / "empty.npy", "");
  expect_bad_input([&] { expand_paths({folder_ / "*.npy"}, 0); }, {"empty.npy", "is empty"});
  write({"x.npy"});
  std::filesystem::permissions(folder_ / "x.npy", std::filesystem::perms::none);
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  const bool was_root = ::geteuid() == 0;
  if (was_root) {
    ASSERT_EQ(::seteuid(65534), 0);
  }
  expect_bad_input([&] { expand_paths({folder_ / "x.npy"}, 0); }, {"x.npy", "Permission denied"});
  if (was_root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
}

TEST_F(PathsTest, AFileNamedTwiceIsRefusedUnderWhateverName) {
  write({"x.npy"});
  std::filesystem::create_symlink(folder_ / "x.npy", folder_ / "link.npy");
  expect_bad_input([&] { expand_paths({folder_ / "x.npy", folder_ / "x.npy"}, 0); }, {"x.npy", "given twice"});
  expect_bad_input([&] { expand_paths({folder_ / "*.npy"}, 0); }, {"link.npy and ", "x.npy are the same file"});
  EXPECT_EQ(expand_paths({folder_ / "x.npy:/a", folder_ / "x.npy:/b"}, 0).size(), 2u);  // two datasets of one file
}

TEST_F(PathsTest, AFolderOfNoWorkerIsFound) {
  write_silos({"silo0", "silo1", "silo2", "silo3"});
  const std::string pattern = folder_ / "silo{rank}/x.npy";
  EXPECT_EQ(file_of_no_worker(pattern, {0, 3}), std::nullopt);
  EXPECT_EQ(file_of_no_worker(pattern, {1, 3}), folder_ / "silo0/x.npy");  // four silos from 0, but they count from 1
  EXPECT_EQ(file_of_no_worker(pattern, {0, 2}), folder_ / "silo3/x.npy");
  EXPECT_EQ(file_of_no_worker(pattern, {0, 0}), folder_ / "silo1/x.npy");
  EXPECT_EQ(file_of_no_worker(folder_ / "silo{rank}/*.npy", {1, 3}), folder_ / "silo0/x.npy");
  EXPECT_EQ(file_of_no_worker(folder_ / "*{rank}/x.npy", {1, 3}), folder_ / "silo0/x.npy");
  EXPECT_EQ(file_of_no_worker(folder_ / "silo{rank}/x.h5:/x", {1, 3}), std::nullopt);  // no such files
}

TEST_F(PathsTest, AFolderWithoutTheFilesIsNobodysSilo) {
  write_silos({"silo1", "silo2", "silo03", "silos", "old_silo4"});
  std::filesystem::create_directory(folder_ / "silo7");
  EXPECT_EQ(file_of_no_worker(folder_ / "silo{rank}/x.npy", {1, 2}), std::nullopt);
  EXPECT_EQ(file_of_no_worker("x.npy", {1, 2}), std::nullopt);
}

TEST_F(PathsTest, OfPlainFilesOnlyNumberZeroIsLeftOutWhereWorkersCountFromOne) {
  write({"x1.npy", "x2.npy", "x2024.npy"});
  EXPECT_EQ(file_of_no_worker(folder_ / "x{rank}.npy", {1, 2}), std::nullopt);
  write({"x0.npy"});
  EXPECT_EQ(file_of_no_worker(folder_ / "x{rank}.npy", {1, 2}), folder_ / "x0.npy");
  EXPECT_EQ(file_of_no_worker(folder_ / "x{rank}.npy", {0, 2}), std::nullopt);
}

}  // namespace dpreduce::paths_test
