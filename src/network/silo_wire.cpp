#include "network/silo_wire.hpp"

#include <algorithm>

#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr auto kShortestPause = std::chrono::milliseconds(50);
constexpr std::uint64_t kMostDoublings = 6;  // 3.2 s

// An answer that the coordinator gives inside TLS, and so nobody else.
bool is_refusal_of_tls(const std::string& fault) {
  return fault.find("alert") != std::string::npos && fault.find("certificate") != std::string::npos;
}

}  // namespace

SiloWire::SiloWire(const Identity& identity, NetworkTerms terms, const NetworkAddress& coordinator,
                   std::vector<std::string> further_hosts, std::optional<NetworkAddress> proxy)
    : NetworkWire(identity, std::move(terms), {0}),
      coordinator_(coordinator),
      further_hosts_(std::move(further_hosts)),
      proxy_(std::move(proxy)),
      resolver_(io_),
      attempt_(terms_.times().attempt),
      pause_(io_),
      patience_(io_) {
  boost::asio::post(io_, [this] { dial(); });
  start();
}

SiloWire::~SiloWire() {
  stop();
}

void SiloWire::on_broken(std::uint32_t) {
  attempts_ = 0;
  boost::asio::post(io_, [this] { dial(); });
}

void SiloWire::on_gone(std::uint32_t, const std::string& why) {
  if (terms_.is_of_job) return deliver({0, {}, true});
  PartyLine& line = lines_.at(0);
  // Nothing of a run has come: the silo goes on dialing, as it did before the coordinator was there.
  if (line.state() == LineState::kLost && line.link().received() == 0) return line.wait_longer();
  fail(fmt::format("the coordinator is unreachable: {}", why.empty() ? "it has ended" : why));
}

std::string SiloWire::late() const {
  return fmt::format("no answer within {} s", seconds_of(attempt_));
}

void SiloWire::dial() {
  patience_.expires_after(attempt_);
  patience_.async_wait([this](auto error) {
    if (error) return;
    resolver_.cancel();
    if (socket_) socket_->close(error);
    if (dialed_) {
      std::exchange(dialed_, nullptr)->close();
      dial_again(late());
    }
  });
  const NetworkAddress& next = proxy_ ? *proxy_ : coordinator_;
  resolver_.async_resolve(next.host, next.port, [this, host = next.host](auto error, const auto& found) {
    if (!error) {
      unresolved_since_.reset();
      return connect(found);
    }
    const std::string why = fmt::format("the name {} cannot be resolved: {}", host,
                                        error == boost::asio::error::operation_aborted ? late() : error.message());
    {
      const std::lock_guard guard(lock_);
      if (lines_.at(0).state() == LineState::kAbsent && lasts(unresolved_since_)) {
        patience_.cancel();
        return fail(fmt::format("{}; check it (getent hosts {}), or give an address in --{}", why, host,
                                proxy_ ? "proxy" : "connect"));
      }
    }
    dial_again(why);
  });
}

bool SiloWire::lasts(std::optional<WireClock::time_point>& since) const {
  const LineTimes times = terms_.times();
  if (!since) since = WireClock::now();
  return WireClock::now() > *since + times.silence + times.beat;
}

void SiloWire::connect(const boost::asio::ip::tcp::resolver::results_type& found) {
  // The timer that has fired by now found nothing to end: the name was resolved, and no socket was there.
  if (WireClock::now() >= patience_.expiry()) return dial_again(late());
  socket_.emplace(io_);
  boost::asio::async_connect(*socket_, found, [this](auto error, const auto&) {
    if (error) return dial_again(fault_of(error));
    proxy_ ? request_tunnel() : begin_tls();
  });
}

std::string SiloWire::fault_of(const boost::system::error_code& error) const {
  const std::string why = error == boost::asio::error::operation_aborted ? "no answer" : words_of(error);
  return proxy_ ? fmt::format("the proxy {}: {}", proxy_->text(), why) : why;
}

