#include "network/party_line.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/text.hpp"
#include "common/silos/payload.hpp"

namespace dpreduce {
namespace {

constexpr std::string_view kLinkMagic = "dpN2";
constexpr std::size_t kNumberBytes = 8;
constexpr std::size_t kWrittenAtOnce = std::size_t{64} << 10;
constexpr std::size_t kGreetingBytes = kLinkMagic.size() + sizeof(ProcessNonce) + 2 * kNumberBytes;

// The form of what follows the header: a greeting, a number or neither, and then at most so many bytes more.
struct LinkForm {
  LinkKind kind;
  std::size_t fixed;
  std::size_t most_more;

  bool is_greeting() const { return fixed == kGreetingBytes; }
  bool is_numbered() const { return fixed == kNumberBytes; }
  bool is_refusal() const { return fixed == 0; }
};

constexpr std::array<LinkForm, 7> kForms{{{LinkKind::kGreeting, kGreetingBytes, 0},
                                          {LinkKind::kWelcome, kGreetingBytes, 0},
                                          {LinkKind::kRefusal, 0, kLongestReason},
                                          {LinkKind::kNotYet, 0, kLongestReason},
                                          {LinkKind::kMessage, kNumberBytes, kLargestFrame},
                                          {LinkKind::kLeave, kNumberBytes, kLongestReason},
                                          {LinkKind::kReceived, kNumberBytes, 0}}};

LinkForm form_of(LinkKind kind) {
  const auto form = std::ranges::find(kForms, kind, &LinkForm::kind);
  if (form != kForms.end()) return *form;
  throw AggregationAborted("a message of unknown kind {}", static_cast<int>(kind));
}

PayloadWriter header_of(LinkKind kind, std::size_t length) {
  PayloadWriter writer;
  writer.number(static_cast<std::uint64_t>(kind), 1).u32(static_cast<std::uint32_t>(length));
  return writer;
}

LinkMessage parsed(const LinkForm& form, std::span<const std::byte> body) {
  PayloadReader reader(body);
  LinkMessage message{.kind = form.kind, .greeting = {}, .number = 0, .bytes = {}};
  if (form.is_greeting()) {
    if (text_in(reader.bytes(kLinkMagic.size())) != kLinkMagic) {
      throw AggregationAborted("a greeting of another protocol; start the same version at all parties");
    }
    message.greeting.process = reader.array<sizeof(ProcessNonce)>();
    message.greeting.received = reader.u64();
    message.greeting.connection = reader.u64();
  } else if (form.is_numbered()) {
    message.number = reader.u64();
  }
  const auto rest = reader.rest();
  message.bytes.assign(rest.begin(), rest.end());
  return message;
}

}  // namespace

std::vector<std::byte> greeting_message(LinkKind kind, const Greeting& greeting) {
  PayloadWriter writer = header_of(kind, kGreetingBytes);
  return writer.text(kLinkMagic).bytes(greeting.process).u64(greeting.received).u64(greeting.connection).take();
}

std::vector<std::byte> refusal_message(std::string_view reason, LinkKind kind) {
  const std::string_view shown = reason.substr(0, kLongestReason);
  return header_of(kind, shown.size()).text(shown).take();
}

std::vector<std::byte> numbered_message(LinkKind kind, std::uint64_t number, std::span<const std::byte> bytes) {
  return header_of(kind, kNumberBytes + bytes.size()).u64(number).bytes(bytes).take();
}

std::string shown_reason(std::span<const std::byte> text) {
  return shown_text(text_in(text), kLongestReason);
}

void LinkReader::add(std::span<const std::byte> bytes) {
  incoming_.erase(incoming_.begin(), incoming_.begin() + static_cast<std::ptrdiff_t>(used_));
  used_ = 0;
  incoming_.insert(incoming_.end(), bytes.begin(), bytes.end());
}

std::optional<LinkMessage> LinkReader::next() {
  const std::span<const std::byte> come = std::span(incoming_).subspan(used_);
  if (come.size() < kLinkHeader) return std::nullopt;
  PayloadReader header(come.first(kLinkHeader));
  const LinkForm form = form_of(static_cast<LinkKind>(header.number(1)));
  const std::size_t length = header.u32();
  const bool is_answer = form.kind == first_ || (first_ == LinkKind::kWelcome && form.is_refusal());
  const bool is_due = has_begun_ ? form.is_numbered() : is_answer;
  if (!is_due) throw AggregationAborted("an unexpected message of kind {}", static_cast<int>(form.kind));
  if (length < form.fixed || length > form.fixed + form.most_more) {
    throw AggregationAborted("a message of kind {} with a stated length of {} bytes{}", static_cast<int>(form.kind),
                             length, form.is_greeting() ? "; start the same version at all parties" : "");
  }
  if (come.size() - kLinkHeader < length) return std::nullopt;
  LinkMessage message = parsed(form, come.subspan(kLinkHeader, length));
  has_begun_ = true;
  used_ += kLinkHeader + length;
  return message;
}

void ReliableLink::put(LinkKind kind, std::span<const std::byte> bytes) {
  kept_.push_back(numbered_message(kind, ++put_, bytes));
  kept_bytes_ += kept_.back().size();
}

std::span<const std::byte> ReliableLink::next() {
  if (given_ == kept_.size()) return {};
  const std::vector<std::byte>& message = kept_[given_++];
  most_given_ = std::max(most_given_, settled_ + given_);
  return message;
}

void ReliableLink::take_received(std::uint64_t received) {
  if (received < settled_ || received > most_given_) {
    throw AggregationAborted("it reports {} received messages, where {} to {} are possible", received, settled_,
                             most_given_);
  }
  for (; settled_ < received; ++settled_) {
    kept_bytes_ -= kept_.front().size();
    kept_.pop_front();
    if (given_ > 0) --given_;
  }
}

void ReliableLink::begin_connection(std::uint64_t received) {
  take_received(received);
  given_ = 0;
}

void ReliableLink::take_number(std::uint64_t number) {
  if (number != received_ + 1) {
    throw AggregationAborted("message {} of the connection, but {} is expected", number, received_ + 1);
  }
  received_ = number;
}

LineTimes LineTimes::of(std::chrono::milliseconds silo_timeout) {
  using namespace std::chrono_literals;
  using std::chrono::milliseconds;
  LineTimes times{};
  times.reconnect = std::min<milliseconds>(60s, silo_timeout / 4);
  times.silence = std::min<milliseconds>(20s, times.reconnect);
  times.beat = std::min<milliseconds>(2s, times.silence / 10);
  times.visit = std::min<milliseconds>(10s, times.reconnect);
  times.attempt = std::min<milliseconds>(10s, times.reconnect / 4);  // four before a broken line is given up
  times.farewell = times.silence + times.reconnect;
  return times;
}

LineTimes LineTimes::of_job(bool is_coordinator) {
  using namespace std::chrono_literals;
  return {.reconnect = 0s,
          .silence = 1'000'000h,
          .beat = 1'000'000h,
          .visit = 10s,
          .attempt = 4s,
          .farewell = is_coordinator ? 10s : 3s};
}

LineRoom LineRoom::of(std::size_t lines) {
  return {std::min(ReliableLink::kMostKept, kKeptByAll / lines), std::min(kMostWaiting, kWaitingForAll / lines)};
}

bool PartyLine::attach(std::shared_ptr<TlsConnection> connection, LinkReader reader, const Greeting& greeting,
                       std::vector<std::byte> first) {
  if (++connections_ > kMostConnections) {
    throw AggregationAborted("it has connected more than {} times", kMostConnections);
  }
  link_.begin_connection(greeting.received);
  if (connection_) connection_->close();
  process_ = greeting.process;
  connection_ = std::move(connection);
  reader_ = std::move(reader);
  first_ = std::move(first);
  owes_received_ = false;
  heard_ = beat_ = Clock::now();
  state_ = LineState::kOpen;
  const TlsConnection* const own = connection_.get();
  connection_->set_handlers({.take =
                                 [this, own](std::span<const std::byte> bytes) {
                                   const std::lock_guard guard(lock_);
                                   return take(own, bytes);
                                 },
                             .fill =
                                 [this, own](std::vector<std::byte>& out) {
                                   const std::lock_guard guard(lock_);
                                   if (own == connection_.get()) fill(out);
                                 },
                             .ended =
                                 [this, own](const std::string& why) {
                                   const std::lock_guard guard(lock_);
                                   if (own == connection_.get()) break_off(why);
                                 }});
  return take(own, {});
}

void PartyLine::forget() {
  DPREDUCE_ASSERT(state_ != LineState::kOpen);
  state_ = LineState::kAbsent;
  process_.reset();
  link_ = ReliableLink(room_.kept);
}

bool PartyLine::take(const TlsConnection* from, std::span<const std::byte> bytes) {
  if (from != connection_.get()) return false;
  heard_ = Clock::now();
  try {
    reader_.add(bytes);
    while (waiting_ < room_.waiting) {
      std::optional<LinkMessage> message = reader_.next();
      if (!message) break;
      take_message(std::move(*message));
    }
  } catch (const AggregationAborted& fault) {
    has_deviated_ = true;
    break_off(fault.what());
    return false;
  }
  is_paused_ = waiting_ >= room_.waiting;
  return !is_paused_;
}

void PartyLine::take_message(LinkMessage message) {
  if (message.kind == LinkKind::kReceived) {
    link_.take_received(message.number);
    return events_.changed();
  }
  link_.take_number(message.number);
  owes_received_ = true;
  if (message.kind == LinkKind::kLeave) {
    state_ = LineState::kLeft;
    return events_.left(shown_reason(message.bytes));
  }
  if (state_ == LineState::kLeft) throw AggregationAborted("it sends more after it has left");
  waiting_ += message.bytes.size() + kBesideMessage;
  events_.message(std::move(message.bytes));
}

void PartyLine::fill(std::vector<std::byte>& out) {
  out = std::exchange(first_, {});
  if (std::exchange(owes_received_, false)) {
    const std::vector<std::byte> received = numbered_message(LinkKind::kReceived, link_.received());
    out.insert(out.end(), received.begin(), received.end());
  }
  while (out.size() < kWrittenAtOnce) {
    const std::span<const std::byte> message = link_.next();
    if (message.empty()) break;
    out.insert(out.end(), message.begin(), message.end());
  }
  if (out.empty()) return;
  beat_ = Clock::now();
  events_.changed();
}

void PartyLine::flush() {
  if (connection_) connection_->flush();
}

void PartyLine::leave(std::string_view why) {
  if (state_ != LineState::kOpen && state_ != LineState::kBroken) return;
  is_leaving_ = true;
  link_.put(LinkKind::kLeave, bytes_in(why.substr(0, kLongestReason)));
}

bool PartyLine::is_settled() const {
  if (state_ == LineState::kOpen || state_ == LineState::kBroken) return link_.is_settled();
  return state_ != LineState::kLeft || !connection_ || !owes_received_;
}

void PartyLine::taken(std::size_t bytes) {
  waiting_ -= bytes + kBesideMessage;
}

void PartyLine::break_off(const std::string& why) {
  if (connection_) std::exchange(connection_, nullptr)->close();
  if (state_ != LineState::kOpen) return;
  if (is_leaving_ && link_.is_settled()) {  // the other one has no reason to stay
    state_ = LineState::kLeft;
    return;
  }
  state_ = LineState::kBroken;
  broken_at_ = Clock::now();
  why_broken_ = why;
  events_.broken(why);
}

bool PartyLine::tick(Clock::time_point now) {
  if (state_ == LineState::kBroken && now >= broken_at_ + times_.reconnect) {
    state_ = LineState::kLost;
    return true;
  }
  if (!connection_) return false;
  if (is_paused_ && waiting_ < room_.waiting / 2) {
    const std::shared_ptr<TlsConnection> connection = connection_;
    if (take(connection.get(), {})) connection->resume();
  }
  if (!is_paused_ && now >= heard_ + times_.silence) {
    break_off(fmt::format("nothing has come for {} s", std::chrono::duration<double>(times_.silence).count()));
  } else if (now >= beat_ + times_.beat) {
    owes_received_ = true;
  }
  return false;
}

}  // namespace dpreduce
