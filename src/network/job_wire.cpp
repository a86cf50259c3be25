#include "network/job_wire.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>

#include "common/base/error.hpp"
#include "common/base/text.hpp"
#include "common/silos/file_claims.hpp"
#include "common/silos/line.hpp"
#include "network/coordinator_wire.hpp"
#include "network/silo_wire.hpp"

namespace dpreduce {
namespace {

// Time within which silos reach the coordinator; longer by kReachedPerParty for each, since a machine may have little
// room for so many.
constexpr std::chrono::milliseconds kReached = std::chrono::seconds(20);
constexpr std::chrono::milliseconds kReachedPerParty(200);
constexpr auto kWithoutEnd = std::chrono::hours(1'000'000);
const std::string kLocalHost = "127.0.0.1";
constexpr const char* kPorts = "DPREDUCE_PORTS";  // variable of the environment

// The addresses of this machine for others, then for itself, as far as they go into a text.
std::string hosts_of_machine() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return kLocalHost;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> all(first, ::freeifaddrs);
  std::string hosts;
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_UP) == 0 || (one->ifa_flags & IFF_LOOPBACK) != 0) continue;
    const int family = one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    std::array<char, NI_MAXHOST> host{};
    const socklen_t length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (::getnameinfo(one->ifa_addr, length, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) != 0) continue;
    const std::string text(host.data());
    if (text.find('%') != std::string::npos) continue;  // of one link, and named by its interface here
    if (hosts.size() + text.size() + kLocalHost.size() + sizeof(" 65535  ") > kLongestJobText) break;
    hosts += text + " ";
  }
  return hosts + kLocalHost;
}

// The first and the last port that the environment names; 0 and 0, for any that is free, where it names none. Throws
// UsageError where it does not name a range.
std::pair<std::uint16_t, std::uint16_t> ports_of_job() {
  const char* const given = std::getenv(kPorts);
  const std::string_view text(given == nullptr ? "" : given);
  if (text.empty()) return {};
  const std::size_t dash = std::min(text.find('-'), text.size());
  const auto first = plain_number<std::uint16_t>(text.substr(0, dash));
  const auto last = plain_number<std::uint16_t>(text.substr(std::min(dash + 1, text.size())));
  if (first && last && *first >= 1 && *first <= *last) return {*first, *last};
  throw UsageError("{}={}: must be a range of ports, e.g. 40000-40100", kPorts, text);
}

// Throws BadInput if no port is free.
std::unique_ptr<CoordinatorWire> listening(const Identity& own, const NetworkTerms& terms, bool is_on_one_machine) {
  const auto [first, last] = ports_of_job();
  std::string fault;
  for (const char* const host : {"::", "0.0.0.0"}) {  // the second on a machine without IPv6
    for (std::uint32_t port = first; port <= last; ++port) {
      try {
        const NetworkAddress address{is_on_one_machine ? kLocalHost : host, std::to_string(port)};
        return std::make_unique<CoordinatorWire>(own, terms, address);
      } catch (const BadInput& error) {
        fault = error.what();
      }
    }
  }
  throw BadInput("no port is free for the silos of this job ({}); give others in {}, e.g. 40000-40100", fault, kPorts);
}

int run_on(NetworkWire& wire, const std::function<int(Wire& wire)>& party) {
  int code = 0;
  {
    LineWire line(wire);
    code = party(line);
  }
  wire.leave({});
  return code;
}

}  // namespace

int run_on_job_wire(const JobPlace& place, const std::function<int(Wire& wire)>& party) {
  const Identity own = Identity::generate();
  NetworkTerms terms{
      .roster = {}, .self = static_cast<std::uint32_t>(place.rank), .run_timeout = kWithoutEnd, .is_of_job = true};
  for (const std::string& key : place.exchange(to_hex(own.public_key()))) {
    const std::optional<PublicKey> told = public_key_of_hex(key);
    terms.roster.members.push_back({"", told ? *told : Identity::generate().public_key()});  // which nobody holds
  }
  const std::chrono::milliseconds reached = kReached + place.size * kReachedPerParty;
  if (place.rank != 0) {
    std::istringstream told(place.exchange("silo").front());
    NetworkAddress first;
    std::vector<std::string> hosts;
    told >> first.port >> first.host;
    for (std::string host; told >> host;) hosts.push_back(host);
    if (first.host.empty()) throw PeerFailed(ExitCode::kAggregationAborted, 0);
    SiloWire wire(own, terms, first, hosts);
    wire.wait_for_coordinator(reached);
    return run_on(wire, party);
  }
  allow_most_descriptors();  // a line takes one
  const std::unique_ptr<CoordinatorWire> wire = listening(own, terms, place.is_on_one_machine);
  const std::string port = parse_address("", wire->address()).port;
  const std::vector<std::string> parties =
      place.exchange(port + " " + (place.is_on_one_machine ? kLocalHost : hosts_of_machine()));
  for (std::uint32_t silo = 1; silo < parties.size(); ++silo) {
    if (parties[silo].empty()) wire->give_up(silo);
  }
  wire->wait_for_silos(reached, 0, [](const std::vector<PartyStatus>&) {});
  return run_on(*wire, party);
}

}  // namespace dpreduce
