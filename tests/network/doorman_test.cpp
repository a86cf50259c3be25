// Who knocks at the coordinator's door and is nobody: silent, slow, old, foreign, many.
#include "network/doorman.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/read.hpp>
#include <openssl/ssl.h>

#include "common/silos/payload.hpp"
#include "tests/network/network_parties.hpp"
#include "tests/slow_tests.hpp"

namespace dpreduce::doorman_test {

using boost::asio::ip::tcp;

tcp::endpoint door_of(const NetworkParties& parties) {
  return local_port(parties.port());
}

// From one of the addresses of this machine: each of 127.0.0.0/8 is one on Linux.
void connect_from(tcp::socket& socket, const std::string& address, const NetworkParties& parties) {
  socket.open(tcp::v4());
  socket.bind({boost::asio::ip::make_address(address), 0});
  socket.connect(door_of(parties));
}

// The first record of a visitor with that context, which is a whole ClientHello.
std::vector<std::byte> hello_of(boost::asio::ssl::context& context) {
  const std::unique_ptr<SSL, decltype(&SSL_free)> visitor(SSL_new(context.native_handle()), &SSL_free);
  BIO* const said = BIO_new(BIO_s_mem());
  SSL_set_bio(visitor.get(), BIO_new(BIO_s_mem()), said);
  SSL_set_connect_state(visitor.get());
  SSL_do_handshake(visitor.get());
  std::vector<std::byte> hello(BIO_ctrl_pending(said));
  BIO_read(said, hello.data(), static_cast<int>(hello.size()));
  return hello;
}

// A visitor that says that, and stays.
tcp::socket visitor_saying(boost::asio::io_context& io, const NetworkParties& parties,
                           std::span<const std::byte> words) {
  tcp::socket socket(io);
  socket.connect(door_of(parties));
  boost::asio::write(socket, boost::asio::buffer(words.data(), words.size()));
  return socket;
}

// Greets as silo 1, and expects to be welcome.
void expect_welcome(TlsStream& stream) {
  boost::asio::write(stream, boost::asio::buffer(greeting_message(LinkKind::kGreeting, {{}, 0, 1})));
  std::vector<std::byte> answer(kLinkHeader);
  boost::system::error_code error;
  boost::asio::read(stream, boost::asio::buffer(answer), error);
  ASSERT_FALSE(error) << error.message();
  EXPECT_EQ(static_cast<LinkKind>(answer[0]), LinkKind::kWelcome);
}

// A connection of TLS by whoever has that context; the error with which it, or the first read, ends.
std::string end_of_handshake(boost::asio::io_context& io, boost::asio::ssl::context& context, tcp::endpoint door) {
  TlsStream stream(io, context);
  stream.next_layer().connect(door);
  boost::system::error_code error;
  stream.handshake(boost::asio::ssl::stream_base::client, error);
  std::array<char, 1> byte{};
  if (!error) stream.read_some(boost::asio::buffer(byte), error);
  return error.message();
}

TEST(Doorman, ForeignIdentitiesAndNoneAreRefusedByTls) {
  NetworkParties parties(1);
  boost::asio::io_context io;
  TlsIdentity foreign(Identity::generate(), {parties.identity(0).public_key()});
  EXPECT_THAT(end_of_handshake(io, foreign.context(), door_of(parties)), HasSubstr("certificate"));
  boost::asio::ssl::context nobody(boost::asio::ssl::context::tls_client);
  EXPECT_THAT(end_of_handshake(io, nobody, door_of(parties)), HasSubstr("certificate required"));
  EXPECT_TRUE(parties.comes_to_log(0, "does not belong to an admissible party"));
  EXPECT_TRUE(parties.comes_to_log(0, "peer did not return a certificate"));
  expect_talk(parties.coordinator(), 1, *parties.silo(1), 1);
}

// What a silo of another version greets with is shorter, or has another mark; it learns that at once.
TEST(Doorman, ASiloOfAnotherVersionLearnsThatItIsOne) {
  NetworkParties parties(1);
  std::vector<std::byte> other_mark = greeting_message(LinkKind::kGreeting, {});
  other_mark[kLinkHeader + 3] = std::byte{'1'};
  const std::vector<std::byte> shorter = PayloadWriter().number(1, 1).u32(44).take();
  for (const std::vector<std::byte>& greeting : {other_mark, shorter}) {
    BareSilo silo(parties);
    silo.say(greeting);
    std::vector<std::byte> answer(kLinkHeader + kLongestReason);
    boost::system::error_code end;
    answer.resize(boost::asio::read(silo.stream(), boost::asio::buffer(answer), end));
    LinkReader reader(LinkKind::kWelcome);
    reader.add(answer);
    const std::optional<LinkMessage> refused = reader.next();
    ASSERT_TRUE(refused && refused->kind == LinkKind::kRefusal);
    EXPECT_THAT(shown_reason(refused->bytes), HasSubstr("start the same version at all parties"));
  }
  EXPECT_TRUE(parties.comes_to_log(0, "was refused: a greeting of another protocol"));
}

// It has proved itself, and so has the coordinator: what it learns nobody else can have said.
TEST(Doorman, ASiloOfAnotherRosterLearnsThatItIsNotKnown) {
  NetworkParties parties(1);
  SiloWire stranger(Identity::generate(), parties.terms_of(1), parse_address("", parties.coordinator().address()));
  EXPECT_THAT(refusal<AggregationAborted>([&] { next_of(stranger); }), HasSubstr("does not know this silo"));
}

TEST(Doorman, OlderTlsIsRefused) {
  NetworkParties parties(1);
  boost::asio::io_context io;
  TlsIdentity silo(parties.identity(1), {parties.identity(0).public_key()});
  SSL_CTX_set_min_proto_version(silo.context().native_handle(), TLS1_2_VERSION);
  SSL_CTX_set_max_proto_version(silo.context().native_handle(), TLS1_2_VERSION);
  EXPECT_THAT(end_of_handshake(io, silo.context(), door_of(parties)), HasSubstr("protocol version"));
  EXPECT_TRUE(parties.comes_to_log(0, "unsupported protocol"));
}

// The silo looks as closely: another coordinator gets not even a greeting.
TEST(Doorman, ASiloGreetsTheCoordinatorOfItsRosterAlone) {
  NetworkParties parties(1);
  NetworkParties others(1);
  const auto silo = parties.silo(1, others.port());
  EXPECT_TRUE(parties.comes_to_log(1, "does not belong to an admissible party"));
  EXPECT_THAT(others.log(0), Not(HasSubstr("connected with")));
}

TEST(Doorman, WhatIsNoTlsIsRefused) {
  NetworkParties parties(1);
  boost::asio::io_context io;
  tcp::socket socket(io);
  socket.connect(door_of(parties));
  const std::string words = "GET / HTTP/1.1\r\n\r\n";
  boost::asio::write(socket, boost::asio::buffer(words));
  EXPECT_TRUE(parties.comes_to_log(0, "was refused: "));
}

// Each takes a socket and nothing else, kMostVisitors at most are kept, and an honest silo is let in at once.
TEST(Doorman, SilentConnectionsKeepNobodyOut) {
  const std::size_t kSilent = runs_slow_tests() ? 5000 : 300;
  NetworkParties parties(1, std::chrono::seconds(40));
  boost::asio::io_context io;
  std::vector<tcp::socket> silent;
  for (std::size_t number = 0; number < kSilent; ++number) {
    silent.emplace_back(io);
    boost::system::error_code error;
    silent.back().connect(door_of(parties), error);
    if (error) silent.pop_back();
  }
  const auto began = WireClock::now();
  const auto silo = parties.silo(1);
  parties.begin();
  expect_talk(parties.coordinator(), 1, *silo, 3);
  EXPECT_LT(WireClock::now() - began, LineTimes::of(std::chrono::seconds(40)).visit) << "until a place is free";
  EXPECT_TRUE(parties.comes_to_log(0, "others are waiting to authenticate"));
}

// 600 visitors that say one byte of a record, where there are 64 places and 200 handshakes a second: one that is about
// to prove itself keeps its place, and the next one needs no second try.
TEST(Doorman, OneByteTakesNoPlaceAndNoHandshake) {
  NetworkParties parties(1, std::chrono::seconds(40));
  boost::asio::io_context io;
  BareSilo before(parties);
  std::vector<tcp::socket> flood;
  for (std::size_t visitor = 0; visitor < 600; ++visitor) {
    flood.push_back(visitor_saying(io, parties, std::vector{std::byte{22}}));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // so that each is heard before the next one comes
  }
  expect_welcome(before.stream());
  BareSilo after(parties);
  expect_welcome(after.stream());
}

// All of a record but its last byte, a record that is too long, one that is cut in two, and other records.
TEST(Doorman, OnlyAWholeFirstRecordIsShownToTls) {
  NetworkParties parties(1, std::chrono::seconds(4));
  boost::asio::io_context io;
  TlsIdentity own(parties.identity(1), {parties.identity(0).public_key()});
  const std::vector<std::byte> hello = hello_of(own.context());
  ASSERT_LT(hello.size(), 1000U);
  const auto changed = [&](std::size_t place, int byte) {
    std::vector<std::byte> other = hello;
    other.at(place) = static_cast<std::byte>(byte);
    return other;
  };
  std::vector<tcp::socket> visitors;
  visitors.push_back(visitor_saying(io, parties, std::span(hello).first(hello.size() - 1)));
  EXPECT_TRUE(parties.comes_to_log(0, "no TLS hello within 0.5 s"));
  visitors.push_back(visitor_saying(io, parties, changed(3, 0x11)));  // 4352 bytes and more
  EXPECT_TRUE(parties.comes_to_log(0, "its first bytes are not a TLS hello", 1));
  visitors.push_back(visitor_saying(io, parties, changed(0, 23)));
  EXPECT_TRUE(parties.comes_to_log(0, "its first bytes are not a TLS hello", 2));
  visitors.push_back(visitor_saying(io, parties, changed(5, 2)));  // another message than a hello
  EXPECT_TRUE(parties.comes_to_log(0, "its first record is not a complete TLS hello", 1));
  visitors.push_back(visitor_saying(io, parties, changed(7, 0x7f)));  // a hello of more than this record
  EXPECT_TRUE(parties.comes_to_log(0, "its first record is not a complete TLS hello", 2));
  EXPECT_EQ(parties.times_in_log(0, "was refused"), 5U);
}

// It waits before its handshake, from where others have failed; it is let in all the same.
TEST(Doorman, WhoComesFromWhereVisitsHaveFailedWaits) {
  constexpr auto kTimeout = std::chrono::seconds(40);
  constexpr std::size_t kFailures = 20;
  NetworkParties parties(1, kTimeout);
  boost::asio::io_context io;
  for (std::size_t visit = 1; visit <= kFailures; ++visit) {
    tcp::socket socket(io);
    connect_from(socket, "127.0.0.2", parties);
    boost::asio::write(socket, boost::asio::buffer("GET /"));
    std::array<char, 1> byte{};
    boost::system::error_code end;
    socket.read_some(boost::asio::buffer(byte), end);  // it was turned away
  }
  TlsIdentity own(parties.identity(1), {parties.identity(0).public_key()});
  TlsStream stream(io, own.context());
  const auto began = WireClock::now();
  connect_from(stream.next_layer(), "127.0.0.2", parties);
  stream.handshake(boost::asio::ssl::stream_base::client);
  EXPECT_GE(WireClock::now() - began, LineTimes::of(kTimeout).visit / 16);
  expect_welcome(stream);
}

// Else one new address a while would keep out for ever whoever is far away and has failed once.
TEST(Doorman, VisitorsFromManyAddressesKeepNobodyOutWhoHasFailed) {
  NetworkParties parties(1, std::chrono::seconds(40));
  boost::asio::io_context io;
  tcp::socket failed(io);
  connect_from(failed, "127.0.0.2", parties);
  boost::asio::write(failed, boost::asio::buffer("GET /"));
  EXPECT_TRUE(parties.comes_to_log(0, "its first bytes are not a TLS hello"));
  std::vector<tcp::socket> silent;
  const auto come = [&](int visitors) {
    for (int visitor = 0; visitor < visitors; ++visitor) {
      silent.emplace_back(io);
      connect_from(silent.back(), fmt::format("127.0.1.{}", silent.size()), parties);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));  // so that each is heard before the next one comes
    }
  };
  come(64);
  TlsIdentity own(parties.identity(1), {parties.identity(0).public_key()});
  TlsStream stream(io, own.context());
  connect_from(stream.next_layer(), "127.0.0.2", parties);
  come(20);  // before its first record is there
  boost::system::error_code end;
  stream.handshake(boost::asio::ssl::stream_base::client, end);
  ASSERT_FALSE(end) << end.message();
  expect_welcome(stream);
}

