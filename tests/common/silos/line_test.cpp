// Times of a line are stated, none is waited for; those of a wire are.
#include "common/silos/line.hpp"

#include "tests/common/silos/memory_wire.hpp"
#include "tests/testing.hpp"

namespace dpreduce::line_test {

using std::chrono::milliseconds;

constexpr double kMegabit = 1e6 / 8;

WireClock::time_point at(double seconds) {
  return WireClock::time_point() + std::chrono::round<WireClock::duration>(std::chrono::duration<double>(seconds));
}

Message message_of(std::size_t length, std::uint32_t from = 1) {
  return {from, std::vector<std::byte>(length), false};
}

Line line_of(const LineTerms& terms) {
  Line line;
  line.set(terms);
  return line;
}

// When the first message arrives, to a microsecond; it is taken.
double arrival(Line& line, double after) {
  constexpr double kStep = 1e-6;
  double early = after;
  double late = after + 1e5;
  while (late - early > kStep) {  // a message that has not arrived stays
    Line copy = line;
    const double middle = (early + late) / 2;
    (copy.take(at(middle)) ? late : early) = middle;
  }
  EXPECT_TRUE(line.take(at(late)).has_value());
  return late;
}

TEST(Line, WithoutTermsAMessageHasArrivedWhenItIsPutIn) {
  Line line;
  line.put(message_of(1 << 20), at(5));
  EXPECT_FALSE(line.take(at(5) - milliseconds(1)).has_value());
  EXPECT_TRUE(line.take(at(5)).has_value());
  EXPECT_TRUE(line.empty());
}

TEST(Line, AMessageTakesHalfARoundTripAndItsLengthOverTheRate) {
  Line line = line_of({.round_trip = 0.2, .bandwidth = 100 * kMegabit});
  line.put(message_of(1250000), at(3));  // a tenth of a second
  EXPECT_NEAR(arrival(line, 3), 3 + 0.1 + 0.1, 2e-6);
}

TEST(Line, MessagesLeaveOneAfterTheOtherAndTheirLatenciesOverlap) {
  Line line = line_of({.round_trip = 10, .bandwidth = 1000});
  for (int message = 0; message < 3; ++message) line.put(message_of(2000), at(1));
  line.put(message_of(0), at(100));  // the line is free again
  for (const double expected : {8.0, 10.0, 12.0, 105.0}) EXPECT_NEAR(arrival(line, 1), expected, 2e-6);
}

TEST(Line, LossLowersTheRateToWhatTcpMakesOfIt) {
  const LineTerms lossy{.round_trip = 0.1, .bandwidth = 1000 * kMegabit, .loss = 0.01};
  EXPECT_NEAR(bytes_per_second(lossy), std::sqrt(150.0) * 14600, 1e-6);
  Line line = line_of(lossy);
  line.put(message_of(100000), at(0));
  EXPECT_NEAR(arrival(line, 0), 0.05 + 100000 / (std::sqrt(150.0) * 14600), 2e-6);
  EXPECT_EQ(bytes_per_second({.round_trip = 0.1, .bandwidth = kMegabit, .loss = 1e-6}), kMegabit);
  EXPECT_EQ(bytes_per_second({.round_trip = 0.0, .bandwidth = kMegabit, .loss = 0.5}), kMegabit);
  EXPECT_EQ(bytes_per_second({.round_trip = 0.1, .bandwidth = kMegabit, .loss = 0.0}), kMegabit);
}

TEST(Line, MessagesKeepTheirOrderWhateverTheirLengths) {
  std::mt19937 lengths(1);
  Line line = line_of({.round_trip = 0.04, .bandwidth = 10 * kMegabit, .loss = 0.001});
  double now = 0.0;
  std::uint32_t next = 0;
  const auto take_all = [&] {
    while (const auto message = line.take(at(now))) EXPECT_EQ(message->from, next++);
  };
  for (std::uint32_t number = 0; number < 1000; ++number, now += 0.001) {
    if (number == 300) line.set({.round_trip = 2.0, .bandwidth = kMegabit});
    if (number == 500) line.set({.round_trip = 0.0});  // those that are slower go first all the same
    line.put(message_of(lengths() % 5000, number), at(now));
    take_all();
  }
  now = 1e6;
  take_all();
  EXPECT_EQ(next, 1000U);
}

TEST(Line, CutShortAllHasArrivedInItsOrderAndNothingIsHeldAnyMore) {
  Line line = line_of({.round_trip = 1000, .bandwidth = 1});
  line.put(message_of(10, 1), at(0));
  line.put(message_of(10, 2), at(0));
  line.cut_short();
  line.put({3, {}, true}, at(1));
  for (const std::uint32_t expected : {1U, 2U, 3U}) EXPECT_EQ(line.take(at(1)).value().from, expected);
}

TEST(Line, WhatTakesLongerThanClocksCountArrivesAfterAnyTimeout) {
  Line line = line_of({.round_trip = 1e6, .bandwidth = kMegabit, .loss = 0.99});  // some 0.002 bytes a second
  line.put(message_of(64 << 20, 1), at(0));
  EXPECT_FALSE(line.take(at(2e6)).has_value());
  EXPECT_TRUE(line.take(at(2e7)).has_value());
}

TEST(Line, ALineThatMovesNothingIsRefused) {
  EXPECT_THROW(line_of({.round_trip = 0.0, .bandwidth = 0.0}), std::logic_error);
  EXPECT_THROW(line_of({.round_trip = -1.0}), std::logic_error);
}

class LineWireTest : public testing::Test {
 protected:
  static std::optional<Message> next_of(Wire& wire) {
    return wire.receive(WireClock::now() + std::chrono::seconds(20));
  }
  double seconds() const { return seconds_of(WireClock::now() - began_); }

  MessageQueues queues_{2};
  MemoryWire coordinator_{queues_, 0};
  MemoryWire own_{queues_, 1};
  WireClock::time_point began_ = WireClock::now();
};

TEST_F(LineWireTest, MessagesTakeTheTimeOfTheLineInEitherDirection) {
  LineWire silo(own_);
  coordinator_.send(1, std::vector<std::byte>(1));
  EXPECT_TRUE(silo.receive(WireClock::now()).has_value()) << "without a line at once";
  silo.set_line({.round_trip = 0.4});
  began_ = WireClock::now();
  silo.send(0, std::vector<std::byte>(2));
  coordinator_.send(1, std::vector<std::byte>(3));
  EXPECT_FALSE(silo.receive(began_ + milliseconds(100)).has_value());
  EXPECT_EQ(next_of(silo)->bytes.size(), 3U);
  EXPECT_GE(seconds(), 0.2);
  EXPECT_EQ(next_of(coordinator_)->bytes.size(), 2U);
  EXPECT_GE(seconds(), 0.2);
}

TEST_F(LineWireTest, TheEndOfTheCoordinatorTakesNoTimeAndWhatWasSentStillArrives) {
  {
    LineWire silo(own_);
    silo.set_line({.round_trip = 20});
    queues_.post(1, {0, {}, true});
    EXPECT_TRUE(next_of(silo)->is_farewell);
    EXPECT_LT(seconds(), 9);
  }
  {
    LineWire silo(own_);
    silo.set_line({.round_trip = 0.4});
    silo.send(0, std::vector<std::byte>(5));
  }
  EXPECT_EQ(coordinator_.receive(WireClock::now())->bytes.size(), 5U);
}

}  // namespace dpreduce::line_test
