// A coordinator and silos of a roster, as wires in one process.
#pragma once

#include <boost/asio/write.hpp>

#include "network/coordinator_wire.hpp"
#include "network/doorman.hpp"
#include "network/silo_wire.hpp"
#include "tests/network/line_proxy.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/testing.hpp"

namespace dpreduce {

class NetworkParties {
 public:
  explicit NetworkParties(std::size_t silos, std::chrono::milliseconds silo_timeout = std::chrono::seconds(8),
                          std::chrono::milliseconds run_timeout = std::chrono::seconds(60))
      : silo_timeout_(silo_timeout), run_timeout_(run_timeout) {
    for (std::size_t party = 0; party <= silos; ++party) {
      identities_.push_back(Identity::generate());
      roster_.members.push_back({party == 0 ? "hub" : fmt::format("n{}", party), identities_.back().public_key()});
      logs_.push_back(std::make_unique<PartyLog>(log_path(party)));
    }
    coordinator_ = std::make_unique<CoordinatorWire>(identities_[0], terms_of(0), NetworkAddress{"127.0.0.1", "0"});
  }

  const Identity& identity(std::size_t party) const { return identities_[party]; }
  CoordinatorWire& coordinator() { return *coordinator_; }
  void end_coordinator() { coordinator_.reset(); }
  std::uint16_t port() const {
    return static_cast<std::uint16_t>(std::stoul(parse_address("", coordinator_->address()).port));
  }
  NetworkTerms terms_of(std::size_t party) {
    return {roster_, static_cast<std::uint32_t>(party), silo_timeout_, run_timeout_, logs_[party].get()};
  }

  /// A process of that silo, which dials that port; 0: the coordinator's.
  std::unique_ptr<SiloWire> silo(std::size_t number, std::uint16_t dialed = 0) {
    return std::make_unique<SiloWire>(identities_[number], terms_of(number),
                                      NetworkAddress{"127.0.0.1", std::to_string(dialed == 0 ? port() : dialed)});
  }
  void begin() {
    coordinator_->wait_for_silos(std::nullopt, 1, [](const auto&) {});
  }

  /// The most visitors of whose refusal the coordinator may have told by now, each in a line.
  std::size_t most_refusals_told() const {
    const auto turns = (WireClock::now() - begun_) / Doorman::kReportAgain;
    return Doorman::kLinesAtOnce * (1 + static_cast<std::size_t>(turns));
  }

  std::string log(std::size_t party) const { return read_bytes(log_path(party)); }
  std::size_t times_in_log(std::size_t party, const std::string& text) const {
    const std::string all = log(party);
    std::size_t times = 0;
    for (std::size_t at = 0; (at = all.find(text, at)) != std::string::npos; ++at) ++times;
    return times;
  }
  /// Whether that text comes to stand in a log, so many times, within some seconds.
  bool comes_to_log(std::size_t party, const std::string& text, std::size_t times = 1) const {
    const auto until = WireClock::now() + std::chrono::seconds(15);
    while (times_in_log(party, text) < times) {
      if (WireClock::now() > until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return true;
  }

 private:
  std::string log_path(std::size_t party) const { return folder_ / fmt::format("{}.log", party); }

  WireClock::time_point begun_ = WireClock::now();
  TemporaryFolder folder_;
  std::chrono::milliseconds silo_timeout_;
  std::chrono::milliseconds run_timeout_;
  std::vector<Identity> identities_;
  Roster roster_;
  std::vector<std::unique_ptr<PartyLog>> logs_;
  std::unique_ptr<CoordinatorWire> coordinator_;
};

using TlsStream = boost::asio::ssl::stream<boost::asio::ip::tcp::socket>;

inline boost::asio::ip::tcp::endpoint local_port(std::uint16_t port) {
  return {boost::asio::ip::make_address("127.0.0.1"), port};
}

/// A process with the identity of silo 1 that has proved itself, and then says what it likes.
class BareSilo {
 public:
  /// It dials that port; 0: the coordinator's.
  explicit BareSilo(const NetworkParties& parties, std::uint16_t dialed = 0)
      : tls_(parties.identity(1), {parties.identity(0).public_key()}), stream_(io_, tls_.context()) {
    stream_.next_layer().connect(local_port(dialed == 0 ? parties.port() : dialed));
    stream_.handshake(boost::asio::ssl::stream_base::client);
  }

  TlsStream& stream() { return stream_; }
  void say(const std::vector<std::byte>& bytes) { boost::asio::write(stream_, boost::asio::buffer(bytes)); }
  void greet(const ProcessNonce& process = {}) { say(greeting_message(LinkKind::kGreeting, {process, 0, 1})); }
  /// The coordinator's next message.
  LinkMessage next() {
    std::array<std::byte, 1000> come{};
    for (;;) {
      if (const std::optional<LinkMessage> message = reader_.next()) return *message;
      reader_.add(std::span(come).first(stream_.read_some(boost::asio::buffer(come))));
    }
  }

 private:
  boost::asio::io_context io_;
  TlsIdentity tls_;
  TlsStream stream_;
  LinkReader reader_{LinkKind::kWelcome};
};

inline std::vector<std::byte> message_of(std::size_t number, std::size_t length = 8) {
  std::vector<std::byte> bytes(length);
  for (std::size_t place = 0; place < length; ++place) bytes[place] = static_cast<std::byte>(number + 31 * place);
  return bytes;
}

inline std::optional<Message> next_of(Wire& wire, std::chrono::milliseconds within = std::chrono::seconds(15)) {
  return wire.receive(WireClock::now() + within);
}

/// The silo says so many messages, each is answered; expects all of them, in order, on both sides.
inline void expect_talk(Wire& coordinator, std::uint32_t number, Wire& silo, std::size_t messages,
                        std::size_t length = 8) {
  std::jthread answering([&] {
    for (std::size_t told = 0; told < messages; ++told) {
      const std::optional<Message> message = next_of(coordinator);
      ASSERT_TRUE(message && !message->is_farewell) << told;
      ASSERT_EQ(message->from, number);
      ASSERT_EQ(message->bytes, message_of(told, length));
      coordinator.send(number, message_of(2 * told, length));
    }
  });
  for (std::size_t told = 0; told < messages; ++told) {
    silo.send(0, message_of(told, length));
    const std::optional<Message> answer = next_of(silo);
    if (!answer) {
      ADD_FAILURE() << "no answer to message " << told;
      break;
    }
    EXPECT_EQ(answer->bytes, message_of(2 * told, length));
  }
}

}  // namespace dpreduce
