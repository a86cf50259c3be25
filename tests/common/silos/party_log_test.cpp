#include "common/silos/party_log.hpp"

#include "tests/common/silos/memory_wire.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/testing.hpp"

namespace dpreduce::party_log_test {

using testing::MatchesRegex;

class PartyLogTest : public testing::Test {
 protected:
  std::vector<std::string> lines() const {
    std::ifstream file(path_);
    std::vector<std::string> all;
    for (std::string line; std::getline(file, line);) all.push_back(line);
    return all;
  }
  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "log";
};

TEST_F(PartyLogTest, EachLineIsThereAsSoonAsItIsMadeAndHasItsTime) {
  PartyLog log(path_);
  log.line("one");
  ASSERT_EQ(lines().size(), 1U);
  EXPECT_THAT(lines()[0], MatchesRegex("20[0-9-]+T[0-9:]+\\.[0-9][0-9][0-9]Z one"));
  PartyLog(path_).line("of another run");
  log.line("two\nlines\x7f");
  ASSERT_EQ(lines().size(), 3U);
  EXPECT_THAT(lines()[1], HasSubstr("of another run"));
  EXPECT_THAT(lines()[2], HasSubstr("two?lines?"));
}

TEST_F(PartyLogTest, IsItsOwnersAloneAlsoWhereItWasThere) {
  PartyLog(path_).line("one");
  EXPECT_EQ(std::filesystem::status(path_).permissions(), std::filesystem::perms(0600));
  std::filesystem::permissions(path_, std::filesystem::perms(0644));
  PartyLog(path_).line("two");
  EXPECT_EQ(std::filesystem::status(path_).permissions(), std::filesystem::perms(0600));
  EXPECT_EQ(lines().size(), 2U);
}

TEST_F(PartyLogTest, AFileThatIsNoLogIsRefusedAndStaysAsItIs) {
  for (const std::string text : {"rows", "rows that are longer than the time of a line\n"}) {
    std::ofstream(path_, std::ios::trunc) << text;
    EXPECT_THAT(refusal<BadInput>([&] { PartyLog log(path_); }), HasSubstr("already exists and is not a log"));
    EXPECT_EQ(lines().at(0) + (text.back() == '\n' ? "\n" : ""), text);
  }
}

TEST_F(PartyLogTest, PhasesTellTheBytesSinceTheOneBefore) {
  PartyLog log(path_);
  MessageQueues queues(2);
  MemoryWire plain(queues, 0);
  LoggedWire wire(plain, log);
  wire.send(1, std::vector<std::byte>(7));
  wire.send(1, std::vector<std::byte>(5));
  queues.post(0, {1, std::vector<std::byte>(3), false});
  EXPECT_EQ(wire.receive(WireClock::now())->bytes.size(), 3U);
  EXPECT_FALSE(wire.receive(WireClock::now()).has_value());
  log.end_phase("open", 1.5);
  log.end_phase("sums", 0.25);
  EXPECT_THAT(lines()[0], HasSubstr("phase open: 1.500 s, 12 bytes sent, 3 received"));
  EXPECT_THAT(lines()[1], HasSubstr("phase sums: 0.250 s, 0 bytes sent, 0 received"));
}

TEST_F(PartyLogTest, WithoutAPathThereIsNone) {
  PartyLog("").line("one");
  PartyLog none;
  none.line("one");
  none.end_phase("open", 1.0);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(PartyLogTest, WhatCannotBeWrittenIsNamed) {
  const std::string path = path_ + "/a.log";  // nobody has made that folder
  EXPECT_EQ(refusal<BadInput>([&] { PartyLog log(path); }),
            "--log " + path + ": cannot be written: No such file or directory");
}

}  // namespace dpreduce::party_log_test
