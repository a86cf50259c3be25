// What ranks of one job exchange is looked at before it is parsed.
#include "common/ranks/rank_archive.hpp"

#include "common/base/error.hpp"
#include "common/base/version.hpp"
#include "tests/testing.hpp"

namespace dpreduce::rank_archive_test {

using Words = std::vector<std::string>;

const Words kWords{"fit", "--mu", "", "1"};

TEST(RankArchive, DamageIsRefusedBeforeAnythingIsParsed) {
  const std::string archive = archived(kWords);
  EXPECT_EQ(unarchived<Words>(archive), kWords);
  for (std::size_t length = 0; length < archive.size(); ++length) {
    EXPECT_THROW(unarchived<Words>(archive.substr(0, length)), AggregationAborted) << length;
  }
  EXPECT_THROW(unarchived<Words>(archive + '\0'), AggregationAborted);
  for (std::size_t at = archive.find('\n') + 1; at < archive.size(); ++at) {
    std::string damaged = archive;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
    EXPECT_THROW(unarchived<Words>(damaged), AggregationAborted) << at;
  }
  EXPECT_THROW(unarchived<Words>("something else\n"), AggregationAborted);
}

TEST(RankArchive, AnotherTypeIsRefused) {
  EXPECT_THROW(unarchived<std::vector<double>>(archived(kWords)), AggregationAborted);
}

TEST(RankArchive, AnotherVersionIsRefusedByName) {
  const std::string archive = archived(kWords);
  const std::string ours = fmt::format("dpreduce archive 2 {} ", version());
  ASSERT_EQ(archive.substr(0, ours.size()), ours);
  for (const std::string& theirs :
       {fmt::format("dpreduce archive 1 {} ", version()), std::string("dpreduce archive 2 9.9 ")}) {
    expect_refusal<UsageError>([&] { unarchived<Words>(theirs + archive.substr(ours.size())); },
                               {"this rank runs dpreduce " + version(), "start the same program on all ranks"});
  }
}

}  // namespace dpreduce::rank_archive_test
