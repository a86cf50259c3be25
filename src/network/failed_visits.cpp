#include "network/failed_visits.hpp"

#include <algorithm>

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

}  // namespace dpreduce
