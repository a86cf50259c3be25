// Visits that came to nothing, by the address that they came from.
//
// Addresses are no identities: many silos may share one, and one visitor may have many. So failures turn nobody away.
// Failures decide who waits, for a bounded time, and who goes first. The table is bounded, and forgets.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include <boost/asio/ip/address.hpp>

namespace dpreduce {

class FailedVisits {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMostAddresses = 1024;
  static constexpr std::chrono::seconds kForgottenAfter{60};
  static constexpr std::chrono::milliseconds kFirstWait{10};

  /// Whom an address stands for: an address of IPv4, or the first 64 bits of one of IPv6.
  static std::string network_of(const boost::asio::ip::address& address);

  /// One visit more has failed. Where the table is full, the address whose last failure is oldest is forgotten.
  void add(const std::string& network, Clock::time_point now);
  /// A visit has succeeded.
  void forget(const std::string& network) { failures_.erase(network); }

  /// Failures since the last visit that succeeded; 0 where the last one is older than kForgottenAfter.
  std::uint64_t count(const std::string& network, Clock::time_point now) const;
  /// How long a visitor from there waits for its handshake: 0, then kFirstWait, doubled with each failure up to `most`.
  std::chrono::milliseconds wait(const std::string& network, Clock::time_point now,
                                 std::chrono::milliseconds most) const;

  std::size_t addresses() const { return failures_.size(); }

 private:
  struct Failures {
    std::uint64_t count = 0;
    Clock::time_point last{};
  };
  std::map<std::string, Failures> failures_;
};

}  // namespace dpreduce
