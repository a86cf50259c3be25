// Parties that are of the roster and deviate, over TCP: a coordinator that tells false verdicts, and a silo that has
// proved itself and sends what no party sends.
#include <openssl/ssl.h>

#include "common/silos/payload.hpp"
#include "tests/common/silos/lying_coordinator.hpp"
#include "tests/network/network_parties.hpp"

namespace dpreduce::deviating_parties_test {

// How silo 1 ends where the coordinator of its roster answers its first status with that.
std::string end_of_silo_told(std::int64_t verdict) {
  NetworkParties parties(1);
  const auto silo = parties.silo(1);
  parties.begin();
  std::jthread lying([&] {
    LyingCoordinator coordinator({verdict}, nullptr, parties.coordinator().binding(1));
    for (;;) {
      while (const std::optional<Message> message = coordinator.receive({}))
        parties.coordinator().send(1, message->bytes);
      const std::optional<Message> message = next_of(parties.coordinator());
      if (!message || message->is_farewell) return;
      coordinator.send(1, message->bytes);
    }
  });
  std::string end = "all is well";
  try {
    silo->wait_for_run([](const std::string&) {});
    SiloSession session(*silo, 1, LyingCoordinator::entry());
    session.connect();
    const std::int64_t told = session.agree(kNobodyFailed);
    if (told != kNobodyFailed) end = fmt::format("exit code {}", static_cast<int>(code_of(told)));
    EXPECT_EQ(refusal<Error>([&] { session.largest(1.0); }).empty(), told == kNobodyFailed);
  } catch (const Error& error) {
    end = error.what();
  }
  silo->leave("it has ended");
  return end;
}

// Whatever failure is told, of whatever code: a silo ends because another party has ended the run, and with that code.
TEST(DeviatingParties, NoVerdictChoosesASilosExitCode) {
  EXPECT_EQ(end_of_silo_told(kNobodyFailed), "all is well");
  for (const ExitCode code : {ExitCode::kInternal, ExitCode::kUsage, ExitCode::kBadInput, ExitCode::kBudgetRefused,
                              ExitCode::kLedgerCorrupt, ExitCode::kClaimRefuted, ExitCode::kInterrupted}) {
    EXPECT_EQ(end_of_silo_told(failure_of(2, code)), "exit code 5") << static_cast<int>(code);
  }
  for (const std::int64_t lie :
       {2 * kCodesOfParty, 2 * kCodesOfParty + 77, failure_of(1, ExitCode::kDone), std::int64_t{-1}, std::int64_t{0}}) {
    EXPECT_EQ(end_of_silo_told(lie), "exit code 5") << lie;
  }
}

// 2 GB in one message, a message that is not due, one out of order, more acknowledged than was sent, a greeting again:
// the line breaks before there is memory for it, and the others are not held up.
TEST(DeviatingParties, WhatNoSiloSendsBreaksItsOwnLineAlone) {
  const auto header = [](int kind, std::uint32_t length) {
    return PayloadWriter().number(static_cast<std::uint64_t>(kind), 1).u32(length).take();
  };
  const std::vector<std::pair<std::vector<std::byte>, std::string>> sent{
      {header(4, 2'000'000'000U), "a message of kind 4 with a stated length of 2000000000 bytes"},
      {header(77, 0), "a message of unknown kind 77"},
      {numbered_message(LinkKind::kMessage, 2, {}), "message 2 of the connection, but 1 is expected"},
      {numbered_message(LinkKind::kReceived, 5), "it reports 5 received messages"},
      {greeting_message(LinkKind::kGreeting, {}), "an unexpected message of kind 1"},
      {refusal_message("go away"), "an unexpected message of kind 3"}};
  NetworkParties parties(2);
  const auto honest = parties.silo(2);
  ASSERT_TRUE(parties.comes_to_log(0, "connected with silo 2"));
  for (const auto& [bytes, said] : sent) {
    BareSilo silo(parties);
    silo.greet();
    silo.say(bytes);
    EXPECT_TRUE(parties.comes_to_log(0, "the connection to silo 1 (n1) is broken: " + said)) << said << parties.log(0);
  }
  parties.coordinator().wait_for_silos(std::chrono::milliseconds(0), 1, [](const auto&) {});
  expect_talk(parties.coordinator(), 2, *honest, 2);
}

// In a job a line that breaks is not made again: the coordinator is told why the silo is lost.
TEST(DeviatingParties, ASiloOfAJobThatSendsWhatNoSiloSendsIsLostAndItIsSaidWhy) {
  NetworkParties parties(2);
  NetworkTerms terms = parties.terms_of(0);
  terms.is_of_job = true;
  CoordinatorWire coordinator(parties.identity(0), terms, {"127.0.0.1", "0"});
  const auto port = static_cast<std::uint16_t>(std::stoul(parse_address("", coordinator.address()).port));
  const auto honest = parties.silo(2, port);
  BareSilo silo(parties, port);
  silo.greet();
  coordinator.wait_for_silos(std::nullopt, 2, [](const auto&) {});
  silo.say(numbered_message(LinkKind::kMessage, 2, {}));
  const std::optional<Message> lost = next_of(coordinator);
  ASSERT_TRUE(lost && lost->is_farewell);
  EXPECT_EQ(lost->from, 1U);
  EXPECT_EQ(text_in(lost->bytes), "message 2 of the connection, but 1 is expected");
  expect_talk(coordinator, 2, *honest, 2);
}

// What binds a run to a line is a secret that TLS alone has made: whoever knows both nonces, which are said inside it,
// does not know the binding.
TEST(DeviatingParties, ALineIsBoundByTheSecretOfItsConnectionAndByBothProcesses) {
  NetworkParties parties(1);
  BareSilo silo(parties);
  ProcessNonce process{};
  process.fill(std::byte{7});
  silo.greet(process);
  const LinkMessage welcome = silo.next();
  ASSERT_EQ(welcome.kind, LinkKind::kWelcome);
  std::array<unsigned char, 32> secret{};
  const std::string label = "EXPORTER-dpreduce-line-v1";
  ASSERT_EQ(SSL_export_keying_material(silo.stream().native_handle(), secret.data(), secret.size(), label.data(),
                                       label.size(), nullptr, 0, 0),
            1);
  const auto bound_by = [&](bool with_secret) {
    PayloadWriter writer;
    writer.text("dpreduce line v1");
    if (with_secret) writer.bytes(std::as_bytes(std::span(secret)));
    writer.bytes(process).bytes(welcome.greeting.process);
    return sha256(writer.take());
  };
  EXPECT_EQ(parties.coordinator().binding(1), bound_by(true));
  EXPECT_NE(parties.coordinator().binding(1), bound_by(false));
}

// It takes up what the silo has of the run, but is another process of the coordinator's identity: it was started again,
// or is a second one, and the run that the silo is in is over.
TEST(DeviatingParties, AnotherProcessOfTheCoordinatorEndsTheRunThatASiloIsIn) {
  NetworkParties parties(1);
  boost::asio::io_context io;
  TlsIdentity own(parties.identity(0), {parties.identity(1).public_key()});
  boost::asio::ip::tcp::acceptor door(io, local_port(0));
  const auto silo = parties.silo(1, door.local_endpoint().port());
  for (const std::uint64_t connection : {1, 2}) {
    TlsStream stream(io, own.context());
    door.accept(stream.next_layer());
    stream.handshake(boost::asio::ssl::stream_base::server);
    ProcessNonce process{};
    process.fill(static_cast<std::byte>(connection));
    boost::asio::write(stream, boost::asio::buffer(greeting_message(LinkKind::kWelcome, {process, 0, connection})));
    if (connection == 1) {
      boost::asio::write(stream, boost::asio::buffer(numbered_message(LinkKind::kMessage, 1, message_of(1))));
      silo->wait_for_run([](const std::string&) {});
      EXPECT_EQ(next_of(*silo).value().bytes, message_of(1));
    } else {
      EXPECT_THAT(refusal<AggregationAborted>([&] { next_of(*silo); }),
                  HasSubstr("the coordinator was restarted: the run of this silo is over"));
    }
  }
}

// As a machine that has lost its power: the coordinator cannot tell yet that the first process is gone. The second one
// dials until it can.
TEST(DeviatingParties, AProcessThatIsStartedAgainBehindAHalfOpenLineIsLetInOnceThatIsFoundDead) {
  NetworkParties parties(1);
  BareSilo first(parties);
  first.greet();
  ASSERT_TRUE(parties.comes_to_log(0, "connected with silo 1"));
  const auto again = parties.silo(1);
  EXPECT_TRUE(parties.comes_to_log(0, "is broken: nothing has come for 2 s"));
  EXPECT_TRUE(parties.comes_to_log(1, "connected with the coordinator"));
  parties.begin();
  expect_talk(parties.coordinator(), 1, *again, 2);
  EXPECT_THAT(parties.log(1), HasSubstr("another process with this identity is connected"));
}

// Each connection brings a message with its greeting, and one behind it. Of a line that is full none is taken, so that
// what waits is bounded however often a silo connects; and none is lost: once there is room, all come.
TEST(DeviatingParties, ASiloThatConnectsAgainAndAgainPassesNoBoundOfWhatWaits) {
  constexpr std::uint64_t kFull = 8;
  const std::size_t length = LineRoom::of(1).waiting / kFull;
  NetworkParties parties(1);
  std::optional<BareSilo> silo;
  const auto numbered = [&](std::uint64_t number) {
    return numbered_message(LinkKind::kMessage, number, message_of(number, number <= kFull ? length : 8));
  };
  for (std::uint64_t connection = 1; connection <= 30; ++connection) {
    silo.emplace(parties);
    std::vector<std::byte> first = greeting_message(LinkKind::kGreeting, {{}, 0, connection});
    const std::vector<std::byte> message = numbered(connection == 1 ? 1 : kFull + 1);
    first.insert(first.end(), message.begin(), message.end());
    silo->say(first);
    const LinkMessage welcome = silo->next();
    ASSERT_EQ(welcome.kind, LinkKind::kWelcome) << shown_reason(welcome.bytes);
    ASSERT_EQ(welcome.greeting.received, connection == 1 ? 0 : kFull) << connection;
    for (std::uint64_t number = 2; connection == 1 && number <= kFull; ++number) silo->say(numbered(number));
    while (connection == 1 && silo->next().number < kFull) {
    }
  }
  silo->say(numbered(kFull + 2));
  for (std::uint64_t number = 1; number <= kFull + 2; ++number) {
    const std::optional<Message> message = next_of(parties.coordinator());
    ASSERT_TRUE(message && !message->is_farewell) << number;
    EXPECT_EQ(message->bytes, message_of(number, number <= kFull ? length : 8));
  }
}

}  // namespace dpreduce::deviating_parties_test
