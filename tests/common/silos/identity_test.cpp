#include "common/silos/identity.hpp"

#include <sys/stat.h>

#include "common/base/error.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/testing.hpp"

namespace dpreduce::identity_test {

class IdentityTest : public testing::Test {
 protected:
  void write(const std::string& text) const { write_bytes(path_, text); }
  std::string refusal() const {
    return dpreduce::refusal<BadInput>([&] { Identity::load(path_, "--identity"); });
  }
  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "identity";
};

TEST_F(IdentityTest, AFileKeepsItAndIsItsOwnersAlone) {
  const Identity identity = Identity::generate();
  identity.save_new(path_, "--out");
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  EXPECT_EQ(Identity::load(path_, "--identity").public_key(), identity.public_key());
}

TEST_F(IdentityTest, IsNeverOverwritten) {
  write("something");
  EXPECT_THROW(Identity::generate().save_new(path_, "--out"), BadInput);
  EXPECT_EQ(read_bytes(path_), "something");
}

TEST_F(IdentityTest, FilesThatAreNoneAreRefusedByName) {
  EXPECT_THAT(refusal(), HasSubstr("cannot be opened"));
  write("-----BEGIN NOTHING-----\n");
  EXPECT_THAT(refusal(), HasSubstr("chmod 600"));
  ::chmod(path_.c_str(), 0600);
  EXPECT_THAT(refusal(), HasSubstr("Ed25519"));
  write(std::string(5000, 'x'));
  EXPECT_THAT(refusal(), HasSubstr("4 KiB"));
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_THAT(refusal(), HasSubstr("regular file"));
}

}  // namespace dpreduce::identity_test
