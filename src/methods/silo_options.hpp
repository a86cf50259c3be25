// Options of a run among silos, and a silo's consent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/described_types.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/ledger/loss.hpp"

namespace dpreduce {

// Runs that a silo's owner allows it to take part in: the table [consent] of the silo's own file.

/// Terms of a consent. An empty term allows whatever is requested. Each term is compared with the plan that the silo
/// makes itself (fit/silo_terms.hpp).
struct SiloConsent {
  std::vector<std::string> methods{};
  std::vector<std::string> models{};               ///< SHA-256 of the models that may be evaluated, in lower-case hex
  std::optional<std::uint32_t> least_silos{};      ///< k
  std::optional<std::uint32_t> least_threshold{};  ///< t
  std::optional<std::uint32_t> least_colluding{};  ///< c that the run must withstand
  std::optional<std::uint32_t> most_colluding{};   ///< c: a larger c means more noise
  std::optional<Adjacency> adjacency{};
  std::optional<PrivacyUnit> unit{};
  std::optional<std::uint64_t> rows_per_person{};         ///< B, exactly
  std::optional<std::uint32_t> least_silos_per_person{};  ///< s
  std::optional<double> most_clip_norm{};
  std::vector<Loss> losses{};
  std::optional<std::uint64_t> most_rounds{};  ///< of any one release
  std::optional<NoiseSource> noise{};          ///< distributed: central noise is refused; central: both are allowed
  std::optional<double> most_mu{};             ///< of one run
  std::optional<double> most_mu_in_all{};      ///< of all runs on the silo's ledger, this run included
  std::string least_version{};                 ///< of dpreduce, at every party
  bool operator==(const SiloConsent&) const = default;
};

DPREDUCE_ARCHIVE(SiloConsent, methods, models, least_silos, least_threshold, least_colluding, most_colluding, adjacency,
                 unit, rows_per_person, least_silos_per_person, most_clip_norm, losses, most_rounds, noise, most_mu,
                 most_mu_in_all, least_version)

// A run among silos.

/// Options of a run among silos that do not show each other their rows or sums.
struct SiloOptions {
  bool secure_aggregation = false;           ///< masked sums; rank 0 is a coordinator without rows
  std::optional<std::uint32_t> threshold{};  ///< silos that must remain; nullopt: more than two thirds
  std::uint32_t colluding = 0;               ///< silos that may show the coordinator what they know
  NoiseSource noise = NoiseSource::kCentral;
  std::string roster{};                  ///< file of the parties; empty: identities as they arrive
  std::string identity{};                ///< this party's; {rank} is replaced
  std::string own_options{};             ///< file of this party's own options; {rank} is replaced; empty: none
  bool rows_are_own = false;             ///< that file names its rows, or it is the coordinator and needs none
  bool ledger_is_own = false;            ///< that file names its ledger
  std::optional<SiloConsent> consent{};  ///< runs that this file allows the silo to take part in; nullopt: not limited
  std::string log{};                     ///< this party's; {rank} is replaced; empty: none
  std::string agreed{};                  ///< the options that must be the same at all parties, one a line
  double timeout_seconds = 300;          ///< after this time a silent silo has dropped out
  // Simulated line from a silo to the coordinator.
  std::optional<double> round_trip_ms{};        ///< nullopt: 0
  std::optional<double> bandwidth_mbit{};       ///< 10^6 bits a second, each direction; nullopt: without bound
  std::optional<double> packet_loss_percent{};  ///< of its packets; nullopt: 0

  std::optional<std::uint32_t> silos_per_person{};  ///< s, the most silos that have rows of one person; nullopt: all
  bool over_network = false;                        ///< parties are processes on machines of their own (src/network)
  std::optional<double> patience_seconds{};         ///< of the coordinator over a network, with one silo in all
  bool under_engine = false;                        ///< an engine that is not MPI connects them (fit/masked_silo.hpp)

  bool is_distributed() const { return noise == NoiseSource::kDistributed; }
  bool has_line() const { return round_trip_ms || bandwidth_mbit || packet_loss_percent; }
  bool operator==(const SiloOptions&) const = default;
};

DPREDUCE_ARCHIVE(SiloOptions, secure_aggregation, threshold, colluding, noise, roster, identity, own_options,
                 rows_are_own, ledger_is_own, consent, log, agreed, timeout_seconds, round_trip_ms, bandwidth_mbit,
                 packet_loss_percent, silos_per_person, over_network, patience_seconds, under_engine)

}  // namespace dpreduce
