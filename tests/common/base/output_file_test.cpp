#include "common/base/output_file.hpp"

#include <csignal>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/common/data/data_files.hpp"
#include "tests/testing.hpp"
#include "tests/without_calls.hpp"

namespace dpreduce::output_file_test {

using Names = std::vector<std::string>;

class AtomicFileTest : public testing::Test {
 protected:
  // Replaces what is there.
  void write_whole(const std::string& name, const std::string& text, Readers readers = Readers::kAsUsual) const {
    AtomicFile file(folder_ / name, Existing::kReplace, readers);
    file.write(text);
    file.commit();
  }
  unsigned mode_of(const std::string& name) const {
    struct stat status {};
    EXPECT_EQ(::stat((folder_ / name).c_str(), &status), 0);
    return status.st_mode & 07777;
  }
  std::string text_of(const std::string& name) const { return read_bytes(folder_ / name); }

  const TemporaryFolder folder_;
  const std::string model_ = folder_ / "model";
};

TEST_F(AtomicFileTest, AppearsWholeOnCommitAfterWhichNothingFollows) {
  AtomicFile file(model_);
  file.write("first ");
  file.write("second");
  EXPECT_FALSE(std::filesystem::exists(model_));
  file.commit();
  EXPECT_THROW(file.write("late"), std::logic_error);
  EXPECT_THROW(file.commit(), std::logic_error);
  EXPECT_EQ(text_of("model"), "first second");
  EXPECT_EQ(folder_.names(), Names{"model"});
}

TEST_F(AtomicFileTest, ReplacesAFileAndKeepsItsPermissions) {
  write_bytes(model_, "old");
  ::chmod(model_.c_str(), 0640);
  AtomicFile file(model_, Existing::kReplace);
  file.write("new");
  EXPECT_EQ(text_of("model"), "old");
  file.commit();
  EXPECT_EQ(text_of("model"), "new");
  EXPECT_EQ(folder_.names(), Names{"model"});
  EXPECT_EQ(mode_of("model"), 0640u);
}

TEST_F(AtomicFileTest, ANameMayBeAsLongAsTheSystemAllows) {
  const std::string longest(255, 'm');
  for (const char* text : {"old", "new"}) {
    write_whole(longest, text);
    EXPECT_EQ(text_of(longest), text);
  }
  EXPECT_EQ(folder_.names(), Names{longest});
  expect_bad_input([&] { const AtomicFile file(folder_ / (longest + "m")); },
                   {"cannot be written: File name too long"});
}

// Who may not look into the folder does not learn what is written there.
TEST_F(AtomicFileTest, AClaimTellsNobodyTheName) {
  const AtomicFile file(folder_ / "patients_of_the_north_clinic");
  std::ifstream sockets("/proc/net/unix");
  const std::string all{std::istreambuf_iterator<char>(sockets), {}};
  EXPECT_THAT(all, HasSubstr("@dpreduce "));
  EXPECT_THAT(all, Not(HasSubstr("patients")));
}

TEST_F(AtomicFileTest, WhatIsForItsOwnerIsReadByNobodyElseWhateverWasThere) {
  write_bytes(folder_ / "old", "old");
  ::chmod((folder_ / "old").c_str(), 0644);
  for (const char* name : {"old", "new"}) {
    write_whole(name, "secret", Readers::kOwnerOnly);
    EXPECT_EQ(mode_of(name), 0600u) << name;
  }
}

TEST_F(AtomicFileTest, AFileThatIsToBeKeptIsRefusedAtOnceUnderWhateverName) {
  write_bytes(model_, "old");
  std::filesystem::create_symlink("model", folder_ / "link");
  for (const char* name : {"model", "link"}) {
    expect_bad_input([&] { AtomicFile(folder_ / name); }, {name, "already exists", "--overwrite"});
  }
  EXPECT_EQ(text_of("model"), "old");
  EXPECT_EQ(folder_.names(), (Names{"link", "model"}));
}

TEST_F(AtomicFileTest, AFileThatHasComeToBeThereSinceIsKept) {
  AtomicFile file(model_);
  file.write("new");
  write_bytes(model_, "another run's");
  expect_bad_input([&] { file.commit(); }, {"model", "already exists"});
  EXPECT_EQ(text_of("model"), "another run's");
}

TEST_F(AtomicFileTest, WithoutCommitTheTargetIsUntouchedAndNothingIsLeft) {
  write_bytes(model_, "old");
  {
    AtomicFile replaced(model_, Existing::kReplace);
    replaced.write("new");
    AtomicFile fresh(folder_ / "report");
    fresh.write("new");
  }
  EXPECT_EQ(text_of("model"), "old");
  EXPECT_EQ(folder_.names(), Names{"model"});
}

TEST_F(AtomicFileTest, AKilledProcessLeavesNothingWhereFilesMayBeUnnamed) {
  const int unnamed = ::open(folder_.path().c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (unnamed < 0) GTEST_SKIP() << "this file system has no unnamed files";
  ::close(unnamed);
  const pid_t child = ::fork();
  if (child == 0) {
    AtomicFile file(model_);
    file.write("half of it");
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(folder_.names(), Names{});
}

TEST_F(AtomicFileTest, ANameIsOneWritersUntilTheFileIsThere) {
  std::filesystem::create_symlink("model", folder_ / "link");
  std::filesystem::create_directory(folder_ / "within");
  const auto expect_claimed = [&](const char* name) {
    for (const Existing existing : {Existing::kKeep, Existing::kReplace}) {
      EXPECT_THROW(AtomicFile(folder_ / name, existing), UsageError) << name;
    }
  };
  {
    AtomicFile first(model_);
    for (const char* name : {"model", "link", "within/../model"}) expect_claimed(name);
    AtomicFile other(folder_ / "model2");
    first.write("first");
    first.commit();
    expect_bad_input([&] { AtomicFile{model_}; }, {"already exists"});
    AtomicFile next(model_, Existing::kReplace);
    expect_claimed("link");
  }
  AtomicFile again(model_, Existing::kReplace);
  EXPECT_EQ(folder_.names(), (Names{"link", "model", "within"}));
}

// A claim must not outlive who has it.
TEST_F(AtomicFileTest, TheNameOfAKilledWriterIsFree) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    AtomicFile file(model_);
    [[maybe_unused]] const ssize_t told = ::write(ready[1], "1", 1);
    ::pause();
  }
  char one = 0;
  ASSERT_EQ(::read(ready[0], &one, 1), 1);
  EXPECT_THROW(AtomicFile{model_}, UsageError);
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  AtomicFile file(model_);
  for (const int end : ready) ::close(end);
}

TEST_F(AtomicFileTest, ASymbolicLinkStaysAndWhatItPointsToIsReplaced) {
  std::filesystem::create_directory(folder_ / "store");
  write_bytes(folder_ / "store/model", "old");
  std::filesystem::create_symlink("store/model", folder_ / "link");
  std::filesystem::create_symlink("link", folder_ / "link to link");
  std::filesystem::create_symlink("store/new", folder_ / "dangling");
  for (const std::string name : {"link to link", "dangling"}) {
    write_whole(name, "new");
    EXPECT_TRUE(std::filesystem::is_symlink(folder_ / name));
  }
  EXPECT_EQ(text_of("store/model"), "new");
  EXPECT_EQ(text_of("store/new"), "new");
}

TEST_F(AtomicFileTest, DevicesAndPipesAreWrittenDirectly) {
  AtomicFile device("/dev/null");
  device.write("gone");
  device.commit();
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  AtomicFile full("/dev/full");
  expect_bad_input([&] { full.write("x"); }, {"/dev/full", "No space left"});
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  const int reader = ::open((folder_ / "pipe").c_str(), O_RDONLY | O_NONBLOCK);
  AtomicFile file(folder_ / "pipe");
  file.write("through");
  file.commit();
  char text[16] = {};
  EXPECT_EQ(::read(reader, text, sizeof text), 7);
  EXPECT_STREQ(text, "through");
  ::close(reader);
}

TEST_F(AtomicFileTest, AFileSystemWithoutHardLinksOrPermissionsIsNamed) {
  const bool could = run_without({SYS_linkat}, EPERM, [&] {
    AtomicFile file(folder_ / "x");
    expect_bad_input([&] { file.commit(); }, {folder_ / "x", "has no hard links", "name a path on another"});
  });
  if (!could) GTEST_SKIP();
  run_without({SYS_fchmod}, EPERM, [&] {
    expect_bad_input([&] { AtomicFile(folder_ / "x", Existing::kKeep, Readers::kOwnerOnly); },
                     {folder_ / "x", "keeps no permissions"});
  });
  EXPECT_THAT(folder_.names(), IsEmpty());
}

TEST_F(AtomicFileTest, SpaceIsReservedBeforeTheWorkAndDoesNotLengthenTheFile) {
  AtomicFile file(folder_ / "huge");
  const auto space = std::filesystem::space(folder_.path());
  expect_bad_input([&] { file.reserve(space.capacity + (std::uint64_t{1} << 30)); }, {"huge", "no room", "No space"});
  EXPECT_EQ(folder_.names(), Names{});
  AtomicFile small(folder_ / "short");
  small.reserve(1 << 20);
  small.write("short");
  small.commit();
  EXPECT_EQ(std::filesystem::file_size(folder_ / "short"), 5u);
}

TEST_F(AtomicFileTest, WhereNothingCanBeWrittenIsToldAtOnce) {
  write_bytes(folder_ / "file", "x");
  std::filesystem::create_symlink("b", folder_ / "a");
  std::filesystem::create_symlink("a", folder_ / "b");
  const std::vector<std::pair<std::string, std::vector<std::string>>> targets{
      {"", {"empty"}},
      {folder_.path(), {folder_.path(), "is a directory"}},
      {folder_ / "model/", {"is a directory"}},
      {folder_ / "none/model", {"none/model", "No such file"}},
      {folder_ / "file/model", {"file/model", "Not a directory"}},
      {folder_ / "a", {"/a", "Too many levels"}}};
  for (const auto& [target, words] : targets) expect_bad_input([&path = target] { AtomicFile{path}; }, words);
}

TEST_F(AtomicFileTest, ADirectoryWithoutWritePermissionIsToldAtOnce) {
  ::chmod(folder_.path().c_str(), 0555);
  const bool was_root = ::geteuid() == 0;
  if (was_root) {
    ASSERT_EQ(::seteuid(65534), 0);
  }
  expect_bad_input([&] { AtomicFile{model_}; }, {"model", "Permission denied"});
  if (was_root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  ::chmod(folder_.path().c_str(), 0755);
}

class CsvWriterTest : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "t.csv";
};

TEST_F(CsvWriterTest, FieldsThatHoldSeparatorsStandInQuotes) {
  CsvWriter writer(path_, Names{"name", "a \"b\", c"});
  writer.add(std::string_view("plain word"));
  writer.add(std::int64_t{-3});
  writer.add(std::string_view("two\nlines"));
  writer.add(0.1F);
  EXPECT_FALSE(is_file(path_));
  writer.commit();
  EXPECT_EQ(read_bytes(path_), "name,\"a \"\"b\"\", c\"\nplain word,-3\n\"two\nlines\",0.1\n");
}

TEST_F(CsvWriterTest, FloatsComeBackBitForBit) {
  const std::vector<float> numbers = {1.0F / 3.0F, -1e-40F, std::numeric_limits<float>::max(), 0.0F, 16777216.0F};
  CsvWriter writer(path_, Names{"x"});
  for (const float number : numbers) writer.add(number);
  writer.commit();
  std::ifstream file(path_);
  std::string line;
  std::getline(file, line);
  for (const float number : numbers) {
    std::getline(file, line);
    EXPECT_EQ(std::strtof(line.c_str(), nullptr), number) << line;
  }
}

TEST_F(CsvWriterTest, ARowThatIsNotWholeIsABug) {
  CsvWriter writer(path_, Names{"x", "y"});
  writer.add(1.0F);
  EXPECT_THROW(writer.commit(), std::logic_error);
  EXPECT_THROW(CsvWriter(folder_ / "u.csv", Names{}), std::logic_error);
}

TEST_F(CsvWriterTest, AFileThatIsThereIsKept) {
  write_bytes(path_, "old");
  expect_bad_input([&] { CsvWriter(path_, Names{"x"}); }, {"t.csv", "already exists"});
  CsvWriter writer(path_, Names{"x"}, Existing::kReplace);
  EXPECT_EQ(read_bytes(path_), "old");
  writer.commit();
  EXPECT_EQ(read_bytes(path_), "x\n");
}

TEST(TablePath, TheSuffixTellsTheFormatAndOthersAreRefused) {
  for (const std::string path : {"a.csv", "folder.npy/a.CSV"}) EXPECT_TRUE(is_csv(path)) << path;
  for (const std::string path : {"a.npy", "/dev/stdout", "folder.csv/a"}) {
    EXPECT_FALSE(is_csv(path)) << path;
    EXPECT_NO_THROW(require_table_path("--out", path)) << path;
  }
  for (const std::string path : {"a.txt", "a.csv.gz", "a.parquet", "a.npz"}) {
    EXPECT_EQ(refusal<UsageError>([&] { require_table_path("--scores", path); }),
              "--scores " + path + ": tables are written as .npy or .csv; end the name with one of these");
  }
}

using LineFileTest = CsvWriterTest;

TEST_F(LineFileTest, LinesAreThereAsSoonAsTheyAreWritten) {
  { const LineFile unwritten(path_, Existing::kKeep); }
  EXPECT_FALSE(std::filesystem::exists(path_));
  LineFile file(path_, Existing::kKeep);
  file.write("one");
  EXPECT_EQ(read_bytes(path_), "one\n");
  file.write("two");
  EXPECT_EQ(read_bytes(path_), "one\ntwo\n");
}

TEST_F(LineFileTest, AFileThatIsThereIsKeptOrReplacedByTheFirstLineAndNotSooner) {
  write_bytes(path_, "a longer text than the new one");
  EXPECT_THROW(LineFile(path_, Existing::kKeep), BadInput);
  { const LineFile unwritten(path_, Existing::kReplace); }
  EXPECT_EQ(read_bytes(path_), "a longer text than the new one");
  LineFile file(path_, Existing::kReplace);
  file.write("new");
  EXPECT_EQ(read_bytes(path_), "new\n");
}

TEST_F(LineFileTest, AFolderAnEmptyNameAndAFullDiskAreRefused) {
  EXPECT_THROW(LineFile(folder_.path(), Existing::kReplace), BadInput);
  EXPECT_THROW(LineFile(folder_ / "absent/lines", Existing::kKeep), BadInput);
  EXPECT_THROW(LineFile("", Existing::kKeep), BadInput);
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

TEST(PrivateFolder, GoesWithWhatIsUnfinishedWhenAProcessIsInterrupted) {
  const PrivateFolder folder;
  for (int file = 0; file < 200; ++file) std::ofstream(folder / fmt::format("{:0>60}", file)) << "text";
  AtomicFile::remove_unfinished();
  EXPECT_FALSE(std::filesystem::exists(folder.path()));
}

TEST(FileFeatures, WhatAFileSystemLacksIsTheCauseAndHasACure) {
  for (const int missing : {ENOSYS, EOPNOTSUPP, ENOLCK}) {
    EXPECT_THAT(reason_of(missing, FileFeature::kLocks), HasSubstr("has no locks (flock)"));
    EXPECT_THAT(reason_of(missing, FileFeature::kLocks), HasSubstr("name a path on a local disk"));
  }
  EXPECT_THAT(reason_of(EPERM, FileFeature::kLinks), HasSubstr("has no hard links"));
  EXPECT_THAT(reason_of(EPERM, FileFeature::kModes), HasSubstr("keeps no permissions"));
  EXPECT_EQ(reason_of(ENOSPC, FileFeature::kLinks), "No space left on device");
  EXPECT_EQ(reason_of(EPERM, FileFeature::kLocks), "Operation not permitted");
}

TEST(FileFeatures, PermissionsThatAreForcedAreTold) {
  const TemporaryFolder folder;
  const FileDescriptor file(::open((folder / "x").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  ASSERT_EQ(::fchmod(file.get(), 0755), 0);
  std::string forced;
  std::string refused;
  if (!run_without({SYS_fchmod}, 0, [&] { forced = forced_mode(file.get()); })) GTEST_SKIP();
  run_without({SYS_fchmod}, EPERM, [&] { refused = forced_mode(file.get()); });
  EXPECT_THAT(forced, HasSubstr("but the file system forces 0755"));
  EXPECT_THAT(refused, HasSubstr("mounted with file mode 0600"));
  EXPECT_EQ(forced_mode(file.get()), "");
  struct stat status {};
  ASSERT_EQ(::fstat(file.get(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0600u);
}

}  // namespace dpreduce::output_file_test
