#include "common/files/private_folder.hpp"

#include "tests/testing.hpp"

namespace dpreduce::private_folder_test {

TEST(PrivateFolder, IsNewIsTheOwnersAloneAndGoes) {
  std::filesystem::path path;
  {
    const PrivateFolder folder;
    const PrivateFolder other;
    path = folder.path();
    EXPECT_NE(path, other.path());
    EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms::owner_all);
    std::ofstream(folder / "file") << "text";
    EXPECT_TRUE(std::filesystem::exists(path / "file"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace dpreduce::private_folder_test
