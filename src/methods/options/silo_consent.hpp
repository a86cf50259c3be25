// What a silo's owner lets it take part in: the table [consent] of the silo's own file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/archive_all.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/plan/loss.hpp"

namespace dpreduce {

/// Terms that are empty allow whatever is asked. Each is compared with the plan that the silo makes itself
/// (fit/silo_terms.hpp).
struct SiloConsent {
  std::vector<std::string> methods{};
  std::vector<std::string> models{};               ///< SHA-256 of those that may be evaluated, in lower-case hex
  std::optional<std::uint32_t> least_silos{};      ///< k
  std::optional<std::uint32_t> least_threshold{};  ///< t
  std::optional<std::uint32_t> least_colluding{};  ///< c that the run must withstand
  std::optional<std::uint32_t> most_colluding{};   ///< c: with more of them there is more noise
  std::optional<Adjacency> adjacency{};
  std::optional<PrivacyUnit> unit{};
  std::optional<std::uint64_t> rows_per_person{};         ///< B, exactly
  std::optional<std::uint32_t> least_silos_per_person{};  ///< s
  std::optional<double> most_clip_norm{};
  std::vector<Loss> losses{};
  std::optional<std::uint64_t> most_rounds{};  ///< of any one release
  std::optional<NoiseSource> noise{};          ///< distributed: central noise is refused; central: both are allowed
  std::optional<double> most_mu{};             ///< of one run
  std::optional<double> most_mu_in_all{};      ///< of all on the silo's ledger, this run included
  std::string least_version{};                 ///< of dpreduce, at every party
  bool operator==(const SiloConsent&) const = default;
};

DPREDUCE_ARCHIVE(SiloConsent, methods, models, least_silos, least_threshold, least_colluding, most_colluding, adjacency,
                 unit, rows_per_person, least_silos_per_person, most_clip_norm, losses, most_rounds, noise, most_mu,
                 most_mu_in_all, least_version)

}  // namespace dpreduce
