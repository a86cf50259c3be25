#include "network/reliable_link.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "common/base/error.hpp"

namespace dpreduce {

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
    throw AggregationAborted(
        fmt::format("it says that {} messages have come, of {} to {} that can have", received, settled_, most_given_));
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
    throw AggregationAborted(fmt::format("message {} of the line where {} comes next", number, received_ + 1));
  }
  received_ = number;
}

}  // namespace dpreduce
