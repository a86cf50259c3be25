#include "common/base/error.hpp"
#include "common/silos/payload.hpp"
#include "network/party_line.hpp"
#include "tests/testing.hpp"

namespace dpreduce::link_message_test {

using Bytes = std::vector<std::byte>;

Bytes operator+(Bytes first, const Bytes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Bytes header(int kind, std::uint32_t length) {
  return PayloadWriter().number(static_cast<std::uint64_t>(kind), 1).u32(length).take();
}

std::string fault(LinkKind first, const Bytes& come) {
  return refusal<AggregationAborted>([&] {
    LinkReader reader(first);
    reader.add(come);
    while (reader.next()) {
    }
  });
}

Bytes copy(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

const Bytes kGreeting = greeting_message(LinkKind::kGreeting, {{}, 7});

TEST(LinkReader, MessagesAreCutWhereverBytesBreak) {
  const Bytes frame(100, std::byte{5});
  const Bytes all = kGreeting + numbered_message(LinkKind::kMessage, 1, frame) +
                    numbered_message(LinkKind::kReceived, 9) + numbered_message(LinkKind::kLeave, 2, bytes_in("done"));
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, all.size()}) {
    LinkReader reader(LinkKind::kGreeting);
    std::vector<LinkMessage> messages;
    for (std::size_t first = 0; first < all.size(); first += step) {
      reader.add(std::span(all).subspan(first, std::min(step, all.size() - first)));
      while (auto message = reader.next()) messages.push_back(*message);
    }
    ASSERT_EQ(messages.size(), 4U);
    EXPECT_EQ(messages[0].greeting.received, 7U);
    EXPECT_EQ(messages[1].bytes, frame);
    EXPECT_EQ(messages[2].number, 9U);
    EXPECT_EQ(shown_reason(messages[3].bytes), "done");
  }
}

// A length is refused as soon as it is said, however little of the message has come.
TEST(LinkReader, LengthsAreLookedAtBeforeThereIsMemory) {
  EXPECT_THAT(fault(LinkKind::kGreeting, header(1, 53)), HasSubstr("with a stated length of 53 bytes"));
  EXPECT_THAT(fault(LinkKind::kGreeting, header(1, 51)), HasSubstr("with a stated length of 51 bytes"));
  const auto largest = static_cast<std::uint32_t>(8 + kLargestFrame);
  EXPECT_EQ(fault(LinkKind::kGreeting, kGreeting + header(4, largest)), "");
  EXPECT_THAT(fault(LinkKind::kGreeting, kGreeting + header(4, largest + 1)), HasSubstr("with a stated length of"));
  EXPECT_THAT(fault(LinkKind::kGreeting, kGreeting + header(4, 0xffffffff)),
              HasSubstr("with a stated length of 4294967295"));
  EXPECT_THAT(fault(LinkKind::kGreeting, kGreeting + header(5, 8 + kLongestReason + 1)),
              HasSubstr("with a stated length of"));
  EXPECT_THAT(fault(LinkKind::kGreeting, kGreeting + header(6, 7)), HasSubstr("with a stated length of 7"));
}

TEST(LinkReader, AGreetingComesFirstAndOnce) {
  EXPECT_THAT(fault(LinkKind::kGreeting, numbered_message(LinkKind::kReceived, 1)), HasSubstr("an unexpected message"));
  EXPECT_THAT(fault(LinkKind::kGreeting, kGreeting + kGreeting), HasSubstr("an unexpected message"));
  EXPECT_THAT(fault(LinkKind::kGreeting, refusal_message("no")), HasSubstr("an unexpected message"));
  EXPECT_THAT(fault(LinkKind::kWelcome, kGreeting), HasSubstr("an unexpected message"));
  EXPECT_EQ(fault(LinkKind::kWelcome, refusal_message("no")), "");
  EXPECT_THAT(fault(LinkKind::kGreeting, header(9, 1)), HasSubstr("unknown kind 9"));
  Bytes other = kGreeting;
  other[kLinkHeader + 3] = std::byte{'1'};
  EXPECT_THAT(fault(LinkKind::kGreeting, other), HasSubstr("another protocol"));
}

TEST(LinkMessage, ReasonsAreShownAsPlainTextOfBoundedLength) {
  EXPECT_EQ(shown_reason(bytes_in("a\n\x1b[2Jb")), "a??[2Jb");
  EXPECT_EQ(shown_reason(Bytes(1000, std::byte{'x'})).size(), kLongestReason);
}

TEST(ReliableLink, WhatTheOtherEndHasNotReceivedIsSentAgainByteForByte) {
  ReliableLink link;
  for (const char* message : {"a", "bb", "ccc"}) link.put(LinkKind::kMessage, bytes_in(message));
  link.next();
  const Bytes second = copy(link.next());
  link.begin_connection(1);  // the second was on its way
  EXPECT_EQ(copy(link.next()), second);
  EXPECT_EQ(copy(link.next()), numbered_message(LinkKind::kMessage, 3, bytes_in("ccc")));
  EXPECT_TRUE(link.next().empty());
  EXPECT_FALSE(link.is_settled());
  link.take_received(3);
  EXPECT_TRUE(link.is_settled());
}

TEST(ReliableLink, NobodyReceivesWhatWasNotSentNorTakesItBack) {
  ReliableLink link;
  link.put(LinkKind::kMessage, bytes_in("a"));
  link.put(LinkKind::kMessage, bytes_in("b"));
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
  const Bytes large(kLargestFrame);
  std::size_t messages = 0;
  for (; link.has_room(large.size()); ++messages) link.put(LinkKind::kMessage, large);
  EXPECT_EQ(messages, ReliableLink::kMostKept / large.size() + 1);
  link.next();
  link.take_received(1);
  EXPECT_TRUE(link.has_room(large.size()));
}

}  // namespace dpreduce::link_message_test
