#include "network/network_wire.hpp"

#include <algorithm>

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/randomness/secure_bytes.hpp"
#include "common/silos/payload.hpp"

namespace dpreduce {
namespace {

constexpr auto kTick = std::chrono::milliseconds(50);

std::vector<PublicKey> keys_of(const Roster& roster, const std::vector<std::uint32_t>& peers) {
  std::vector<PublicKey> keys;
  for (const std::uint32_t peer : peers) keys.push_back(roster.members.at(peer).key);
  return keys;
}

}  // namespace

NetworkWire::NetworkWire(const Identity& identity, NetworkTerms terms, const std::vector<std::uint32_t>& peers)
    : terms_(std::move(terms)),
      identity_(identity, keys_of(terms_.roster, peers)),
      run_until_(WireClock::now() + terms_.run_timeout),
      send_timeout_(terms_.silo_timeout),
      timer_(io_) {
  secure_bytes(process_);
  const LineTimes times = terms_.times();
  const LineRoom room = LineRoom::of(peers.size());
  for (const std::uint32_t peer : peers) {
    PartyLine::Events events;
    events.message = [this, peer](std::vector<std::byte> bytes) { deliver({peer, std::move(bytes), false}); };
    events.left = [this, peer](const std::string& why) {
      log(fmt::format("{} has left: {}", name_of(peer), why));
      on_gone(peer, why);
    };
    events.broken = [this, peer](const std::string& why) {
      log(fmt::format("the connection to {} is broken: {}; it has {} s to reconnect", name_of(peer), why,
                      seconds_of(lines_.at(peer).reconnect_time())));
      on_broken(peer);
      changed_.notify_all();
    };
    events.changed = [this] { changed_.notify_all(); };
    lines_.try_emplace(peer, times, room, lock_, std::move(events));
  }
}

void NetworkWire::start() {
  thread_ = std::thread([this] { run(); });
}

void NetworkWire::stop() {
  io_.stop();
  if (thread_.joinable()) thread_.join();
}

void NetworkWire::run() {
  tick();
  try {
    io_.run();
  } catch (const std::exception& error) {  // of our own, or no memory
    const std::lock_guard guard(lock_);
    fail(fmt::format("the network's thread has ended: {}", error.what()));
  }
}

void NetworkWire::tick() {
  {
    const std::lock_guard guard(lock_);
    const auto now = WireClock::now();
    for (auto& [peer, line] : lines_) {
      if (!line.tick(now)) continue;
      std::string why = fmt::format("its connection broke ({}) and was not restored within {} s", line.why_broken(),
                                    seconds_of(line.reconnect_time()));
      if (terms_.is_of_job) why = line.has_deviated() ? line.why_broken() : "its process has ended";
      on_gone(peer, why);
      if (line.state() == LineState::kLost) log(fmt::format("{} is lost: {}", name_of(peer), why));
    }
    on_tick(now);
  }
  for (auto& [peer, line] : lines_) line.flush();
  timer_.expires_after(kTick);
  timer_.async_wait([this](auto error) {
    if (!error) tick();
  });
}

std::string NetworkWire::name_of(std::uint32_t party) const {
  return party == 0 ? "the coordinator" : terms_.roster.party_text(party);
}

void NetworkWire::log(const std::string& text) const {
  if (terms_.log != nullptr) terms_.log->line(text);
}

void NetworkWire::fail(const std::string& why) {
  if (fault_.empty()) fault_ = why;
  changed_.notify_all();
}

void NetworkWire::require_more() const {
  if (incoming_.empty() && !fault_.empty()) throw AggregationAborted(fault_);
}

void NetworkWire::deliver(Message message) {
  incoming_.push_back(std::move(message));
  changed_.notify_all();
}

bool NetworkWire::attach(std::uint32_t peer, const std::shared_ptr<TlsConnection>& connection, LinkReader reader,
                         const Greeting& greeting, std::vector<std::byte> first,
                         const std::optional<ExportedSecret>& secret) {
  PartyLine& line = lines_.at(peer);
  if (line.process() && line.process() != greeting.process) line.forget();
  if (secret) {
    const bool is_coordinator = terms_.self == 0;
    PayloadWriter writer;
    writer.text("dpreduce line v1").bytes(*secret);
    writer.bytes(is_coordinator ? greeting.process : process_).bytes(is_coordinator ? process_ : greeting.process);
    bindings_[peer] = sha256(writer.take());
  }
  const bool reads_on = line.attach(connection, std::move(reader), greeting, std::move(first));
  log(fmt::format("connected with {}, {}", name_of(peer), connection->remote()));
  changed_.notify_all();
  return reads_on;
}

LineBinding NetworkWire::binding(std::uint32_t peer) const {
  const std::lock_guard guard(lock_);
  const auto binding = bindings_.find(peer);
  return binding == bindings_.end() ? LineBinding{} : binding->second;
}

void NetworkWire::send(std::uint32_t to, std::vector<std::byte> bytes) {
  std::unique_lock guard(lock_);
  PartyLine& line = lines_.at(to);
  const auto is_gone = [&] { return line.state() == LineState::kLeft || line.state() == LineState::kLost; };
  const bool may_send = changed_.wait_for(
      guard, send_timeout_, [&] { return !fault_.empty() || is_gone() || line.link().has_room(bytes.size()); });
  require_more();
  if (!fault_.empty() || is_gone()) return;
  if (!may_send) {
    throw AggregationAborted("{} does not accept the messages of this party within {} s; raise --silo-timeout",
                             name_of(to), seconds_of(send_timeout_));
  }
  line.link().put(LinkKind::kMessage, bytes);
  boost::asio::post(io_, [&line] { line.flush(); });
}

std::optional<Message> NetworkWire::receive(WireClock::time_point until) {
  std::unique_lock guard(lock_);
  if (!changed_.wait_until(guard, std::min(until, run_until_), [&] { return has_arrived(); })) {
    if (WireClock::now() < run_until_) return std::nullopt;
    throw AggregationAborted("the run has not ended within --run-timeout {} s", seconds_of(terms_.run_timeout));
  }
  require_more();
  Message message = std::move(incoming_.front());
  incoming_.pop_front();
  if (!message.is_farewell) lines_.at(message.from).taken(message.bytes.size());
  return message;
}

void NetworkWire::leave(std::string_view why) {
  std::unique_lock guard(lock_);
  const auto longest = WireClock::now() + terms_.times().farewell;
  for (auto& [peer, line] : lines_) {
    line.leave(why);
    boost::asio::post(io_, [own = &line] { own->flush(); });
  }
  changed_.wait_until(guard, longest, [&] {
    return std::ranges::all_of(lines_, [](const auto& of_peer) { return of_peer.second.is_settled(); });
  });
}

std::vector<PartyStatus> NetworkWire::status() const {
  const std::lock_guard guard(lock_);
  std::vector<PartyStatus> all;
  for (const auto& [peer, line] : lines_) all.push_back({terms_.roster.members[peer].name, line.state()});
  return all;
}

}  // namespace dpreduce