void SiloWire::request_tunnel() {
  constexpr std::size_t kLongestAnswer = 8192;
  const auto bytes =
      std::make_shared<std::string>(fmt::format("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n\r\n", coordinator_.text()));
  boost::asio::async_write(*socket_, boost::asio::buffer(*bytes), [this, bytes](auto fault, std::size_t) {
    if (fault) return dial_again(fault_of(fault));
    bytes->clear();
    boost::asio::async_read_until(*socket_, boost::asio::dynamic_buffer(*bytes, kLongestAnswer), "\r\n\r\n",
                                  [this, bytes](auto error, std::size_t length) {
                                    if (error) return dial_again(fault_of(error));
                                    take_tunnel(*bytes, length);
                                  });
  });
}

// A proxy that answers 2xx is a tunnel from then on. One that refuses (3xx, 4xx), with or without a page that says why,
// ends the silo. One that cannot reach the coordinator (5xx), or answers something else, is asked again.
void SiloWire::take_tunnel(const std::string& answer, std::size_t length) {
  constexpr std::size_t kPlace = std::string_view("HTTP/1.1 ").size();
  const char status = answer.starts_with("HTTP/1.") && length > kPlace ? answer[kPlace] : '5';
  if (status == '2' && answer.size() == length) return begin_tls();  // what follows would be the coordinator's
  const std::string why = fmt::format("the proxy {} makes no tunnel to {}: {}", proxy_->text(), coordinator_.text(),
                                      shown_reason(std::as_bytes(std::span(answer).first(answer.find('\r')))));
  if (status != '3' && status != '4') return dial_again(why);
  const std::lock_guard guard(lock_);
  patience_.cancel();
  fail(why);
}

void SiloWire::begin_tls() {
  dialed_ = std::make_shared<TlsConnection>(std::move(*socket_));
  socket_.reset();
  dialed_->handshake(identity_, TlsConnection::Side::kClient, [this, connection = dialed_](const std::string& fault) {
    if (connection != dialed_) return;
    if (fault.empty()) return greet(connection);
    std::exchange(dialed_, nullptr)->close();
    dial_again(fault);
  });
}

void SiloWire::greet(const std::shared_ptr<TlsConnection>& connection) {
  const auto reader = std::make_shared<LinkReader>(LinkKind::kWelcome);
  std::uint64_t received = 0;
  {
    const std::lock_guard guard(lock_);
    received = lines_.at(0).link().received();
  }
  secrets_.emplace(++greeted_, connection->secret());
  const auto greeting =
      std::make_shared<std::vector<std::byte>>(greeting_message(LinkKind::kGreeting, {process_, received, greeted_}));
  connection->set_handlers(
      {.take =
           [this, own = connection.get(), reader](std::span<const std::byte> bytes) {
             return own == dialed_.get() && take_answer(dialed_, *reader, bytes);
           },
       .fill = [greeting](std::vector<std::byte>& out) { out = std::exchange(*greeting, {}); },
       .ended =
           [this, own = connection.get()](const std::string& why) {
             if (own != dialed_.get()) return;
             dialed_.reset();
             if (!is_refusal_of_tls(why)) return dial_again(why);
             const std::lock_guard guard(lock_);
             patience_.cancel();
             fail(fmt::format(
                 "the coordinator at {} does not know this silo's identity ({}); all parties need the same --roster",
                 coordinator_.text(), why));
           }});
  connection->flush();
}

