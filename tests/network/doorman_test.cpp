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

// The first record of a visitor with that context, which is a whole ClientHello.
std::string hello_of(boost::asio::ssl::context& context) {
  const std::unique_ptr<SSL, decltype(&SSL_free)> visitor(SSL_new(context.native_handle()), &SSL_free);
  BIO* const said = BIO_new(BIO_s_mem());
  SSL_set_bio(visitor.get(), BIO_new(BIO_s_mem()), said);
  SSL_set_connect_state(visitor.get());
  SSL_do_handshake(visitor.get());
  std::string hello(BIO_ctrl_pending(said), '\0');
  BIO_read(said, hello.data(), static_cast<int>(hello.size()));
  return hello;
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

class DoormanTest : public testing::Test {
 protected:
  DoormanTest() { open_door(std::chrono::seconds(8)); }
  // Starts another coordinator of silo 1, under that timeout.
  void open_door(std::chrono::milliseconds silo_timeout) {
    parties_.emplace(1, silo_timeout);
    own_.emplace(parties_->identity(1), std::vector{parties_->identity(0).public_key()});
  }
  tcp::endpoint door() const { return local_port(parties_->port()); }
  // A visitor that says that, and stays. Each of 127.0.0.0/8 is an address of this machine on Linux.
  tcp::socket visitor(std::string_view words, const std::string& from = "127.0.0.1") {
    tcp::socket socket(io_);
    connect_from(socket, from);
    boost::asio::write(socket, boost::asio::buffer(words));
    return socket;
  }
  void connect_from(tcp::socket& socket, const std::string& from) {
    socket.open(tcp::v4());
    socket.bind({boost::asio::ip::make_address(from), 0});
    socket.connect(door());
  }
  // A connection of TLS by whoever has that context; the error with which it, or the first read, ends.
  std::string end_of_handshake(boost::asio::ssl::context& context) {
    TlsStream stream(io_, context);
    stream.next_layer().connect(door());
    boost::system::error_code error;
    stream.handshake(boost::asio::ssl::stream_base::client, error);
    std::array<char, 1> byte{};
    if (!error) stream.read_some(boost::asio::buffer(byte), error);
    return error.message();
  }
  bool comes_to_log(const std::string& text, std::size_t times = 1) const {
    return parties_->comes_to_log(0, text, times);
  }
  void expect_run_with_silo() {
    const auto silo = parties_->silo(1);
    parties_->begin();
    expect_talk(parties_->coordinator(), 1, *silo, 3);
  }

  std::optional<NetworkParties> parties_;
  boost::asio::io_context io_;
  std::optional<TlsIdentity> own_;  // that of silo 1
};

TEST_F(DoormanTest, ForeignIdentitiesAndNoneAreRefusedByTls) {
  TlsIdentity foreign(Identity::generate(), {parties_->identity(0).public_key()});
  EXPECT_THAT(end_of_handshake(foreign.context()), HasSubstr("certificate"));
  boost::asio::ssl::context nobody(boost::asio::ssl::context::tls_client);
  EXPECT_THAT(end_of_handshake(nobody), HasSubstr("certificate required"));
  EXPECT_TRUE(comes_to_log("does not belong to an admissible party"));
  EXPECT_TRUE(comes_to_log("peer did not return a certificate"));
  expect_talk(parties_->coordinator(), 1, *parties_->silo(1), 1);
}

// What a silo of another version greets with is shorter, or has another mark; it learns that at once.
TEST_F(DoormanTest, ASiloOfAnotherVersionLearnsThatItIsOne) {
  std::vector<std::byte> other_mark = greeting_message(LinkKind::kGreeting, {});
  other_mark[kLinkHeader + 3] = std::byte{'1'};
  const std::vector<std::byte> shorter = PayloadWriter().number(1, 1).u32(44).take();
  for (const std::vector<std::byte>& greeting : {other_mark, shorter}) {
    BareSilo silo(*parties_);
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
  EXPECT_TRUE(comes_to_log("was refused: a greeting of another protocol"));
}

// It has proved itself, and so has the coordinator: what it learns nobody else can have said.
TEST_F(DoormanTest, ASiloOfAnotherRosterLearnsThatItIsNotKnown) {
  SiloWire stranger(Identity::generate(), parties_->terms_of(1), parse_address("", parties_->coordinator().address()));
  EXPECT_THAT(refusal<AggregationAborted>([&] { next_of(stranger); }), HasSubstr("does not know this silo"));
}

TEST_F(DoormanTest, OlderTlsIsRefused) {
  SSL_CTX* const context = own_->context().native_handle();
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
  EXPECT_THAT(end_of_handshake(own_->context()), HasSubstr("protocol version"));
  EXPECT_TRUE(comes_to_log("unsupported protocol"));
}

// The silo looks as closely: another coordinator gets not even a greeting.
TEST_F(DoormanTest, ASiloGreetsTheCoordinatorOfItsRosterAlone) {
  NetworkParties others(1);
  const auto silo = parties_->silo(1, others.port());
  EXPECT_TRUE(parties_->comes_to_log(1, "does not belong to an admissible party"));
  EXPECT_THAT(others.log(0), Not(HasSubstr("connected with")));
}

// Each takes a socket and nothing else, kMostVisitors at most are kept, and an honest silo is let in at once.
TEST_F(DoormanTest, SilentConnectionsKeepNobodyOut) {
  const std::size_t kSilent = runs_slow_tests() ? 5000 : 300;
  open_door(std::chrono::seconds(40));
  std::vector<tcp::socket> silent;
  for (std::size_t number = 0; number < kSilent; ++number) {
    silent.emplace_back(io_);
    boost::system::error_code error;
    silent.back().connect(door(), error);
    if (error) silent.pop_back();
  }
  const auto began = WireClock::now();
  expect_run_with_silo();
  EXPECT_LT(WireClock::now() - began, LineTimes::of(std::chrono::seconds(40)).visit) << "until a place is free";
  EXPECT_TRUE(comes_to_log("others are waiting to authenticate"));
}

// 600 visitors that say one byte of a record, where there are 64 places and 200 handshakes a second: one that is about
// to prove itself keeps its place, and the next one needs no second try.
TEST_F(DoormanTest, OneByteTakesNoPlaceAndNoHandshake) {
  open_door(std::chrono::seconds(40));
  BareSilo before(*parties_);
  std::vector<tcp::socket> flood;
  for (std::size_t number = 0; number < 600; ++number) {
    flood.push_back(visitor("\x16"));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // so that each is heard before the next one comes
  }
  expect_welcome(before.stream());
  BareSilo after(*parties_);
  expect_welcome(after.stream());
}

// All of a record but its last byte, a record that is too long, one that is cut in two, and other records.
TEST_F(DoormanTest, OnlyAWholeFirstRecordIsShownToTls) {
  open_door(std::chrono::seconds(4));
  const std::string hello = hello_of(own_->context());
  ASSERT_LT(hello.size(), 1000U);
  const auto changed = [&](std::size_t place, int byte) {
    std::string other = hello;
    other.at(place) = static_cast<char>(byte);
    return other;
  };
  std::vector<tcp::socket> visitors;
  visitors.push_back(visitor(hello.substr(0, hello.size() - 1)));
  EXPECT_TRUE(comes_to_log("no TLS hello within 0.5 s"));
  visitors.push_back(visitor(changed(3, 0x11)));  // 4352 bytes and more
  EXPECT_TRUE(comes_to_log("its first bytes are not a TLS hello", 1));
  visitors.push_back(visitor(changed(0, 23)));
  EXPECT_TRUE(comes_to_log("its first bytes are not a TLS hello", 2));
  visitors.push_back(visitor(changed(5, 2)));  // another message than a hello
  EXPECT_TRUE(comes_to_log("its first record is not a complete TLS hello", 1));
  visitors.push_back(visitor(changed(7, 0x7f)));  // a hello of more than this record
  EXPECT_TRUE(comes_to_log("its first record is not a complete TLS hello", 2));
  EXPECT_EQ(parties_->times_in_log(0, "was refused"), 5U);
}

// It waits before its handshake, from where others have failed; it is let in all the same.
TEST_F(DoormanTest, WhoComesFromWhereVisitsHaveFailedWaits) {
  constexpr auto kTimeout = std::chrono::seconds(40);
  constexpr std::size_t kFailures = 20;
  open_door(kTimeout);
  for (std::size_t visit = 1; visit <= kFailures; ++visit) {
    tcp::socket socket = visitor("GET /", "127.0.0.2");
    std::array<char, 1> byte{};
    boost::system::error_code end;
    socket.read_some(boost::asio::buffer(byte), end);  // it was turned away
  }
  TlsStream stream(io_, own_->context());
  const auto began = WireClock::now();
  connect_from(stream.next_layer(), "127.0.0.2");
  stream.handshake(boost::asio::ssl::stream_base::client);
  EXPECT_GE(WireClock::now() - began, LineTimes::of(kTimeout).visit / 16);
  expect_welcome(stream);
}

// Else one new address a while would keep out for ever whoever is far away and has failed once.
TEST_F(DoormanTest, VisitorsFromManyAddressesKeepNobodyOutWhoHasFailed) {
  open_door(std::chrono::seconds(40));
  const tcp::socket failed = visitor("GET /", "127.0.0.2");
  EXPECT_TRUE(comes_to_log("its first bytes are not a TLS hello"));
  std::vector<tcp::socket> silent;
  const auto come = [&](int visitors) {
    for (int number = 0; number < visitors; ++number) {
      silent.push_back(visitor("", fmt::format("127.0.1.{}", silent.size() + 1)));
      std::this_thread::sleep_for(std::chrono::milliseconds(2));  // so that each is heard before the next one comes
    }
  };
  come(64);
  TlsStream stream(io_, own_->context());
  connect_from(stream.next_layer(), "127.0.0.2");
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
TEST_F(DoormanTest, SlowVisitorsAreTurnedAway) {
  open_door(std::chrono::seconds(2));
  tcp::socket before = visitor("");
  BareSilo inside(*parties_);
  boost::system::error_code error;
  const std::vector<std::byte> greeting = greeting_message(LinkKind::kGreeting, {});
  for (std::size_t byte = 0; byte < 20 && !error; ++byte) {
    const std::array<std::uint8_t, 6> hello{22, 3, 1, 1, 0, 1};  // of a handshake, without end
    before.write_some(boost::asio::buffer(&hello[std::min<std::size_t>(byte, 5)], 1), error);
    inside.stream().write_some(boost::asio::buffer(&greeting[byte], 1), error);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_TRUE(comes_to_log("no authentication within 0.5 s"));
  EXPECT_TRUE(comes_to_log("no TLS hello within 0.25 s"));
  EXPECT_THAT(parties_->log(0), Not(HasSubstr("connected with")));
}

// Of a flood some handshakes are made in a second, and the others cost a socket. A silo dials until it is let in.
TEST_F(DoormanTest, FloodsOfHandshakesAreMadeAtABoundedRate) {
  TlsIdentity foreign(Identity::generate(), {parties_->identity(0).public_key()});
  std::size_t made = 0;
  const auto begun = std::chrono::steady_clock::now();
  for (std::size_t number = 0; number < 600; ++number) {
    TlsStream stream(io_, foreign.context());
    connect_from(stream.next_layer(), fmt::format("127.0.{}.{}", 1 + number / 200, 1 + number % 200));
    boost::system::error_code error;
    stream.handshake(boost::asio::ssl::stream_base::client, error);
    if (!error) ++made;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  EXPECT_LE(static_cast<double>(made), Doorman::kHandshakesPerSecond * (took.count() + 1.0))
      << "whatever the machine's speed";
  expect_run_with_silo();
  const std::size_t told = parties_->times_in_log(0, "was refused");
  EXPECT_GE(told, Doorman::kLinesAtOnce);
  EXPECT_LE(told, parties_->most_refusals_told());
  parties_->end_coordinator();
  EXPECT_THAT(parties_->log(0), HasSubstr("further connections were refused"));
}

}  // namespace dpreduce::doorman_test
