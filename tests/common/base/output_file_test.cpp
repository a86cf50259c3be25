#include "common/base/output_file.hpp"

#include <csignal>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "tests/common/data/data_files.hpp"
#include "tests/testing.hpp"
#include "tests/without_calls.hpp"

namespace dpreduce::output_file_test {

using Names = std::vector<std::string>;

TEST(AtomicFile, AppearsWholeOnCommit) {
  const TemporaryFolder folder;
  AtomicFile file(folder / "model");
  file.write("first ");
  file.write("second");
  EXPECT_FALSE(std::filesystem::exists(folder / "model"));
  file.commit();
  EXPECT_EQ(read_bytes(folder / "model"), "first second");
  EXPECT_EQ(folder.names(), Names{"model"});
}

TEST(AtomicFile, ReplacesAFileAndKeepsItsPermissions) {
  const TemporaryFolder folder;
  write_bytes(folder / "model", "old");
  ::chmod((folder / "model").c_str(), 0640);
  AtomicFile file(folder / "model", Existing::kReplace);
  file.write("new");
  EXPECT_EQ(read_bytes(folder / "model"), "old");
  file.commit();
  EXPECT_EQ(read_bytes(folder / "model"), "new");
  EXPECT_EQ(folder.names(), Names{"model"});
  struct stat status {};
  ::stat((folder / "model").c_str(), &status);
  EXPECT_EQ(status.st_mode & 07777, 0640u);
}

TEST(AtomicFile, ANameMayBeAsLongAsTheSystemAllows) {
  const TemporaryFolder folder;
  const std::string longest(255, 'm');
  for (const char* text : {"old", "new"}) {
    AtomicFile file(folder / longest, Existing::kReplace);
    file.write(text);
    file.commit();
    EXPECT_EQ(read_bytes(folder / longest), text);
  }
  EXPECT_EQ(folder.names(), Names{longest});
}

// Who may not look into the folder does not learn what is written there.
TEST(AtomicFile, AClaimTellsNobodyTheName) {
  const TemporaryFolder folder;
  const AtomicFile file(folder / "patients_of_the_north_clinic");
  std::ifstream sockets("/proc/net/unix");
  const std::string all{std::istreambuf_iterator<char>(sockets), {}};
  EXPECT_THAT(all, HasSubstr("@dpreduce "));
  EXPECT_THAT(all, Not(HasSubstr("patients")));
}

TEST(AtomicFile, WhatIsForItsOwnerIsReadByNobodyElseWhateverWasThere) {
  const TemporaryFolder folder;
  write_bytes(folder / "old", "old");
  ::chmod((folder / "old").c_str(), 0644);
  for (const char* name : {"old", "new"}) {
    AtomicFile file(folder / name, Existing::kReplace, Readers::kOwnerOnly);
    file.write("secret");
    file.commit();
    struct stat status {};
    ::stat((folder / name).c_str(), &status);
    EXPECT_EQ(status.st_mode & 07777, 0600u) << name;
  }
}

TEST(AtomicFile, AFileThatIsToBeKeptIsRefusedAtOnceUnderWhateverName) {
  const TemporaryFolder folder;
  write_bytes(folder / "model", "old");
  std::filesystem::create_symlink("model", folder / "link");
  for (const char* name : {"model", "link"}) {
    expect_bad_input([&] { AtomicFile(folder / name); }, {name, "already exists", "--overwrite"});
  }
  EXPECT_EQ(read_bytes(folder / "model"), "old");
  EXPECT_EQ(folder.names(), (Names{"link", "model"}));
}

TEST(AtomicFile, AFileThatHasComeToBeThereSinceIsKept) {
  const TemporaryFolder folder;
  AtomicFile file(folder / "model");
  file.write("new");
  write_bytes(folder / "model", "another run's");
  expect_bad_input([&] { file.commit(); }, {"model", "already exists"});
  EXPECT_EQ(read_bytes(folder / "model"), "another run's");
}

TEST(AtomicFile, WithoutCommitTheTargetIsUntouchedAndNothingIsLeft) {
  const TemporaryFolder folder;
  write_bytes(folder / "model", "old");
  {
    AtomicFile replaced(folder / "model", Existing::kReplace);
    replaced.write("new");
    AtomicFile fresh(folder / "report");
    fresh.write("new");
  }
  EXPECT_EQ(read_bytes(folder / "model"), "old");
  EXPECT_EQ(folder.names(), Names{"model"});
}

TEST(AtomicFile, AKilledProcessLeavesNothingWhereFilesMayBeUnnamed) {
  const TemporaryFolder folder;
  const int unnamed = ::open(folder.path().c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (unnamed < 0) GTEST_SKIP() << "this file system has no unnamed files";
  ::close(unnamed);
  const pid_t child = ::fork();
  if (child == 0) {
    AtomicFile file(folder / "model");
    file.write("half of it");
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(folder.names(), Names{});
}

TEST(AtomicFile, ANameIsOneWritersUntilTheFileIsThere) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("model", folder / "link");
  std::filesystem::create_directory(folder / "within");
  const auto expect_claimed = [&](const char* name) {
    for (const Existing existing : {Existing::kKeep, Existing::kReplace}) {
      EXPECT_THROW(AtomicFile(folder / name, existing), UsageError) << name;
    }
  };
  {
    AtomicFile first(folder / "model");
    for (const char* name : {"model", "link", "within/../model"}) expect_claimed(name);
    AtomicFile other(folder / "model2");
    first.write("first");
    first.commit();
    expect_bad_input([&] { AtomicFile(folder / "model"); }, {"already exists"});
    AtomicFile next(folder / "model", Existing::kReplace);
    expect_claimed("link");
  }
  AtomicFile again(folder / "model", Existing::kReplace);
  EXPECT_EQ(folder.names(), (Names{"link", "model", "within"}));
}

// A claim must not outlive who has it.
TEST(AtomicFile, TheNameOfAKilledWriterIsFree) {
  const TemporaryFolder folder;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    AtomicFile file(folder / "model");
    [[maybe_unused]] const ssize_t told = ::write(ready[1], "1", 1);
    ::pause();
  }
  char one = 0;
  ASSERT_EQ(::read(ready[0], &one, 1), 1);
  EXPECT_THROW(AtomicFile(folder / "model"), UsageError);
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  AtomicFile file(folder / "model");
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(AtomicFile, ASymbolicLinkStaysAndWhatItPointsToIsReplaced) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "store");
  write_bytes(folder / "store/model", "old");
  std::filesystem::create_symlink("store/model", folder / "link");
  std::filesystem::create_symlink("link", folder / "link to link");
  std::filesystem::create_symlink("store/new", folder / "dangling");
  for (const std::string name : {"link to link", "dangling"}) {
    AtomicFile file(folder / name, Existing::kReplace);
    file.write("new");
    file.commit();
    EXPECT_TRUE(std::filesystem::is_symlink(folder / name));
  }
  EXPECT_EQ(read_bytes(folder / "store/model"), "new");
  EXPECT_EQ(read_bytes(folder / "store/new"), "new");
}

