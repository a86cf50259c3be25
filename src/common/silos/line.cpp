#include "common/silos/line.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr double kSegment = 1460.0;  // MSS of TCP over Ethernet

constexpr double kForEver = 1e7;  // seconds: ten times the longest --silo-timeout, and clocks still count it

WireClock::duration duration_of(double seconds) {
  return std::chrono::ceil<WireClock::duration>(std::chrono::duration<double>(std::min(seconds, kForEver)));
}

}  // namespace

double bytes_per_second(const LineTerms& terms) {
  if (terms.loss == 0.0 || terms.round_trip == 0.0) return terms.bandwidth;
  return std::min(terms.bandwidth, std::sqrt(1.5 / terms.loss) * kSegment / terms.round_trip);
}

void Line::set(const LineTerms& terms) {
  rate_ = bytes_per_second(terms);
  DPREDUCE_ASSERT(terms.round_trip >= 0.0 && rate_ > 0.0);
  one_way_ = duration_of(terms.round_trip / 2);
}

void Line::put(Message message, WireClock::time_point now) {
  const std::size_t length = message.bytes.size();
  free_at_ = std::max(free_at_, now) + duration_of(static_cast<double>(length) / rate_);
  messages_.push_back({std::move(message), free_at_ + one_way_});
}

std::optional<Message> Line::take(WireClock::time_point now) {
  if (messages_.empty() || messages_.front().arrives > now) return std::nullopt;
  Message message = std::move(messages_.front().message);
  messages_.pop_front();
  return message;
}

void Line::cut_short() {
  rate_ = std::numeric_limits<double>::infinity();
  one_way_ = WireClock::duration(0);
  free_at_ = WireClock::time_point::min();
  for (OnItsWay& message : messages_) message.arrives = WireClock::time_point::min();
}

LineWire::~LineWire() {
  if (!taking_.joinable()) return;
  {
    const std::lock_guard guard(lock_);
    has_ended_ = true;
  }
  changed_.notify_all();
  sending_.join();
  taking_.join();
}

void LineWire::set_line(const LineTerms& terms) {
  coming_.set(terms);
  going_.set(terms);
  taking_ = std::thread([this] { take_what_comes(); });
  sending_ = std::thread([this] { send_what_is_due(); });
}

// Stores the exception that is being handled: nothing goes on after it.
void LineWire::fail() {
  const std::lock_guard guard(lock_);
  fault_ = std::current_exception();
  has_ended_ = true;
  changed_.notify_all();
}

void LineWire::take_what_comes() {
  constexpr auto kLook = std::chrono::milliseconds(50);
  try {
    for (;;) {
      std::optional<Message> message = wire_.receive(WireClock::now() + kLook);
      const std::lock_guard guard(lock_);
      if (has_ended_) return;
      if (!message) continue;
      const bool is_end = message->from == 0 && message->is_farewell;
      coming_.put(std::move(*message), WireClock::now());
      if (is_end) coming_.cut_short();
      changed_.notify_all();
    }
  } catch (...) {
    fail();
  }
}

void LineWire::send_what_is_due() {
  try {
    std::unique_lock guard(lock_);
    while (!fault_ && !(has_ended_ && going_.empty())) {
      if (std::optional<Message> message = going_.take(WireClock::now())) {
        guard.unlock();
        wire_.send(message->from, std::move(message->bytes));
        guard.lock();
      } else if (going_.empty()) {
        changed_.wait(guard);
      } else {
        changed_.wait_until(guard, going_.next_arrival());
      }
    }
  } catch (...) {
    fail();
  }
}

void LineWire::send(std::uint32_t to, std::vector<std::byte> bytes) {
  if (!taking_.joinable()) return wire_.send(to, std::move(bytes));
  const std::lock_guard guard(lock_);
  if (fault_) std::rethrow_exception(fault_);
  going_.put({to, std::move(bytes), false}, WireClock::now());
  changed_.notify_all();
}

std::optional<Message> LineWire::receive(WireClock::time_point until) {
  if (!taking_.joinable()) return wire_.receive(until);
  std::unique_lock guard(lock_);
  for (;;) {
    if (std::optional<Message> message = coming_.take(WireClock::now())) return message;
    if (coming_.empty() && fault_) std::rethrow_exception(fault_);
    if (WireClock::now() >= until) return std::nullopt;
    changed_.wait_until(guard, coming_.empty() ? until : std::min(until, coming_.next_arrival()));
  }
}

}  // namespace dpreduce
