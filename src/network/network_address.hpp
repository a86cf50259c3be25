// Where the coordinator is: HOST:PORT.
#pragma once

#include <string>
#include <string_view>

namespace dpreduce {

struct NetworkAddress {
  std::string host;  ///< a name, or an address of IPv4 or IPv6
  std::string port;  ///< 0 to 65535; 0: one that is free

  /// "host:7000", "[::1]:7000".
  std::string text() const;
};

/// "hub.example.org:7000", "0.0.0.0:7000" or "[::]:7000". Throws UsageError naming the option where it is nothing of
/// that form.
NetworkAddress parse_address(std::string_view option, const std::string& text);

}  // namespace dpreduce
