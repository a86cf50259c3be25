// Admission at the coordinator's port: counts of failed visits, and the doorman that decides by them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "network/party_line.hpp"
#include "network/tls_connection.hpp"

namespace dpreduce {

// Failed visits, by the address that they came from.
//
// Addresses are no identities: many silos may share an address, and one visitor may have many. So no visitor is refused
// because of failures. Failures only decide which visitors wait, for a bounded time, and which go first. The table is
// bounded, and old failures are forgotten.

class FailedVisits {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMostAddresses = 1024;
  static constexpr std::chrono::seconds kForgottenAfter{60};
  static constexpr std::chrono::milliseconds kFirstWait{10};

  /// Network of an address: the address itself for IPv4, the first 64 bits for IPv6.
  static std::string network_of(const boost::asio::ip::address& address);

  /// Adds one failed visit. If the table is full, the network whose last failure is oldest is forgotten.
  void add(const std::string& network, Clock::time_point now);
  /// Forgets the failures of a network from which a visit has succeeded.
  void forget(const std::string& network) { failures_.erase(network); }

  /// Failures since the last visit that succeeded; 0 if the last failure is older than kForgottenAfter.
  std::uint64_t count(const std::string& network, Clock::time_point now) const;
  /// Time that a visitor from the network waits for its handshake: 0 without failures, kFirstWait after the first,
  /// doubled with each further failure up to `most`.
  std::chrono::milliseconds wait(const std::string& network, Clock::time_point now,
                                 std::chrono::milliseconds most) const;

  std::size_t addresses() const { return failures_.size(); }

 private:
  struct Failures {
    std::uint64_t count = 0;
    Clock::time_point last{};
  };
  std::map<std::string, Failures> failures_;
};

// Connections to the coordinator's port, until their identity is known.
//
//     stranger   a socket, until its whole first record of TLS has come: for at most half of the time of a visit
//     visitor    in one of the places, of which there are kMostVisitors over a network, until it has proved that it is
//                a silo of the roster and has greeted
//
// Only a visit with a whole first record uses a place, or one of the handshakes of a second. A visitor above the rate
// of handshakes waits. A visitor from a network whose visits have failed waits too, and leaves half of the rate to
// others. If all places are taken, the next visitor replaces a visitor from the network that holds most places among
// those with failures; without such a network, any visitor. The same holds for strangers, of whom there are at most as
// many: the oldest of those gives up its place. So holding connections keeps no other visitor out for long. Until TLS
// has authenticated a visitor, only TLS reads its bytes. A visitor that TLS has authenticated, but whose greeting is
// wrong, receives the reason.

class Doorman {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMostVisitors = 64;
  static constexpr double kHandshakesPerSecond = 200.0;
  /// At most this many refused connections are logged one by one per kReportAgain; the rest are only counted.
  static constexpr std::size_t kLinesAtOnce = 10;
  static constexpr std::chrono::seconds kReportAgain{10};

  /// Visitor with the proven identity `key` that has greeted. `reader` reads on from here.
  struct Proved {
    PublicKey key{};
    std::shared_ptr<TlsConnection> connection;
    LinkReader reader{LinkKind::kGreeting};
    Greeting greeting;
  };

  /// Listens at `listen`. A visitor has the time `visit` to prove itself; at most `most_visitors` may do so at once.
  /// `admit` returns whether to read on at once. `tell` receives a line about refused visitors. Throws BadInput naming
  /// --listen, address and the system's reason. `io`, `identity` and all that the functions refer to outlive it.
  Doorman(boost::asio::io_context& io, const NetworkAddress& listen, TlsIdentity& identity,
          std::chrono::milliseconds visit, std::function<bool(Proved)> admit,
          std::function<void(const std::string&)> tell, std::size_t most_visitors = kMostVisitors);

  ~Doorman();
  Doorman(const Doorman&) = delete;
  Doorman& operator=(const Doorman&) = delete;

  /// Address that the doorman listens on, with the port that the system assigned.
  NetworkAddress address() const;

  /// Logs a refused connection, within the bound on such lines.
  void report_refused(const std::string& line);

  /// Refuses visitors whose time is over, and begins handshakes that are due.
  void tick(Clock::time_point now);

 private:
  enum class Stage { kStranger, kWaiting, kProving };
  struct Visitor {
    std::shared_ptr<TlsConnection> connection;
    std::string network;
    Clock::time_point until;
    Stage stage = Stage::kStranger;
    Clock::time_point may_begin_at{};
    LinkReader reader{LinkKind::kGreeting};
  };
  enum class Blame { kVisitor, kNobody };

  void accept();
  void let_in(TlsConnection::Socket socket);
  void take_hello(std::uint64_t number, const std::string& fault);
  void begin_handshakes(Clock::time_point now);
  void begin_handshake(std::uint64_t number);
  bool take(std::uint64_t number, std::span<const std::byte> bytes);
  void turn_away(std::uint64_t number, const std::string& why, std::vector<std::byte> last = {},
                 Blame blame = Blame::kVisitor);
  void report_unreported();
  void make_room(bool among_strangers);
  bool may_begin(double left_to_others, Clock::time_point now);

  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer pause_;
  TlsIdentity& identity_;
  std::chrono::milliseconds visit_;
  std::function<bool(Proved)> admit_;
  std::function<void(const std::string&)> report_line_;
  std::size_t most_visitors_;
  std::map<std::uint64_t, Visitor> visitors_;
  FailedVisits failed_;
  std::uint64_t visitors_so_far_ = 0;
  double handshakes_left_ = kHandshakesPerSecond;
  Clock::time_point counted_at_ = Clock::now();
  std::minstd_rand chance_{std::random_device{}()};
  std::size_t lines_left_ = 0;
  std::uint64_t untold_ = 0;
  Clock::time_point reported_until_{};
};

}  // namespace dpreduce
