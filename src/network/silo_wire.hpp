// Silo's end of the network: it dials only the coordinator, and dials again if the line breaks.
#pragma once

#include <memory>
#include <random>
#include <string>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "network/network_wire.hpp"
#include "network/tls_connection.hpp"

namespace dpreduce {

class SiloWire final : public NetworkWire {
 public:
  /// Begins to dial the coordinator; with `further_hosts`, its hosts in turn. With a `proxy` the silo connects to it,
  /// and asks it for a tunnel to the coordinator (CONNECT, RFC 9110, section 9.3.6), through which TLS goes.
  SiloWire(const Identity& identity, NetworkTerms terms, const NetworkAddress& coordinator,
           std::vector<std::string> further_hosts = {}, std::optional<NetworkAddress> proxy = std::nullopt);
  ~SiloWire() override;

  /// Returns when the coordinator has begun the run: its first message has come. `tell` receives a line with the reason
  /// for waiting. Throws AggregationAborted if the coordinator refuses this silo, or cannot be reached in the time of a
  /// run.
  void wait_for_run(const std::function<void(const std::string&)>& tell);

  /// Returns once a connection is open. Throws AggregationAborted naming what was tried if none opens within `longest`.
  void wait_for_coordinator(std::chrono::milliseconds longest);

  std::string address() const override { return coordinator_.text(); }

 protected:
  void on_broken(std::uint32_t) override;
  void on_gone(std::uint32_t peer, const std::string& why) override;

 private:
  void dial();
  void connect(const boost::asio::ip::tcp::resolver::results_type& found);
  void request_tunnel();
  void take_tunnel(const std::string& answer, std::size_t length);
  std::string fault_of(const boost::system::error_code& error) const;
  void begin_tls();
  void greet(const std::shared_ptr<TlsConnection>& connection);
  // Takes the connection by value: it outlives `dialed_`.
  bool take_answer(std::shared_ptr<TlsConnection> connection, LinkReader& reader, std::span<const std::byte> bytes);
  void dial_again(const std::string& why);
  // Sets `since` to now if absent. Returns whether `since` is longer ago than a dead connection lives.
  bool lasts(std::optional<WireClock::time_point>& since) const;
  std::string late() const;

  bool has_begun_ = false;  // the run; before, the coordinator may be started again
  NetworkAddress coordinator_;
  std::vector<std::string> further_hosts_;
  std::optional<NetworkAddress> proxy_;
  boost::asio::ip::tcp::resolver resolver_;
  std::chrono::milliseconds attempt_;
  boost::asio::steady_timer pause_;
  boost::asio::steady_timer patience_;     // of one attempt
  std::shared_ptr<TlsConnection> dialed_;  // until it is welcome
  std::optional<boost::asio::ip::tcp::socket> socket_;
  std::uint64_t attempts_ = 0;                             // since the line was open
  std::optional<WireClock::time_point> unresolved_since_;  // the coordinator's name, before the first connection
  std::optional<WireClock::time_point> refused_since_;     // while the coordinator holds a line of this identity open
  std::uint64_t greeted_ = 0;                              // connections so far
  std::map<std::uint64_t, ExportedSecret> secrets_;        // by connection: those that may bind the line, or do
  std::string trouble_;                                    // of the last attempt
  std::minstd_rand chance_{std::random_device{}()};
};

}  // namespace dpreduce
