#include "network/doorman.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "common/base/error.hpp"

namespace dpreduce {

std::string FailedVisits::network_of(const boost::asio::ip::address& address) {
  using namespace boost::asio::ip;
  if (address.is_v4()) return address.to_string();
  if (address.to_v6().is_v4_mapped()) return make_address_v4(v4_mapped, address.to_v6()).to_string();
  constexpr std::size_t kNetworkBytes = 8;
  const auto bytes = address.to_v6().to_bytes();
  return {bytes.begin(), bytes.begin() + kNetworkBytes};
}

void FailedVisits::add(const std::string& network, Clock::time_point now) {
  if (failures_.size() >= kMostAddresses && !failures_.contains(network)) {
    const auto oldest =
        std::ranges::min_element(failures_, {}, [](const auto& of_network) { return of_network.second.last; });
    failures_.erase(oldest);
  }
  failures_[network] = {count(network, now) + 1, now};
}

std::uint64_t FailedVisits::count(const std::string& network, Clock::time_point now) const {
  const auto found = failures_.find(network);
  return found == failures_.end() || now - found->second.last > kForgottenAfter ? 0 : found->second.count;
}

std::chrono::milliseconds FailedVisits::wait(const std::string& network, Clock::time_point now,
                                             std::chrono::milliseconds most) const {
  constexpr std::uint64_t kMostDoublings = 20;
  const std::uint64_t failures = count(network, now);
  if (failures == 0) return {};
  return std::min(most, kFirstWait * (1 << std::min(failures - 1, kMostDoublings)));
}

namespace {

using boost::asio::ip::tcp;

constexpr int kWaitsInVisit = 16;  // the longest wait for a handshake, as a part of a visit
constexpr auto kPauseAfterError = std::chrono::milliseconds(100);

tcp::acceptor listening(boost::asio::io_context& io, const NetworkAddress& listen) {
  try {
    tcp::resolver resolver(io);
    const auto found = resolver.resolve(listen.host, listen.port, tcp::resolver::passive);
    return {io, found.begin()->endpoint(), true};
  } catch (const boost::system::system_error& error) {
    throw BadInput("--listen {}: {}", listen.text(), error.code().message());
  }
}

}  // namespace

Doorman::Doorman(boost::asio::io_context& io, const NetworkAddress& listen, TlsIdentity& identity,
                 std::chrono::milliseconds visit, std::function<bool(Proved)> admit,
                 std::function<void(const std::string&)> tell, std::size_t most_visitors)
    : acceptor_(listening(io, listen)),
      pause_(io),
      identity_(identity),
      visit_(visit),
      admit_(std::move(admit)),
      report_line_(std::move(tell)),
      most_visitors_(most_visitors) {
  accept();
}

Doorman::~Doorman() {
  report_unreported();
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

// Strangers and others have as many places each, so that no stranger takes the place of one that has said hello. The
// place that is taken is of the network that holds most of them, among those from where visits have failed. One visitor
// by itself goes no sooner for its failures: else whoever has many addresses, from where nothing has failed, would keep
// it out.
void Doorman::make_room(bool among_strangers) {
  const auto now = Clock::now();
  const auto is_one = [&](const auto& visitor) {
    return (visitor.second.stage == Stage::kStranger) == among_strangers;
  };
  if (std::ranges::count_if(visitors_, is_one) <= static_cast<std::ptrdiff_t>(most_visitors_)) return;
  std::map<std::string, std::uint64_t> places;
  for (const auto& visitor : visitors_) {
    if (is_one(visitor)) ++places[visitor.second.network];
  }
  std::vector<std::uint64_t> worst;
  std::uint64_t most = 0;
  for (const auto& visitor : visitors_) {
    if (!is_one(visitor)) continue;
    const std::string& network = visitor.second.network;
    const std::uint64_t held = failed_.count(network, now) > 0 ? places[network] : 1;
    if (held > most) worst.clear();
    if (held >= most) worst.push_back(visitor.first);
    most = std::max(most, held);
  }
  turn_away(among_strangers ? worst.front() : worst[chance_() % worst.size()],
            fmt::format("{} others are waiting to authenticate", most_visitors_), {},
            among_strangers ? Blame::kVisitor : Blame::kNobody);
}

void Doorman::let_in(TlsConnection::Socket socket) {
  boost::system::error_code error;
  const auto remote = socket.remote_endpoint(error);
  const std::uint64_t number = ++visitors_so_far_;
  const auto connection = std::make_shared<TlsConnection>(std::move(socket));
  visitors_.emplace(number, Visitor{.connection = connection,
                                    .network = FailedVisits::network_of(remote.address()),
                                    .until = Clock::now() + visit_ / 2});
  connection->read_hello([this, number](const std::string& fault) { take_hello(number, fault); });
  make_room(true);
}

void Doorman::take_hello(std::uint64_t number, const std::string& fault) {
  const auto visitor = visitors_.find(number);
  if (visitor == visitors_.end()) return;
  if (!fault.empty()) return turn_away(number, fault);
  const auto now = Clock::now();
  visitor->second.stage = Stage::kWaiting;
  visitor->second.until = now + visit_;
  visitor->second.may_begin_at = now + failed_.wait(visitor->second.network, now, visit_ / kWaitsInVisit);
  make_room(false);
  begin_handshakes(now);
}

// A bucket of tokens, one a handshake, that fills at the rate.
bool Doorman::may_begin(double left_to_others, Clock::time_point now) {
  const double seconds = std::chrono::duration<double>(now - std::exchange(counted_at_, now)).count();
  handshakes_left_ = std::min(kHandshakesPerSecond, handshakes_left_ + kHandshakesPerSecond * seconds);
  if (handshakes_left_ < 1.0 + left_to_others) return false;
  handshakes_left_ -= 1.0;
  return true;
}

// Picks among those whose turn it is: first whoever comes from where nothing has failed.
void Doorman::begin_handshakes(Clock::time_point now) {
  for (const bool has_failed : {false, true}) {
    for (auto next = visitors_.begin(); next != visitors_.end();) {
      const auto& [number, visitor] = *next++;
      if (visitor.stage != Stage::kWaiting || visitor.may_begin_at > now) continue;
      if ((failed_.count(visitor.network, now) > 0) != has_failed) continue;
      if (!may_begin(has_failed ? kHandshakesPerSecond / 2 : 0, now)) break;
      begin_handshake(number);
    }
  }
}

void Doorman::begin_handshake(std::uint64_t number) {
  Visitor& visitor = visitors_.at(number);
  visitor.stage = Stage::kProving;
  visitor.connection->handshake(identity_, TlsConnection::Side::kServer, [this, number](const std::string& fault) {
    const auto proving = visitors_.find(number);
    if (proving == visitors_.end()) return;
    if (!fault.empty()) return turn_away(number, fault);
    proving->second.connection->set_handlers(
        {.take = [this, number](std::span<const std::byte> bytes) { return take(number, bytes); },
         .fill = [](std::vector<std::byte>&) {},
         .ended = [this, number](const std::string& why) { turn_away(number, why); }});
  });
}

bool Doorman::take(std::uint64_t number, std::span<const std::byte> bytes) {
  Visitor& visitor = visitors_.at(number);
  try {
    visitor.reader.add(bytes);
    std::optional<LinkMessage> greeting = visitor.reader.next();
    if (!greeting) return true;
    Proved proved{visitor.connection->peer(), visitor.connection, std::move(visitor.reader), greeting->greeting};
    failed_.forget(visitor.network);
    visitors_.erase(number);
    return admit_(std::move(proved));
  } catch (const AggregationAborted& fault) {
    turn_away(number, fault.what(), refusal_message(fault.what()));
    return false;
  }
}

// Refuses a visitor. `last` is the reason sent to the visitor; nothing if empty.
void Doorman::turn_away(std::uint64_t number, const std::string& why, std::vector<std::byte> last, Blame blame) {
  const auto visitor = visitors_.find(number);
  if (visitor == visitors_.end()) return;
  if (blame == Blame::kVisitor) failed_.add(visitor->second.network, Clock::now());
  const std::shared_ptr<TlsConnection> connection = visitor->second.connection;
  visitors_.erase(visitor);
  if (last.empty()) {
    connection->close();
  } else {
    connection->write_last(std::move(last));
  }
  report_refused(fmt::format("a connection from {} was refused: {}", connection->remote(), why));
}

void Doorman::report_refused(const std::string& line) {
  if (lines_left_ > 0) {
    --lines_left_;
    report_line_(line);
  } else {
    ++untold_;
  }
}

void Doorman::tick(Clock::time_point now) {
  for (auto next = visitors_.begin(); next != visitors_.end();) {
    const auto& [number, visitor] = *next++;
    if (visitor.until > now) continue;
    const double seconds = std::chrono::duration<double>(visit_).count();
    turn_away(number, visitor.stage == Stage::kStranger ? fmt::format("no TLS hello within {} s", seconds / 2)
                                                        : fmt::format("no authentication within {} s", seconds));
  }
  begin_handshakes(now);
  if (now < reported_until_) return;
  reported_until_ = now + kReportAgain;
  lines_left_ = kLinesAtOnce;
  report_unreported();
}

void Doorman::report_unreported() {
  if (untold_ > 0) report_line_(fmt::format("{} further connections were refused", std::exchange(untold_, 0)));
}

}  // namespace dpreduce
