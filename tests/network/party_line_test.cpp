#include "network/party_line.hpp"

#include "common/base/error.hpp"
#include "tests/testing.hpp"

namespace dpreduce::party_line_test {

std::vector<std::byte> text(std::string_view letters) {
  const auto bytes = std::as_bytes(std::span(letters));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> copy(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

TEST(ReliableLink, WhatTheOtherEndHasNotReceivedIsSentAgainByteForByte) {
  ReliableLink link;
  for (const char* message : {"a", "bb", "ccc"}) link.put(LinkKind::kMessage, text(message));
  link.next();
  const std::vector<std::byte> second = copy(link.next());
  link.begin_connection(1);  // the second was on its way
  EXPECT_EQ(copy(link.next()), second);
  EXPECT_EQ(copy(link.next()), numbered_message(LinkKind::kMessage, 3, text("ccc")));
  EXPECT_TRUE(link.next().empty());
  EXPECT_FALSE(link.is_settled());
  link.take_received(3);
  EXPECT_TRUE(link.is_settled());
}

TEST(ReliableLink, NobodyReceivesWhatWasNotSentNorTakesItBack) {
  ReliableLink link;
  link.put(LinkKind::kMessage, text("a"));
  link.put(LinkKind::kMessage, text("b"));
  EXPECT_THROW(link.take_received(1), AggregationAborted);  // nothing has left
  link.next();
  EXPECT_THROW(link.take_received(2), AggregationAborted);
  link.take_received(1);
  EXPECT_THROW(link.take_received(0), AggregationAborted);
  EXPECT_THROW(link.begin_connection(0), AggregationAborted);
  EXPECT_NO_THROW(link.begin_connection(1));
}

TEST(ReliableLink, NumbersComeInOrderAndOnce) {
  ReliableLink link;
  link.take_number(1);
  EXPECT_THROW(link.take_number(1), AggregationAborted);
  EXPECT_THROW(link.take_number(3), AggregationAborted);
  link.take_number(2);
  EXPECT_EQ(link.received(), 2U);
}

TEST(ReliableLink, WhatIsKeptIsBounded) {
  ReliableLink link;
  const std::vector<std::byte> large(kLargestFrame);
  std::size_t messages = 0;
  for (; link.has_room(large.size()); ++messages) link.put(LinkKind::kMessage, large);
  EXPECT_EQ(messages, ReliableLink::kMostKept / large.size() + 1);
  link.next();
  link.take_received(1);
  EXPECT_TRUE(link.has_room(large.size()));
}

}  // namespace dpreduce::party_line_test
