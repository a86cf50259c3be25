// A run among silos.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/archive_all.hpp"
#include "common/base/privacy_terms.hpp"
#include "methods/options/silo_consent.hpp"

namespace dpreduce {

/// A run among silos that do not show each other their rows or sums.
struct SiloOptions {
  bool secure_aggregation = false;           ///< masked sums; rank 0 is a coordinator without rows
  std::optional<std::uint32_t> threshold{};  ///< silos that must stay; empty: more than two thirds
  std::uint32_t colluding = 0;               ///< silos that may show the coordinator what they know
  NoiseSource noise = NoiseSource::kCentral;
  std::string roster{};                  ///< who takes part; empty: identities as they come
  std::string identity{};                ///< this party's; {rank} is replaced
  std::string own_options{};             ///< file of what this party says for itself; {rank} is replaced; empty: none
  bool rows_are_own = false;             ///< that file names its rows, or it is the coordinator and needs none
  bool ledger_is_own = false;            ///< that file names its ledger
  std::optional<SiloConsent> consent{};  ///< what that file lets it take part in; empty: it does not say
  std::string log{};                     ///< this party's; {rank} is replaced; empty: none
  std::string agreed{};                  ///< the options that all parties must have been told alike, one a line
  double timeout_seconds = 300;          ///< then a silent silo is lost
  // A silo's line to the coordinator, in simulations.
  std::optional<double> round_trip_ms{};        ///< empty: 0
  std::optional<double> bandwidth_mbit{};       ///< 10^6 bits a second, each direction; empty: without bound
  std::optional<double> packet_loss_percent{};  ///< of its packets; empty: 0

  std::optional<std::uint32_t> silos_per_person{};  ///< s, the most silos that have rows of one person; empty: all
  bool over_network = false;                        ///< parties are processes on machines of their own (src/network)
  std::optional<double> patience_seconds{};         ///< of the coordinator over a network, with one silo in all
  bool under_engine = false;  ///< an engine that is not MPI connects them (travel/masked_silo.hpp)

  bool is_distributed() const { return noise == NoiseSource::kDistributed; }
  bool has_line() const { return round_trip_ms || bandwidth_mbit || packet_loss_percent; }
  bool operator==(const SiloOptions&) const = default;
};

DPREDUCE_ARCHIVE(SiloOptions, secure_aggregation, threshold, colluding, noise, roster, identity, own_options,
                 rows_are_own, ledger_is_own, consent, log, agreed, timeout_seconds, round_trip_ms, bandwidth_mbit,
                 packet_loss_percent, silos_per_person, over_network, patience_seconds, under_engine)

/// Throws UsageError where the part contradicts itself or is out of range.
void check(const SiloOptions& silos);

}  // namespace dpreduce
