// Wire of a party over TCP and TLS 1.3, for the coordinator and silos alike.
//
//     silo  -- dials -->  coordinator  <-- dials --  silo
//
// The coordinator listens, and silos dial. A silo's message to another silo is sealed for the receiver, and goes
// through the coordinator's messages. A separate thread keeps the lines while the party computes, so that a slow party
// is not mistaken for one that is gone. Messages outlive connections (party_line.hpp). A party is lost if it has no
// connection for LineTimes::reconnect, and gone if it reports that it leaves.
//
// The secret that binds a run to its line is that of the first connection on which the coordinator was greeted. If that
// connection broke before the welcome came, the next welcome names the connection to the silo:
//
//     binding = SHA-256("dpreduce line v1", exported secret of TLS, nonce of the silo's process, of the coordinator's)
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/silos/parties.hpp"
#include "common/silos/party_log.hpp"
#include "common/silos/wire.hpp"
#include "network/party_line.hpp"
#include "network/tls_connection.hpp"

namespace dpreduce {

struct NetworkTerms {
  Roster roster;
  std::uint32_t self = 0;                    ///< this party's number in it
  std::chrono::milliseconds silo_timeout{};  ///< the times of lines are fractions of it
  std::chrono::milliseconds run_timeout{};   ///< for the whole run, the wait for silos included
  PartyLog* log = nullptr;                   ///< outlives the wire
  bool is_of_job = false;                    ///< parties are processes of one job (job_wire.hpp)

  LineTimes times() const { return is_of_job ? LineTimes::of_job(self == 0) : LineTimes::of(silo_timeout); }
};

/// Current state of a party's line.
struct PartyStatus {
  std::string name;
  LineState state = LineState::kAbsent;
};

class NetworkWire : public Wire {
 public:
  ~NetworkWire() override = default;
  /// Sends a message; nothing to a party that has left or is lost. Waits while too much is on its way; a small message
  /// (a verdict, "dropped") does not wait. Throws AggregationAborted if this end of the wire is broken, or the wait is
  /// longer than the send timeout.
  void send(std::uint32_t to, std::vector<std::byte> bytes) override;
  /// Receives as Wire. Throws AggregationAborted also if the run is not over within NetworkTerms::run_timeout.
  std::optional<Message> receive(WireClock::time_point until) override;
  void set_send_timeout(std::chrono::milliseconds timeout) override { send_timeout_ = timeout; }
  LineBinding binding(std::uint32_t peer) const override;

  /// Reports to the others that this party ends, and why, and waits until they have received that: at most for the time
  /// to notice that a line is dead, and to make it again (LineTimes::farewell). Nothing is sent afterwards.
  void leave(std::string_view why);

  std::vector<PartyStatus> status() const;
  /// Address that this party listens on, or dials.
  virtual std::string address() const = 0;

 protected:
  NetworkWire(const Identity& identity, NetworkTerms terms, const std::vector<std::uint32_t>& peers);

  // The thread runs between start() and stop(). Derived classes call start() at the end of their constructor, and
  // stop() first in their destructor.
  void start();
  void stop();

  // Called on the thread, with the lock held.
  virtual void on_tick(WireClock::time_point) {}
  virtual void on_broken(std::uint32_t) {}
  virtual void on_gone(std::uint32_t peer, const std::string& why) = 0;

  // Calls PartyLine::attach, with the lock held. Messages of an earlier process are forgotten. `secret` is that of the
  // connection that binds the line; absent: the line is bound already.
  bool attach(std::uint32_t peer, const std::shared_ptr<TlsConnection>& connection, LinkReader reader,
              const Greeting& greeting, std::vector<std::byte> first, const std::optional<ExportedSecret>& secret);
  void log(const std::string& text) const;
  void fail(const std::string& why);
  void deliver(Message message);
  // Returns whether a message can be received, or no more will come.
  bool has_arrived() const { return !incoming_.empty() || !fault_.empty(); }
  // Throws AggregationAborted, with the reason, if no more messages will come.
  void require_more() const;
  std::string name_of(std::uint32_t party) const;

  NetworkTerms terms_;
  ProcessNonce process_{};  // of this one
  mutable std::mutex lock_;
  std::condition_variable changed_;
  boost::asio::io_context io_{1};
  TlsIdentity identity_;
  std::map<std::uint32_t, PartyLine> lines_;
  WireClock::time_point run_until_;

 private:
  void tick();
  void run();

  std::map<std::uint32_t, LineBinding> bindings_;
  std::deque<Message> incoming_;
  std::string fault_;  // reason why this end is broken; empty: it is not
  std::chrono::milliseconds send_timeout_;
  boost::asio::steady_timer timer_;
  std::thread thread_;
};

}  // namespace dpreduce
