#include "common/masking/identity.hpp"

#include <array>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

class IdentityTest : public testing::Test {
 protected:
  IdentityTest() : path_(std::filesystem::temp_directory_path() / ("dpreduce_identity." + std::to_string(getpid()))) {}
  ~IdentityTest() override { std::filesystem::remove(path_); }
  void write(const std::string& text) { std::ofstream(path_) << text; }
  std::string refusal() {
    try {
      Identity::load(path_, "--identity");
    } catch (const BadInput& error) {
      return error.what();
    }
    return "";
  }
  std::filesystem::path path_;
};

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST_F(IdentityTest, ASignatureIsOfItsMessageAndItsSignerAlone) {
  const Identity one = Identity::generate();
  const Identity other = Identity::generate();
  Signature signature = one.sign(bytes_of("message"));
  EXPECT_TRUE(verifies(one.public_key(), bytes_of("message"), signature));
  EXPECT_FALSE(verifies(one.public_key(), bytes_of("massage"), signature));
  EXPECT_FALSE(verifies(other.public_key(), bytes_of("message"), signature));
  signature[10] ^= std::byte{1};
  EXPECT_FALSE(verifies(one.public_key(), bytes_of("message"), signature));
}

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
  std::ifstream file(path_);
  std::string text;
  file >> text;
  EXPECT_EQ(text, "something");
}

TEST_F(IdentityTest, FilesThatAreNoneAreRefusedByName) {
  EXPECT_THAT(refusal(), testing::HasSubstr("cannot be opened"));
  write("-----BEGIN NOTHING-----\n");
  EXPECT_THAT(refusal(), testing::HasSubstr("chmod 600"));
  ::chmod(path_.c_str(), 0600);
  EXPECT_THAT(refusal(), testing::HasSubstr("Ed25519"));
  write(std::string(5000, 'x'));
  EXPECT_THAT(refusal(), testing::HasSubstr("4 KiB"));
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_THAT(refusal(), testing::HasSubstr("regular file"));
}

TEST(PublicKeyText, IsSixtyFourDigitsInLowerCase) {
  const PublicKey key = Identity::generate().public_key();
  const std::string hex = to_hex(key);
  EXPECT_EQ(hex.size(), 64U);
  EXPECT_EQ(public_key_of_hex(hex), key);
  EXPECT_EQ(public_key_of_hex(hex.substr(1)), std::nullopt);
  std::string other = hex;
  other[0] = 'G';
  EXPECT_EQ(public_key_of_hex(other), std::nullopt);
}

}  // namespace
}  // namespace dpreduce
