#include "network/doorman.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

using boost::asio::ip::tcp;

constexpr auto kPauseAfterError = std::chrono::milliseconds(100);

tcp::acceptor listening(boost::asio::io_context& io, const NetworkAddress& listen) {
  try {
    tcp::resolver resolver(io);
    const auto found = resolver.resolve(listen.host, listen.port, tcp::resolver::passive);
    return {io, found.begin()->endpoint(), true};
  } catch (const boost::system::system_error& error) {
    throw BadInput(fmt::format("--listen {}: {}", listen.text(), error.code().message()));
  }
}

}  // namespace

Doorman::Doorman(boost::asio::io_context& io, const NetworkAddress& listen, TlsIdentity& identity,
                 std::chrono::milliseconds visit, std::function<bool(Proved)> admit,
                 std::function<void(const std::string&)> tell)
    : acceptor_(listening(io, listen)),
      pause_(io),
      identity_(identity),
      visit_(visit),
      admit_(std::move(admit)),
      tell_(std::move(tell)) {
  accept();
}

Doorman::~Doorman() {
  tell_untold();
}

NetworkAddress Doorman::address() const {
  const auto endpoint = acceptor_.local_endpoint();
  return {endpoint.address().to_string(), std::to_string(endpoint.port())};
}

void Doorman::accept() {
  acceptor_.async_accept([this](auto error, TlsConnection::Socket socket) {
    if (error == boost::asio::error::operation_aborted) return;
    if (!error) {
      let_in(std::move(socket));
      return accept();
    }
    pause_.expires_after(kPauseAfterError);  // out of file descriptors: others will end
    pause_.async_wait([this](auto cancelled) {
      if (!cancelled) accept();
    });
  });
}

std::uint64_t Doorman::least_promising() {
  const auto silent = std::ranges::find_if(visitors_, [](const auto& visitor) { return !visitor.second.has_begun; });
  if (silent != visitors_.end()) return silent->first;
  return std::next(visitors_.begin(), static_cast<std::ptrdiff_t>(chance_() % visitors_.size()))->first;
}

void Doorman::let_in(TlsConnection::Socket socket) {
  if (visitors_.size() >= kMostVisitors) {
    turn_away(least_promising(), fmt::format("{} others wait to prove themselves", kMostVisitors));
  }
  const std::uint64_t number = ++visitors_so_far_;
  const auto connection = std::make_shared<TlsConnection>(std::move(socket));
  visitors_.emplace(number, Visitor{connection, Clock::now() + visit_});
  connection->when_readable([this, number] { begin_handshake(number); });
}

// A bucket of tokens, one a handshake, that fills at the rate.
bool Doorman::may_begin() {
  const auto now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - std::exchange(counted_at_, now)).count();
  handshakes_left_ = std::min(kHandshakesPerSecond, handshakes_left_ + kHandshakesPerSecond * seconds);
  if (handshakes_left_ < 1.0) return false;
  handshakes_left_ -= 1.0;
  return true;
}

void Doorman::begin_handshake(std::uint64_t number) {
  const auto visitor = visitors_.find(number);
  if (visitor == visitors_.end()) return;
  if (!may_begin()) return turn_away(number, "too many handshakes at once");
  visitor->second.has_begun = true;
  visitor->second.connection->handshake(identity_, TlsConnection::Side::kServer,
                                        [this, number](const std::string& fault) {
                                          if (!visitors_.contains(number)) return;
                                          if (!fault.empty()) return turn_away(number, fault);
                                          wait_for_greeting(number);
                                        });
}

void Doorman::wait_for_greeting(std::uint64_t number) {
  visitors_.at(number).connection->set_handlers(
      {.take = [this, number](std::span<const std::byte> bytes) { return take(number, bytes); },
       .fill = [](std::vector<std::byte>&) {},
       .ended = [this, number](const std::string& why) { turn_away(number, why); }});
}

bool Doorman::take(std::uint64_t number, std::span<const std::byte> bytes) {
  Visitor& visitor = visitors_.at(number);
  try {
    visitor.reader.add(bytes);
    std::optional<LinkMessage> greeting = visitor.reader.next();
    if (!greeting) return true;
    Proved proved{visitor.connection->peer(), visitor.connection, std::move(visitor.reader), greeting->greeting};
    visitors_.erase(number);
    return admit_(std::move(proved));
  } catch (const AggregationAborted& fault) {
    turn_away(number, fault.what(), refusal_message(fault.what()));
    return false;
  }
}

// `last`: what the visitor is told; where empty, nothing.
void Doorman::turn_away(std::uint64_t number, const std::string& why, std::vector<std::byte> last) {
  const auto visitor = visitors_.find(number);
  if (visitor == visitors_.end()) return;
  const std::shared_ptr<TlsConnection> connection = visitor->second.connection;
  visitors_.erase(visitor);
  if (last.empty()) {
    connection->close();
  } else {
    connection->write_last(std::move(last));
  }
  tell_refused(fmt::format("a connection from {} was refused: {}", connection->remote(), why));
}

void Doorman::tell_refused(const std::string& line) {
  if (lines_left_ > 0) {
    --lines_left_;
    tell_(line);
  } else {
    ++untold_;
  }
}

void Doorman::tick(Clock::time_point now) {
  while (!visitors_.empty() && visitors_.begin()->second.until <= now) {
    turn_away(visitors_.begin()->first,
              fmt::format("it has not proved who it is within {} s", std::chrono::duration<double>(visit_).count()));
  }
  if (now < told_until_) return;
  told_until_ = now + kTellAgain;
  lines_left_ = kLinesAtOnce;
  tell_untold();
}

void Doorman::tell_untold() {
  if (untold_ > 0) tell_(fmt::format("{} further connections were refused", std::exchange(untold_, 0)));
}

}  // namespace dpreduce
