// The audit release by release: each one's noise against its own mu, which ledger and report state.
//
// A run composes releases, each of them mu_b-GDP given the earlier ones. An audit of the whole run misses a small
// release with wrong noise. So one run in world 0 is stopped at each release, at its public point. There the release is
// repeated with the statistics of both worlds. An attack that distinguishes them better than mu_b allows refutes the
// charge of the release.
//
// Rounds of one release are charged alike: the last is taken, where the point is farthest from its start.
#pragma once

#include <string>
#include <vector>

#include "audit/audited_method.hpp"

namespace dpreduce {

struct ReleaseLoss {
  std::string name;
  double mu_claimed = 0.0;  ///< of one round
  double mu_lower = 0.0;    ///< proven
};

/// One entry for each release of the plan that is not made of samples, on the pair of worlds `files`; no entries where
/// one release in one round is the whole run. Each release has at most `most_trials` in both worlds together; `error`
/// is the probability that any of the bounds is false. `ledger_path` belongs to this call alone. Precondition
/// (asserted): most_trials >= 24. Throws as open_world and AuditedMethod::run.
/// Cost: that of the noise, for (32 / mu_b)^2 trials a world, at most as many as said.
std::vector<ReleaseLoss> audit_each_release(const AuditedMethod& method, const WorldFiles& files,
                                            std::size_t most_trials, double error, const std::string& ledger_path);

}  // namespace dpreduce