TEST(FailedVisits, EachFailureDoublesTheWaitUpToABoundAndASuccessEndsIt) {
  using std::chrono::milliseconds;
  FailedVisits failed;
  const FailedVisits::Clock::time_point now{};
  constexpr milliseconds kMost{1000};
  EXPECT_EQ(failed.wait("a", now, kMost), milliseconds(0));
  for (milliseconds due = FailedVisits::kFirstWait; due <= kMost; due *= 2) {
    failed.add("a", now);
    EXPECT_EQ(failed.wait("a", now, kMost), due);
  }
  for (int failure = 0; failure < 100; ++failure) failed.add("a", now);
  EXPECT_EQ(failed.wait("a", now, kMost), kMost);
  EXPECT_EQ(failed.count("b", now), 0U) << "another address";
  EXPECT_EQ(failed.count("a", now + FailedVisits::kForgottenAfter + milliseconds(1)), 0U);
  failed.forget("a");
  EXPECT_EQ(failed.wait("a", now, kMost), milliseconds(0));
}

TEST(FailedVisits, TheTableIsBoundedAndForgetsTheOldest) {
  FailedVisits failed;
  FailedVisits::Clock::time_point now{};
  for (std::size_t address = 0; address < 2 * FailedVisits::kMostAddresses; ++address) {
    failed.add(fmt::format("{}", address), now += std::chrono::microseconds(1));
  }
  EXPECT_EQ(failed.addresses(), FailedVisits::kMostAddresses);
  EXPECT_EQ(failed.count("0", now), 0U);
  EXPECT_EQ(failed.count(fmt::format("{}", 2 * FailedVisits::kMostAddresses - 1), now), 1U);
}

