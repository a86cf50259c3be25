// What ranks of one job exchange is looked at before it is parsed.
#include "common/ranks/rank_archive.hpp"

#include "common/base/error.hpp"
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
  for (std::size_t at = 0; at < archive.size(); ++at) {
    std::string damaged = archive;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
    EXPECT_THROW(unarchived<Words>(damaged), AggregationAborted) << at;
  }
  EXPECT_THROW(unarchived<Words>("something else\n"), AggregationAborted);
}

TEST(RankArchive, AnotherTypeIsRefused) {
  EXPECT_THROW(unarchived<std::vector<double>>(archived(kWords)), AggregationAborted);
}

TEST(RankArchive, NumbersNeedNotBeFinite) {
  const std::vector<double> values{std::numeric_limits<double>::infinity(), 0.0};
  EXPECT_EQ(unarchived<std::vector<double>>(archived(values)), values);
}

// Whole messages, with their digests, around bytes that another Boost has made.
TEST(RankArchive, BytesThatAreNoArchiveOfTheValueAreRefused) {
  using Maybe = std::optional<std::uint64_t>;
  const auto message = [](const std::vector<std::byte>& value) {
    return framed_message(kind_of_archive<Maybe>(), value);
  };
  EXPECT_EQ(unarchived<Maybe>(message({std::byte{0}})), Maybe());
  EXPECT_THROW(unarchived<Maybe>(message({std::byte{1}})), AggregationAborted) << "the number is not there";
  EXPECT_THROW(unarchived<Maybe>(message({std::byte{0}, std::byte{0}})), AggregationAborted) << "more than the value";
}

}  // namespace dpreduce::rank_archive_test
