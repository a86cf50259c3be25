#include "common/ledger/ledger_key.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/testing.hpp"

namespace dpreduce::ledger_key_test {

class LedgerKey : public testing::Test {
 protected:
  void expect_refusal(const std::string& message) const {
    dpreduce::expect_refusal<BadInput>([&] { find_signing_key(ledger_); },
                                       {signing_key_path(ledger_).string(), message});
  }

  const TemporaryFolder folder_;
  const std::filesystem::path ledger_ = folder_ / "ledger.jsonl";
};

TEST_F(LedgerKey, IsMadeOnceForItsOwnerAloneBesideTheLedger) {
  EXPECT_FALSE(find_signing_key(ledger_).has_value());
  const PublicKey made = find_or_make_signing_key(ledger_).public_key();
  EXPECT_EQ(find_or_make_signing_key(ledger_).public_key(), made);
  EXPECT_EQ(find_signing_key(ledger_)->public_key(), made);
  struct stat status {};
  ASSERT_EQ(::stat((folder_ / "ledger.jsonl.signing-key").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600U);
  EXPECT_THAT(folder_.names(), ElementsAre("ledger.jsonl.signing-key"));
}

TEST_F(LedgerKey, IsRefusedWithOtherPermissions) {
  find_or_make_signing_key(ledger_);
  for (const mode_t mode : {0640, 0644, 0660, 0400, 0700}) {
    ::chmod(signing_key_path(ledger_).c_str(), mode);
    expect_refusal("chmod 600");
  }
}

TEST_F(LedgerKey, OfAnotherUserIsRefused) {
  find_or_make_signing_key(ledger_);
  if (::chown(signing_key_path(ledger_).c_str(), 65534, 65534) != 0) GTEST_SKIP() << "only root gives files away";
  expect_refusal("belongs to another user");
}

TEST_F(LedgerKey, IsNeverTakenFromAFileOfAnotherKind) {
  const auto write = [&](const std::string& content) {
    std::ofstream(signing_key_path(ledger_), std::ios::binary | std::ios::trunc) << content;
    ::chmod(signing_key_path(ledger_).c_str(), 0600);
  };
  for (const std::string& content : {std::string(32, 'k'), std::string(), std::string(5000, 'k'),
                                     std::string("-----BEGIN PRIVATE KEY-----\nAAAA\n")}) {
    write(content);
    expect_refusal("must hold an Ed25519 private key");
  }
}

TEST_F(LedgerKey, IsOneForProcessesThatMeetAnAbsentFile) {
  constexpr int kProcesses = 8;
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  for (int process = 0; process < kProcesses; ++process) {
    if (::fork() == 0) {
      const PublicKey key = find_or_make_signing_key(ledger_).public_key();
      ::_exit(::write(pipe_ends[1], key.data(), key.size()) == static_cast<ssize_t>(key.size()) ? 0 : 1);
    }
  }
  std::set<PublicKey> keys;
  for (int process = 0; process < kProcesses; ++process) {
    int status = -1;
    ::wait(&status);
    EXPECT_EQ(status, 0);
    PublicKey key{};
    ASSERT_EQ(::read(pipe_ends[0], key.data(), key.size()), static_cast<ssize_t>(key.size()));
    keys.insert(key);
  }
  EXPECT_EQ(keys.size(), 1U);
}

}  // namespace dpreduce::ledger_key_test
