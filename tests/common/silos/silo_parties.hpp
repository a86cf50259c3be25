// Silos 1 to k with identities and pairwise secrets, without the handshake that gives them; serves many runs.
#pragma once

#include "common/silos/masking_silo.hpp"
#include "tests/common/silos/give.hpp"
#include "tests/testing.hpp"

namespace dpreduce {

using SiloList = std::vector<std::uint32_t>;

class SiloParties {
 public:
  /// Pairs that stand farther apart on the ring than `reach` have no secret, nor have those of silos behind `sharing`;
  /// 0: all have.
  explicit SiloParties(std::uint32_t silos, std::uint32_t reach = 0, std::uint32_t sharing = 0)
      : roster_{0, 0, std::vector<Member>(silos + 1)}, selves_(silos + 1) {
    for (std::uint32_t party = 0; party <= silos; ++party) {
      identities_.push_back(Identity::generate());
      roster_.members[party].key = identities_[party].public_key();
    }
    for (std::uint32_t silo = 1; silo <= silos; ++silo) {
      selves_[silo].number = silo;
      selves_[silo].identity = &identities_[silo];
      selves_[silo].roster = &roster_;
    }
    for (std::uint32_t one = 1; one <= (sharing == 0 ? silos : sharing); ++one) {
      for (std::uint32_t other = one + 1; other <= silos; ++other) {
        if (reach != 0 && std::min(other - one, silos + one - other) > reach) continue;  // never neighbors
        SecretVector<std::byte> secret(32);
        secure_bytes(secret);
        selves_[one].pair_secrets.emplace(other, secret);
        selves_[other].pair_secrets.emplace(one, secret);
      }
    }
  }
  std::uint32_t silos() const { return static_cast<std::uint32_t>(selves_.size() - 1); }
  const SiloSelf& self(std::uint32_t silo) const { return selves_.at(silo); }
  const Roster& roster() const { return roster_; }
  const Identity& identity(std::uint32_t silo) const { return identities_.at(silo); }

 private:
  Roster roster_;
  std::vector<Identity> identities_;
  std::vector<SiloSelf> selves_;
};

inline SiloList all_silos(std::uint32_t silos) {
  SiloList all(silos);
  std::iota(all.begin(), all.end(), 1U);
  return all;
}

}  // namespace dpreduce
