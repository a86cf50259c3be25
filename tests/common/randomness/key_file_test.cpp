#include "dpreduce/randomness/key_file.hpp"

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dpreduce/config/error.hpp"

namespace dpreduce {
namespace {

class KeyFile : public testing::Test {
 protected:
  KeyFile() : folder_(std::filesystem::temp_directory_path() / ("dpreduce_key_test." + std::to_string(getpid()))) {
    std::filesystem::create_directory(folder_);
  }
  ~KeyFile() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path path() const { return folder_ / "ledger.jsonl.key"; }

  void expect_refusal(const char* reason) const {
    try {
      load_or_make_key(path());
      FAIL() << "accepted";
    } catch (const BadInput& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(path().string()));
      EXPECT_THAT(error.what(), testing::HasSubstr(reason));
    }
  }

  std::filesystem::path folder_;
};

TEST_F(KeyFile, IsMadeOnceForItsOwnerOnlyAndThenReadBack) {
  const std::string id = load_or_make_key(path()).id();
  EXPECT_EQ(load_or_make_key(path()).id(), id);
  EXPECT_TRUE(load_or_make_key(path()).is_private());
  struct stat status {};
  ASSERT_EQ(stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  EXPECT_EQ(status.st_size, 32);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1) << "nothing else is left";
}

TEST_F(KeyFile, IsRefusedWhereOthersMayUseIt) {
  load_or_make_key(path());
  chmod(path().c_str(), 0640);
  expect_refusal("chmod 600");
}

TEST_F(KeyFile, IsRefusedWhereItIsNoKey) {
  std::ofstream(path()) << "short";
  chmod(path().c_str(), 0600);
  expect_refusal("32 bytes");
  std::ofstream(path()) << std::string(33, 'k');
  expect_refusal("32 bytes");
  std::filesystem::remove(path());
  std::filesystem::create_directory(path());
  expect_refusal("regular file");
}

TEST_F(KeyFile, IsRefusedWhereItCannotBeMade) {
  const std::filesystem::path nowhere = folder_ / "missing" / "key";
  EXPECT_THROW(load_or_make_key(nowhere), BadInput);
}

TEST_F(KeyFile, FailingEntropyMakesNoFile) {
  EXPECT_THROW(load_or_make_key(path(), [](std::span<std::byte>) { return false; }), EntropyFailure);
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(KeyFile, ProcessesThatMeetAnAbsentFileGetOneKey) {
  constexpr int kProcesses = 8;
  for (int process = 0; process < kProcesses; ++process) {
    if (fork() == 0) {
      std::ofstream(folder_ / ("id" + std::to_string(process))) << load_or_make_key(path()).id();
      _exit(0);
    }
  }
  for (int process = 0; process < kProcesses; ++process) wait(nullptr);
  std::set<std::string> ids;
  for (int process = 0; process < kProcesses; ++process) {
    std::string id;
    std::ifstream(folder_ / ("id" + std::to_string(process))) >> id;
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), 1U);
  EXPECT_EQ(ids.begin()->size(), 32U);
}

}  // namespace
}  // namespace dpreduce
