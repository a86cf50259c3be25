#include "network/network_address.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include <fmt/format.h>

#include "common/base/error.hpp"

namespace dpreduce {

std::string NetworkAddress::text() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

NetworkAddress parse_address(std::string_view option, const std::string& text) {
  const std::size_t colon = text.rfind(':');
  NetworkAddress address;
  if (colon != std::string::npos) {
    address = {text.substr(0, colon), text.substr(colon + 1)};
    if (address.host.starts_with('[') && address.host.ends_with(']')) {
      address.host = address.host.substr(1, address.host.size() - 2);
    } else if (address.host.find(':') != std::string::npos) {
      address.host.clear();  // of IPv6, without brackets
    }
  }
  std::uint16_t port = 0;
  const char* const end = address.port.data() + address.port.size();
  const auto [read, error] = std::from_chars(address.port.data(), end, port);
  const bool is_port = !address.port.empty() && error == std::errc() && read == end;
  const bool is_host = !address.host.empty() && std::ranges::none_of(address.host, [](char character) {
    return character <= ' ' || character == '/' || character == '@';
  });
  if (!is_port || !is_host) {
    throw UsageError(fmt::format(
        "{} {}: must be HOST:PORT, e.g. hub.example.org:7000, 0.0.0.0:7000 or [::]:7000, with a port to 65535", option,
        text));
  }
  return address;
}

}  // namespace dpreduce
