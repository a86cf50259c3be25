// Lines between a coordinator and silos: cut, silent, dialed again, and by whom.
#include "network/network_wire.hpp"

#include "common/silos/payload.hpp"
#include "tests/network/network_parties.hpp"

namespace dpreduce::network_wire_test {

TEST(NetworkWire, BothEndsBindARunToTheirLineAndNobodyElseDoes) {
  NetworkParties parties(2);
  const auto first = parties.silo(1);
  const auto second = parties.silo(2);
  parties.begin();
  expect_talk(parties.coordinator(), 1, *first, 1);
  EXPECT_EQ(first->binding(0), parties.coordinator().binding(1));
  expect_talk(parties.coordinator(), 2, *second, 1);
  EXPECT_EQ(second->binding(0), parties.coordinator().binding(2));
  EXPECT_NE(first->binding(0), second->binding(0));
  EXPECT_NE(first->binding(0), LineBinding{});
}

// However a connection ends, wherever in a message: the line goes on, with the same bytes, and what binds it stays.
TEST(NetworkWire, MessagesOutliveConnectionsThatAreCut) {
  NetworkParties parties(1);
  LineProxy proxy(parties.port());
  const auto silo = parties.silo(1, proxy.port());
  parties.begin();
  expect_talk(parties.coordinator(), 1, *silo, 1);
  const LineBinding binding = silo->binding(0);
  for (const bool by_reset : {false, true}) {
    proxy.cut(by_reset);
    expect_talk(parties.coordinator(), 1, *silo, 5);
  }
  proxy.cut_every(100'000);
  expect_talk(parties.coordinator(), 1, *silo, 20, 30'000);
  EXPECT_GT(proxy.connections(), 6U);
  EXPECT_EQ(silo->binding(0), binding);
  EXPECT_EQ(parties.coordinator().binding(1), binding);
}

// A cable that is pulled ends no connection: signs of life fail to come.
TEST(NetworkWire, AConnectionOnWhichNothingComesIsDialedAgain) {
  NetworkParties parties(1);
  LineProxy proxy(parties.port());
  const auto silo = parties.silo(1, proxy.port());
  parties.begin();
  expect_talk(parties.coordinator(), 1, *silo, 1);
  proxy.set_silent(true);
  ASSERT_TRUE(parties.comes_to_log(1, "nothing has come for 2 s"));
  proxy.set_silent(false);
  expect_talk(parties.coordinator(), 1, *silo, 3);
}

TEST(NetworkWire, ASiloWhoseLineStaysBrokenIsLostAndLearnsThatTheCoordinatorIsGone) {
  NetworkParties parties(2, std::chrono::seconds(4));
  LineProxy proxy(parties.port());
  const auto cut_off = parties.silo(1, proxy.port());
  const auto other = parties.silo(2);
  parties.begin();
  expect_talk(parties.coordinator(), 1, *cut_off, 1);
  proxy.set_refusing(true);
  proxy.cut();
  const std::optional<Message> farewell = next_of(parties.coordinator());
  ASSERT_TRUE(farewell && farewell->is_farewell);
  EXPECT_EQ(farewell->from, 1U);
  EXPECT_THAT(std::string(text_in(farewell->bytes)), HasSubstr("was not restored within 1 s"));
  EXPECT_THAT(refusal<AggregationAborted>([&] { next_of(*cut_off); }), HasSubstr("the coordinator is unreachable"));
  expect_talk(parties.coordinator(), 2, *other, 2);
}

TEST(NetworkWire, ACoordinatorThatDiesOrLeavesEndsTheRunAtEachSiloWithTheReason) {
  for (const bool says_so : {true, false}) {
    NetworkParties parties(1, std::chrono::seconds(4));
    const auto silo = parties.silo(1);
    parties.begin();
    expect_talk(parties.coordinator(), 1, *silo, 1);
    if (says_so) parties.coordinator().leave("it has ended with exit code 3");
    parties.end_coordinator();
    const std::string why = refusal<AggregationAborted>([&] { next_of(*silo, std::chrono::seconds(10)); });
    EXPECT_THAT(why, HasSubstr(says_so ? "it has ended with exit code 3" : "its connection broke"));
  }
}

TEST(NetworkWire, WhoLeavesIsBelievedAtOnceAndAllOfItsMessagesComeBefore) {
  NetworkParties parties(1);
  const auto silo = parties.silo(1);
  parties.begin();
  ASSERT_TRUE(parties.comes_to_log(1, "connected with the coordinator"));
  for (std::size_t number = 0; number < 3; ++number) silo->send(0, message_of(number));
  silo->leave("its process has ended");
  for (std::size_t number = 0; number < 3; ++number) {
    EXPECT_EQ(next_of(parties.coordinator()).value().bytes, message_of(number));
  }
  EXPECT_TRUE(next_of(parties.coordinator()).value().is_farewell);
}

// Two machines with one identity: whoever came first stays, also while its line is broken.
TEST(NetworkWire, AnotherProcessOfAnIdentityIsRefusedAndTheFirstIsNotTouched) {
  NetworkParties parties(1);
  LineProxy proxy(parties.port());
  const auto first = parties.silo(1, proxy.port());
  ASSERT_TRUE(parties.comes_to_log(0, "connected with silo 1"));
  const auto second = parties.silo(1);
  EXPECT_THAT(refusal<AggregationAborted>([&] { next_of(*second); }), HasSubstr("another process with this identity"));
  EXPECT_TRUE(parties.comes_to_log(0, "was refused: another process with this identity is connected"));
  parties.begin();
  expect_talk(parties.coordinator(), 1, *first, 2);
  proxy.set_refusing(true);
  proxy.cut();
  ASSERT_TRUE(parties.comes_to_log(0, "is broken"));
  const auto third = parties.silo(1);
  EXPECT_THAT(refusal<AggregationAborted>([&] { third->wait_for_run([](const std::string&) {}); }),
              HasSubstr("a restarted one cannot join"));
  proxy.set_refusing(false);
  expect_talk(parties.coordinator(), 1, *first, 2);
}

// However often a silo's other process comes, the log does not grow with it.
TEST(NetworkWire, RefusalsOfASiloAreToldInABoundedNumberOfLines) {
  constexpr std::size_t kProcesses = Doorman::kLinesAtOnce + 5;
  NetworkParties parties(1);
  const auto first = parties.silo(1);
  ASSERT_TRUE(parties.comes_to_log(0, "connected with silo 1"));
  std::vector<std::unique_ptr<SiloWire>> others;
  for (std::size_t process = 0; process < kProcesses; ++process) others.push_back(parties.silo(1));
  for (const auto& other : others) {
    EXPECT_THAT(refusal<AggregationAborted>([&] { next_of(*other); }), HasSubstr("another process with this identity"));
  }
  const std::size_t told = parties.times_in_log(0, "was refused");
  EXPECT_GE(told, Doorman::kLinesAtOnce);
  EXPECT_LE(told, parties.most_refusals_told());
}

// Nothing was sealed yet: nothing is lost with it.
TEST(NetworkWire, BeforeTheRunAProcessThatHasGoneMayBeStartedAgain) {
  NetworkParties parties(2);
  const auto other = parties.silo(2);
  const auto first = parties.silo(1);
  ASSERT_TRUE(parties.comes_to_log(1, "connected with the coordinator"));
  first->leave("it has ended");
  ASSERT_TRUE(parties.comes_to_log(0, "silo 1 (n1) has left"));
  const auto again = parties.silo(1);
  parties.begin();
  expect_talk(parties.coordinator(), 1, *again, 2);
  EXPECT_EQ(again->binding(0), parties.coordinator().binding(1));
}

TEST(NetworkWire, ANameThatCannotBeResolvedEndsAfterTheTimeOfSilence) {
  NetworkParties parties(1, std::chrono::seconds(2), std::chrono::hours(1));
  const auto began = WireClock::now();
  SiloWire silo(parties.identity(1), parties.terms_of(1), NetworkAddress{"no-such-host.invalid", "7000"});
  EXPECT_THAT(refusal<AggregationAborted>([&] { silo.wait_for_run([](const std::string&) {}); }),
              AllOf(HasSubstr("the name no-such-host.invalid cannot be resolved"),
                    HasSubstr("check it (getent hosts no-such-host.invalid), or give")));
  EXPECT_GE(WireClock::now() - began, LineTimes::of(std::chrono::seconds(2)).silence);
}

TEST(NetworkWire, ASiloSaysHowLongItWaitsForTheRun) {
  NetworkParties parties(1, std::chrono::seconds(8), std::chrono::seconds(2));
  const auto silo = parties.silo(1);
  std::string told;
  EXPECT_THROW(silo->wait_for_run([&](const std::string& line) { told += line + "\n"; }), AggregationAborted);
  EXPECT_THAT(told, AllOf(HasSubstr("waiting for the coordinator at 127.0.0.1"),
                          HasSubstr("waiting for the run to begin"), HasSubstr("for at most --run-timeout 2 s")));
}

// A silo may wait for the others for hours: a line that breaks meanwhile, for however long, costs it nothing.
TEST(NetworkWire, BeforeTheRunALineMayStayBroken) {
  NetworkParties parties(1, std::chrono::seconds(4));
  LineProxy proxy(parties.port());
  const auto silo = parties.silo(1, proxy.port());
  ASSERT_TRUE(parties.comes_to_log(1, "connected with the coordinator"));
  proxy.set_refusing(true);
  proxy.cut();
  ASSERT_TRUE(parties.comes_to_log(0, "silo 1 (n1) is lost"));
  proxy.set_refusing(false);
  parties.begin();
  expect_talk(parties.coordinator(), 1, *silo, 2);
  EXPECT_EQ(silo->binding(0), parties.coordinator().binding(1));
  EXPECT_THAT(parties.log(1), Not(HasSubstr("the coordinator is lost")));
}

// The time of the run is over, and the coordinator is away: the silo ends, and does not wait for it.
TEST(NetworkWire, ASiloWithoutACoordinatorEndsWithItsTime) {
  NetworkParties parties(1, std::chrono::seconds(40), std::chrono::seconds(3));
  const auto silo = parties.silo(1);
  ASSERT_TRUE(parties.comes_to_log(1, "connected with the coordinator"));
  parties.end_coordinator();
  ASSERT_TRUE(parties.comes_to_log(1, "is broken"));
  EXPECT_THAT(refusal<AggregationAborted>([&] { silo->wait_for_run([](const std::string&) {}); }),
              HasSubstr("the run has not begun within --run-timeout"));
  const auto began = WireClock::now();
  silo->leave("it has ended");
  EXPECT_LT(WireClock::now() - began, std::chrono::seconds(5));
}

TEST(NetworkWire, TheRunBeginsAfterTheWaitWithThoseThatAreHere) {
  NetworkParties parties(3);
  const auto first = parties.silo(1);
  const auto third = parties.silo(3);
  std::vector<std::size_t> here;
  parties.coordinator().wait_for_silos(std::chrono::milliseconds(300), 2, [&](const std::vector<PartyStatus>& silos) {
    here.push_back(static_cast<std::size_t>(std::ranges::count(silos, LineState::kOpen, &PartyStatus::state)));
  });
  EXPECT_EQ(here.back(), 2U);
  const Message absent = next_of(parties.coordinator()).value();
  EXPECT_TRUE(absent.is_farewell);
  EXPECT_EQ(absent.from, 2U);
  const auto late = parties.silo(2);
  EXPECT_THAT(refusal<AggregationAborted>([&] { next_of(*late); }), HasSubstr("the run has begun without it"));
  expect_talk(parties.coordinator(), 3, *third, 1);
}

// What waits is bounded though messages are empty: the farewell behind them is read once some have been taken.
TEST(NetworkWire, MessagesWithoutBytesTakeNoMemoryWithoutBound) {
  constexpr std::size_t kMessages = 2 * LineRoom::kMostWaiting / PartyLine::kBesideMessage;
  NetworkParties parties(1, std::chrono::seconds(4));
  const auto silo = parties.silo(1);
  parties.begin();
  for (std::size_t message = 0; message < kMessages; ++message) silo->send(0, {});
  silo->leave("the end");
  EXPECT_EQ(parties.log(0).find("has left"), std::string::npos);
  for (std::size_t message = 0; message < kMessages; ++message) ASSERT_TRUE(next_of(parties.coordinator()));
  EXPECT_TRUE(parties.comes_to_log(0, "n1) has left: the end"));
}

// To be told that the run goes on without it, a silo that takes nothing is not waited for.
TEST(NetworkWire, ASmallMessageWaitsBehindNoLargeOnes) {
  NetworkParties parties(1, std::chrono::seconds(20));
  LineProxy proxy(parties.port());
  const auto silo = parties.silo(1, proxy.port());
  parties.begin();
  expect_talk(parties.coordinator(), 1, *silo, 1);
  proxy.set_silent(true);
  parties.coordinator().set_send_timeout(std::chrono::milliseconds(100));
  const auto fill = [&] {
    for (;;) parties.coordinator().send(1, message_of(1, std::size_t{1} << 20));
  };
  EXPECT_THAT(refusal<AggregationAborted>(fill), HasSubstr("does not accept the messages of this party within 0.1 s"));
  parties.coordinator().set_send_timeout(std::chrono::seconds(10));
  const auto began = WireClock::now();
  EXPECT_NO_THROW(parties.coordinator().send(1, message_of(1, 300)));
  EXPECT_LT(WireClock::now() - began, std::chrono::seconds(5));
}

// However many silos there are, what the coordinator keeps for all of them is bounded.
TEST(NetworkWire, LinesShareABoundedRoom) {
  EXPECT_EQ(LineRoom::of(1).kept, ReliableLink::kMostKept);
  EXPECT_EQ(LineRoom::of(5).waiting, LineRoom::kMostWaiting);
  for (const std::size_t lines : {1U, 16U, 17U, 100U, 1024U}) {
    EXPECT_LE(lines * LineRoom::of(lines).kept, LineRoom::kKeptByAll);
    EXPECT_LE(lines * LineRoom::of(lines).waiting, LineRoom::kWaitingForAll);
    EXPECT_GT(LineRoom::of(lines).kept, 0U);
  }
}

// Also where a line may keep less than a message.
TEST(NetworkWire, MessagesPassOverTheSmallestRoom) {
  ReliableLink link(LineRoom::of(kMostSilos).kept);
  const std::vector<std::byte> large(kLargestFrame);
  ASSERT_TRUE(link.has_room(large.size()));
  link.put(LinkKind::kMessage, large);
  EXPECT_FALSE(link.has_room(large.size()));
}

TEST(NetworkWire, ARunHasADeadline) {
  NetworkParties parties(1, std::chrono::seconds(8), std::chrono::milliseconds(100));
  const auto silo = parties.silo(1);
  EXPECT_THAT(refusal<AggregationAborted>([&] { next_of(*silo); }), HasSubstr("--run-timeout 0.1 s"));
}

TEST(NetworkAddress, HostAndPortAreReadAndWritten) {
  for (const std::string text : {"hub.example.org:7000", "127.0.0.1:0", "[::1]:7000", "[::]:65535"}) {
    EXPECT_EQ(parse_address("--listen", text).text(), text);
  }
  EXPECT_EQ(parse_address("--listen", "[::1]:7000").host, "::1");
}

TEST(NetworkAddress, WhatIsNoneIsRefusedWithTheOptionAndTheForm) {
  for (const std::string text :
       {"", "hub", "hub:", ":7000", "hub:70000", "hub:-1", "hub:70x", "::1:7000", "a b:1", "http://hub:80"}) {
    EXPECT_THAT(refusal<UsageError>([&] { parse_address("--connect", text); }),
                AllOf(HasSubstr("--connect " + text), HasSubstr("HOST:PORT")));
  }
}

}  // namespace dpreduce::network_wire_test
