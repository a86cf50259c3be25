#include "common/randomness/private_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/without_calls.hpp"

namespace dpreduce::private_file_test {

namespace fs = std::filesystem;

class PrivateFile : public testing::Test {
 protected:
  static std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }
  void make(std::string_view text, ExistingFile existing = ExistingFile::kRefused) const {
    make_private_file(path_, "the secret", bytes(text), existing);
  }
  std::string content(std::size_t most = 100) const {
    const auto read = read_private_file(path_, "the secret", most);
    if (!read) return "none";
    return {reinterpret_cast<const char*>(read->data()), read->size()};
  }
  void expect_refusal(const std::function<void()>& action, const std::string& message) const {
    dpreduce::expect_refusal<BadInput>(action, {"the secret " + path_.string() + ": ", message});
  }

  const TemporaryFolder folder_;
  fs::path path_ = folder_ / "secret";
};

TEST_F(PrivateFile, IsMadeWholeForItsOwnerAlone) {
  const mode_t umask_before = ::umask(0777);
  make("twelve bytes");
  ::umask(umask_before);
  EXPECT_EQ(fs::status(path_).permissions(), fs::perms(0600));
  EXPECT_EQ(content(), "twelve bytes");
  EXPECT_THAT(folder_.names(), ElementsAre("secret"));
}

TEST_F(PrivateFile, AnExistingOneIsRefusedOrWins) {
  make("first");
  expect_refusal([&] { make("second"); }, "never overwritten");
  make("second", ExistingFile::kWins);
  EXPECT_EQ(content(), "first");
}

TEST_F(PrivateFile, AFileSystemWithoutHardLinksIsDoneWithoutOrNamed) {
  const std::vector<unsigned> without_links{SYS_linkat};
  // Without /proc the file has a name from its beginning, as on a file system that has no other.
  const std::vector<unsigned> named_files{SYS_linkat, SYS_access, SYS_faccessat};
  if (!run_without(without_links, EPERM, [&] { expect_refusal([&] { make("first"); }, "has no hard links"); })) {
    GTEST_SKIP();
  }
  run_without(named_files, EPERM, [&] { make("first"); });
  EXPECT_EQ(content(), "first");
  run_without(named_files, EPERM, [&] { expect_refusal([&] { make("second"); }, "never overwritten"); });
  EXPECT_THAT(folder_.names(), ElementsAre("secret"));
}

TEST_F(PrivateFile, OneThatCannotBePrivateIsNotMade) {
  const bool could =
      run_without({SYS_fchmod}, EPERM, [&] { expect_refusal([&] { make("first"); }, "keeps no permissions"); });
  if (!could) GTEST_SKIP();
  EXPECT_THAT(folder_.names(), IsEmpty());
}

TEST_F(PrivateFile, AMissingOneIsNothingAndAMissingFolderIsNamed) {
  EXPECT_EQ(content(), "none");
  EXPECT_FALSE(destroy_private_file(path_, "the secret"));
  path_ = folder_ / "missing/secret";
  expect_refusal([&] { make("secret"); }, "cannot be made: No such file");
}

TEST_F(PrivateFile, OneThatIsTooLongShowsByOneByte) {
  make("123456");
  EXPECT_EQ(content(5), "123456");
  EXPECT_EQ(content(4), "12345");
}

TEST_F(PrivateFile, EveryOtherPermissionIsRefused) {
  make("secret");
  for (const mode_t mode : {0000, 0200, 0400, 0604, 0620, 0640, 0644, 0660, 0666, 0700, 01600, 04600}) {
    ::chmod(path_.c_str(), mode);
    if (::geteuid() != 0 && (mode & 0400) == 0) continue;  // such a user cannot open it either
    expect_refusal([&] { content(); }, "must have 0600");
  }
  ::chmod(path_.c_str(), 0600);
  EXPECT_EQ(content(), "secret");
}

TEST_F(PrivateFile, AnotherUsersIsRefused) {
  make("secret");
  if (::chown(path_.c_str(), 65534, 65534) != 0) GTEST_SKIP() << "only root gives files away";
  expect_refusal([&] { content(); }, "belongs to another user (uid 65534");
  expect_refusal([&] { destroy_private_file(path_, "the secret"); }, "belongs to another user");
}

TEST_F(PrivateFile, FoldersAndPipesAreRefusedWithoutWaiting) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  expect_refusal([&] { content(); }, "must be a regular file");
  fs::remove(path_);
  fs::create_directory(path_);
  expect_refusal([&] { content(); }, "must be a regular file");
}

// Whoever still has it open, or has another name for it, reads zeros.
TEST_F(PrivateFile, IsDestroyedWithItsContent) {
  const std::string secret(10000, 's');
  make(secret);
  fs::create_hard_link(path_, folder_ / "other");
  EXPECT_TRUE(destroy_private_file(path_, "the secret"));
  EXPECT_FALSE(fs::exists(path_));
  path_ = folder_ / "other";
  EXPECT_EQ(content(20000), std::string(10000, '\0'));
}

TEST_F(PrivateFile, ALinkIsNotFollowedToBeDestroyed) {
  make("secret");
  const fs::path target = path_;
  path_ = folder_ / "link";
  fs::create_symlink(target, path_);
  expect_refusal([&] { destroy_private_file(path_, "the secret"); }, "cannot be opened");
  path_ = target;
  EXPECT_EQ(content(), "secret");
}

}  // namespace dpreduce::private_file_test
