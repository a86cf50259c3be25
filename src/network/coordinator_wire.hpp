// Coordinator's end of the network: it listens, and waits for the silos of its roster.
//
// Processes that may use a silo's line:
//   - before the run begins, the first process that came with the silo's identity; another one once the first has gone
//   - from then on that process alone, on the connection that it made last
// Another process of the same identity proves itself, is refused, and receives the reason; the line of the first
// process is not touched.
#pragma once

#include <optional>

#include "network/doorman.hpp"
#include "network/network_wire.hpp"

namespace dpreduce {

class CoordinatorWire final : public NetworkWire {
 public:
  /// Listens at `listen`. Throws as Doorman.
  CoordinatorWire(const Identity& identity, NetworkTerms terms, const NetworkAddress& listen);
  ~CoordinatorWire() override;

  /// Returns when all silos are connected, or, after `wait`, at least `least` of them: the run begins. Silos that are
  /// absent then have dropped out. In a job, returns also once no silo is absent any more. Calls `tell` with the status
  /// of all silos, at once and whenever it changes. Throws AggregationAborted if the run has no time left.
  void wait_for_silos(std::optional<std::chrono::milliseconds> wait, std::size_t least,
                      const std::function<void(const std::vector<PartyStatus>&)>& tell);

  /// Stops waiting for silo `silo`, which has ended before the run. Precondition: called before wait_for_silos.
  void give_up(std::uint32_t silo);

  std::string address() const override { return address_; }

 protected:
  void on_tick(WireClock::time_point now) override { doorman_.tick(now); }
  void on_gone(std::uint32_t peer, const std::string& why) override;

 private:
  bool admit(Doorman::Proved visitor);
  std::string why_refused(PartyLine& line, const Greeting& greeting) const;
  // Gives up the lines of silos that are absent. Precondition: the lock is held.
  void begin_without_absent();

  bool has_begun_ = false;
  std::map<std::uint32_t, std::uint64_t> bound_by_;  // number of the silo's connection that binds its line
  Doorman doorman_;
  std::string address_;
};

}  // namespace dpreduce