// Whoever has one address of IPv6 has 2^64.
TEST(FailedVisits, AnAddressStandsForItsNetwork) {
  const auto network = [](const char* text) { return FailedVisits::network_of(boost::asio::ip::make_address(text)); };
  EXPECT_EQ(network("2001:db8:1:2::3"), network("2001:db8:1:2:ffff::4"));
  EXPECT_NE(network("2001:db8:1:2::3"), network("2001:db8:1:3::3"));
  EXPECT_EQ(network("::ffff:192.0.2.1"), network("192.0.2.1"));
  EXPECT_NE(network("192.0.2.1"), network("192.0.2.2"));
}

// A byte a while, inside TLS or before it: the time to prove oneself is for all of it.
TEST(Doorman, SlowVisitorsAreTurnedAway) {
  NetworkParties parties(1, std::chrono::seconds(2));
  boost::asio::io_context io;
  tcp::socket before(io);
  before.connect(door_of(parties));
  BareSilo inside(parties);
  boost::system::error_code error;
  const std::vector<std::byte> greeting = greeting_message(LinkKind::kGreeting, {});
  for (std::size_t byte = 0; byte < 20 && !error; ++byte) {
    const std::array<std::uint8_t, 6> hello{22, 3, 1, 1, 0, 1};  // of a handshake, without end
    before.write_some(boost::asio::buffer(&hello[std::min<std::size_t>(byte, 5)], 1), error);
    inside.stream().write_some(boost::asio::buffer(&greeting[byte], 1), error);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_TRUE(parties.comes_to_log(0, "no authentication within 0.5 s"));
  EXPECT_TRUE(parties.comes_to_log(0, "no TLS hello within 0.25 s"));
  EXPECT_THAT(parties.log(0), Not(HasSubstr("connected with")));
}

// Of a flood some handshakes are made in a second, and the others cost a socket. A silo dials until it is let in.
TEST(Doorman, FloodsOfHandshakesAreMadeAtABoundedRate) {
  NetworkParties parties(1);
  boost::asio::io_context io;
  TlsIdentity foreign(Identity::generate(), {parties.identity(0).public_key()});
  std::size_t made = 0;
  const auto begun = std::chrono::steady_clock::now();
  for (std::size_t number = 0; number < 600; ++number) {
    TlsStream stream(io, foreign.context());
    connect_from(stream.next_layer(), fmt::format("127.0.{}.{}", 1 + number / 200, 1 + number % 200), parties);
    boost::system::error_code error;
    stream.handshake(boost::asio::ssl::stream_base::client, error);
    if (!error) ++made;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  EXPECT_LE(static_cast<double>(made), Doorman::kHandshakesPerSecond * (took.count() + 1.0))
      << "whatever the machine's speed";
  const auto silo = parties.silo(1);
  parties.begin();
  expect_talk(parties.coordinator(), 1, *silo, 3);
  const std::size_t told = parties.times_in_log(0, "was refused");
  EXPECT_GE(told, Doorman::kLinesAtOnce);
  EXPECT_LE(told, parties.most_refusals_told());
  parties.end_coordinator();
  EXPECT_THAT(parties.log(0), HasSubstr("further connections were refused"));
}

}  // namespace dpreduce::doorman_test
