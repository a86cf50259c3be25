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
  bytes_ += length;
  messages_.push_back({std::move(message), free_at_ + one_way_});
}

std::optional<Message> Line::take(WireClock::time_point now) {
  if (messages_.empty() || messages_.front().arrives > now) return std::nullopt;
  Message message = std::move(messages_.front().message);
  messages_.pop_front();
  bytes_ -= message.bytes.size();
  return message;
}

void Line::cut_short() {
  rate_ = std::numeric_limits<double>::infinity();
  one_way_ = WireClock::duration(0);
  free_at_ = WireClock::time_point::min();
  for (OnItsWay& message : messages_) message.arrives = WireClock::time_point::min();
}

}  // namespace dpreduce