TEST(AtomicFile, ACircleOfLinksIsRefused) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("b", folder / "a");
  std::filesystem::create_symlink("a", folder / "b");
  expect_bad_input([&] { AtomicFile(folder / "a"); }, {"/a", "Too many levels"});
}

TEST(AtomicFile, ADeviceIsWrittenDirectly) {
  AtomicFile file("/dev/null");
  file.write("gone");
  file.commit();
  struct stat status {};
  ASSERT_EQ(::stat("/dev/null", &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
}

TEST(AtomicFile, APipeIsWrittenDirectly) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  const int reader = ::open((folder / "pipe").c_str(), O_RDONLY | O_NONBLOCK);
  AtomicFile file(folder / "pipe");
  file.write("through");
  file.commit();
  char text[16] = {};
  EXPECT_EQ(::read(reader, text, sizeof text), 7);
  EXPECT_STREQ(text, "through");
  ::close(reader);
}

TEST(AtomicFile, AFileSystemWithoutHardLinksOrPermissionsIsNamed) {
  const TemporaryFolder folder;
  const bool could = run_without({SYS_linkat}, EPERM, [&] {
    AtomicFile file(folder / "x");
    expect_refusal<BadInput>([&] { file.commit(); }, {folder / "x", "has no hard links", "name a path on another"});
  });
  if (!could) GTEST_SKIP();
  run_without({SYS_fchmod}, EPERM, [&] {
    expect_refusal<BadInput>([&] { AtomicFile(folder / "x", Existing::kKeep, Readers::kOwnerOnly); },
                             {folder / "x", "keeps no permissions"});
  });
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(AtomicFile, AFullDiskIsBadInput) {
  AtomicFile file("/dev/full");
  expect_bad_input([&] { file.write("x"); }, {"/dev/full", "No space left"});
}

TEST(AtomicFile, MoreThanTheDiskHoldsIsRefusedBeforeTheWork) {
  const TemporaryFolder folder;
  AtomicFile file(folder / "huge");
  const auto space = std::filesystem::space(folder.path());
  expect_bad_input([&] { file.reserve(space.capacity + (std::uint64_t{1} << 30)); }, {"huge", "no room", "No space"});
  EXPECT_EQ(folder.names(), Names{});
}

TEST(AtomicFile, ReservedSpaceDoesNotLengthenTheFile) {
  const TemporaryFolder folder;
  AtomicFile file(folder / "short");
  file.reserve(1 << 20);
  file.write("short");
  file.commit();
  EXPECT_EQ(std::filesystem::file_size(folder / "short"), 5u);
}

TEST(AtomicFile, WhereNothingCanBeWrittenIsToldAtOnce) {
  const TemporaryFolder folder;
  expect_bad_input([&] { AtomicFile(""); }, {"empty"});
  expect_bad_input([&] { AtomicFile(folder.path()); }, {folder.path(), "is a directory"});
  expect_bad_input([&] { AtomicFile(folder / "model/"); }, {"is a directory"});
  expect_bad_input([&] { AtomicFile(folder / "none/model"); }, {"none/model", "No such file"});
  write_bytes(folder / "file", "x");
  expect_bad_input([&] { AtomicFile(folder / "file/model"); }, {"file/model", "Not a directory"});
}

TEST(AtomicFile, ADirectoryWithoutWritePermissionIsToldAtOnce) {
  const TemporaryFolder folder;
  ::chmod(folder.path().c_str(), 0555);
  const bool was_root = ::geteuid() == 0;
  if (was_root) {
    ASSERT_EQ(::seteuid(65534), 0);
  }
  expect_bad_input([&] { AtomicFile(folder / "model"); }, {"model", "Permission denied"});
  if (was_root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  ::chmod(folder.path().c_str(), 0755);
}

TEST(AtomicFile, NothingFollowsACommit) {
  const TemporaryFolder folder;
  AtomicFile file(folder / "model");
  file.commit();
  EXPECT_THROW(file.write("late"), std::logic_error);
  EXPECT_THROW(file.commit(), std::logic_error);
}

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class LineFileTest : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "lines";
};

TEST_F(LineFileTest, LinesAreThereAsSoonAsTheyAreWritten) {
  LineFile file(path_, Existing::kKeep);
  file.write("one");
  EXPECT_EQ(read(path_), "one\n");
  file.write("two");
  EXPECT_EQ(read(path_), "one\ntwo\n");
}

TEST_F(LineFileTest, AFileThatIsThereIsKept) {
  write_bytes(path_, "mine");
  EXPECT_THROW(LineFile(path_, Existing::kKeep), BadInput);
  EXPECT_EQ(read(path_), "mine");
}

TEST_F(LineFileTest, AFileIsReplacedByTheFirstLineAndNotSooner) {
  write_bytes(path_, "a longer text than the new one");
  { const LineFile unwritten(path_, Existing::kReplace); }
  EXPECT_EQ(read(path_), "a longer text than the new one");
  LineFile file(path_, Existing::kReplace);
  file.write("new");
  EXPECT_EQ(read(path_), "new\n");
}

TEST_F(LineFileTest, WithoutALineThereIsNoFile) {
  { const LineFile unwritten(path_, Existing::kKeep); }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(LineFileTest, AFolderAndAnEmptyNameAreRefused) {
  EXPECT_THROW(LineFile(folder_.path(), Existing::kReplace), BadInput);
  EXPECT_THROW(LineFile(folder_ / "absent/lines", Existing::kKeep), BadInput);
  EXPECT_THROW(LineFile("", Existing::kKeep), BadInput);
}

TEST_F(LineFileTest, AFullDiskIsAnError) {
  LineFile file("/dev/full", Existing::kKeep);
  EXPECT_THROW(file.write("line"), BadInput);
}

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

}  // namespace dpreduce::output_file_test
