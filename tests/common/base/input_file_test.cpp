#include "common/base/input_file.hpp"

#include <sys/sysmacros.h>

#include "tests/common/data/data_files.hpp"
#include "tests/testing.hpp"

namespace dpreduce::input_file_test {

const std::uint64_t kDisk = makedev(8, 1);
const std::uint64_t kOtherDisk = makedev(8, 17);
const std::uint64_t kMount = makedev(0, 51);
const std::uint64_t kOtherMount = makedev(0, 52);

FileIdentity array_on(const std::string& machine, std::uint64_t device) {
  return {.machine = machine, .device = device, .inode = 12, .bytes = 4096, .modified_ns = 17, .place = 0};
}

TEST(FileIdentity, LinksLeadToOneFileAndCopiesDoNot) {
  const TemporaryFolder folder;
  write_bytes(folder / "x.npy", "x");
  std::filesystem::create_symlink(folder / "x.npy", folder / "soft.npy");
  std::filesystem::create_hard_link(folder / "x.npy", folder / "hard.npy");
  std::filesystem::copy_file(folder / "x.npy", folder / "copy.npy");
  std::filesystem::last_write_time(folder / "copy.npy", std::filesystem::last_write_time(folder / "x.npy"));
  const FileIdentity x = file_identity(folder / "x.npy", 0);
  EXPECT_FALSE(x.machine.empty());
  EXPECT_TRUE(is_same_array(x, file_identity(folder / "soft.npy", 0)));
  EXPECT_TRUE(is_same_array(x, file_identity(folder / "hard.npy", 0)));
  EXPECT_TRUE(is_same_array(x, file_identity("/proc/self/root" + (folder / "x.npy"), 0)));
  EXPECT_FALSE(is_same_array(x, file_identity(folder / "copy.npy", 0)));
  expect_bad_input([] { file_identity("/absent/x.npy", 0); }, {"/absent/x.npy", "No such file"});
}

TEST(FileIdentity, OnOneMachineItIsTheDeviceThatTellsButForTwoMountsOfOneFileSystem) {
  EXPECT_TRUE(is_same_array(array_on("a", kDisk), array_on("a", kDisk)));
  // Disks that were filled alike: the first file of each has the same number, and may be as old.
  EXPECT_FALSE(is_same_array(array_on("a", kDisk), array_on("a", kOtherDisk)));
  EXPECT_FALSE(is_same_array(array_on("a", kDisk), array_on("a", kMount)));
  FileIdentity grown = array_on("a", kDisk);
  grown.bytes += 1;
  EXPECT_TRUE(is_same_array(array_on("a", kDisk), grown));
  EXPECT_TRUE(is_same_array(array_on("a", kMount), array_on("a", kOtherMount)));
  FileIdentity younger = array_on("a", kOtherMount);
  younger.modified_ns += 1;
  EXPECT_FALSE(is_same_array(array_on("a", kMount), younger));
}

TEST(FileIdentity, OnTwoMachinesEqualInodesAreNotEnough) {
  EXPECT_TRUE(is_same_array(array_on("a", kMount), array_on("b", kOtherMount)));  // shared over the network
  EXPECT_TRUE(is_same_array(array_on("a", kDisk), array_on("b", kOtherDisk)));    // or a disk that both have
  for (const int field : {0, 1, 2}) {
    FileIdentity other = array_on("b", kMount);
    (field == 0 ? other.inode : field == 1 ? other.bytes : other.place) += 1;
    EXPECT_FALSE(is_same_array(array_on("a", kMount), other)) << field;
    EXPECT_FALSE(is_same_array(other, array_on("a", kMount))) << field;
  }
  FileIdentity younger = array_on("b", kMount);
  younger.modified_ns += 1;
  EXPECT_FALSE(is_same_array(array_on("a", kMount), younger));
}

}  // namespace dpreduce::input_file_test
