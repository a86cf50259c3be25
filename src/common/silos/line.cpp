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

void Line::put(Letter letter, WireClock::time_point now) {
  const std::size_t length = letter.bytes.size();
  free_at_ = std::max(free_at_, now) + duration_of(static_cast<double>(length) / rate_);
  bytes_ += length;
  letters_.push_back({std::move(letter), free_at_ + one_way_});
}

std::optional<Letter> Line::take(WireClock::time_point now) {
  if (letters_.empty() || letters_.front().arrives > now) return std::nullopt;
  Letter letter = std::move(letters_.front().letter);
  letters_.pop_front();
  bytes_ -= letter.bytes.size();
  return letter;
}

void Line::cut_short() {
  rate_ = std::numeric_limits<double>::infinity();
  one_way_ = WireClock::duration(0);
  free_at_ = WireClock::time_point::min();
  for (OnItsWay& letter : letters_) letter.arrives = WireClock::time_point::min();
}

}  // namespace dpreduce