bool SiloWire::take_answer(std::shared_ptr<TlsConnection> connection, LinkReader& reader,
                           std::span<const std::byte> bytes) {
  try {
    reader.add(bytes);
    const std::optional<LinkMessage> answer = reader.next();
    if (!answer) return true;
    const std::lock_guard guard(lock_);
    patience_.cancel();
    dialed_.reset();
    const PartyLine& line = lines_.at(0);
    if (answer->kind == LinkKind::kRefusal || answer->kind == LinkKind::kNotYet) {
      const std::string why =
          fmt::format("the coordinator at {} refuses this silo: {}", coordinator_.text(), shown_reason(answer->bytes));
      if (answer->kind == LinkKind::kNotYet && !lasts(refused_since_)) throw AggregationAborted(why);
      fail(why);
      return false;
    }
    if (has_begun_ && line.process() != answer->greeting.process) {
      fail("the coordinator was restarted: the run of this silo is over");
      return false;
    }
    const auto secret = secrets_.find(answer->greeting.connection);
    if (secret == secrets_.end()) {
      fail(fmt::format("the coordinator at {} binds the run to a connection that this silo never had",
                       coordinator_.text()));
      return false;
    }
    const bool reads_on = attach(0, connection, std::move(reader), answer->greeting, {}, secret->second);
    secrets_ = {*secret};
    refused_since_.reset();
    return reads_on;
  } catch (const AggregationAborted& fault) {
    connection->close();
    dial_again(fault.what());
    return false;
  }
}

void SiloWire::dial_again(const std::string& why) {
  patience_.cancel();
  dialed_.reset();
  {
    const std::lock_guard guard(lock_);
    const LineState state = lines_.at(0).state();
    if (state == LineState::kLost || state == LineState::kLeft) return;
    if (trouble_ != why) log(fmt::format("no connection with the coordinator at {}: {}", coordinator_.text(), why));
    trouble_ = why;
    if (!further_hosts_.empty()) {
      std::swap(coordinator_.host, further_hosts_.front());
      std::rotate(further_hosts_.begin(), further_hosts_.begin() + 1, further_hosts_.end());
    }
    changed_.notify_all();
  }
  // From half of it to all of it, so that silos do not come all at once.
  const auto longest = kShortestPause * (std::uint64_t{1} << std::min(attempts_++, kMostDoublings));
  pause_.expires_after(longest / 2 + longest / 2 * (chance_() % 1000) / 1000);
  pause_.async_wait([this](auto error) {
    if (!error) dial();
  });
}

void SiloWire::wait_for_coordinator(std::chrono::milliseconds longest) {
  std::unique_lock guard(lock_);
  const auto is_here = [&] { return has_arrived() || lines_.at(0).state() != LineState::kAbsent; };
  if (changed_.wait_for(guard, longest, is_here)) return;
  throw AggregationAborted("the coordinator cannot be reached within {} s at port {} of {}{}{}: {}",
                           seconds_of(longest), coordinator_.port, coordinator_.host,
                           further_hosts_.empty() ? "" : ", ", fmt::join(further_hosts_, ", "), trouble_);
}

void SiloWire::wait_for_run(const std::function<void(const std::string&)>& tell) {
  std::string told;
  std::unique_lock guard(lock_);
  while (!has_arrived() && WireClock::now() < run_until_) {
    const bool is_here = lines_.at(0).state() == LineState::kOpen;
    const std::string longest = fmt::format("for at most --run-timeout {} s", seconds_of(terms_.run_timeout));
    const std::string line = is_here
                                 ? fmt::format("connected with the coordinator at {}; waiting for the run to begin, {}",
                                               coordinator_.text(), longest)
                                 : fmt::format("waiting for the coordinator at {}, {}{}{}", coordinator_.text(),
                                               longest, trouble_.empty() ? "" : ": ", trouble_);
    if (line != told) {
      guard.unlock();
      tell(line);
      guard.lock();
      told = line;
    }
    constexpr auto kLook = std::chrono::milliseconds(200);
    changed_.wait_for(guard, kLook);
  }
  has_begun_ = has_arrived();
  if (has_begun_) return require_more();
  PartyLine& line = lines_.at(0);
  if (line.state() == LineState::kBroken) line.give_up();  // it owes nothing, so nobody is waited for
  throw AggregationAborted("the run has not begun within --run-timeout; {}", told);
}

}  // namespace dpreduce
