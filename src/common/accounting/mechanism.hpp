// The mechanisms that the accountants know, as plain numbers: no data, no noise.
//
//   z = sigma / D    noise multiplier: noise standard deviation over L2 sensitivity; mu = 1 / z
//   q                rate at which Poisson sampling takes every record into a step, by a secret coin of its own
//   epsilon, E       pure-DP parameter in nats
//
// All parameters are for neighbors that differ by one added or removed record; composition.hpp scales them for others.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>

namespace dpreduce {

/// Noise N(0, z^2 D^2 I) on a sum of L2 sensitivity D: the pair N(0, 1), N(mu, 1).
///
/// The same on a Poisson sample. Remove: (1-q) N(0,1) + q N(mu,1) against N(0,1); add: the other way round. Where
/// neighbors differ by an exchange of one record for another: (1-q) N(0,1) + q N(mu,1) against (1-q) N(0,1) + q
/// N(-mu,1), mu still that of one record.
struct GaussianMechanism {
  double noise_multiplier;
  std::optional<double> sampling_rate{};  ///< empty: of no sample
  bool is_exchange = false;

  double q() const { return sampling_rate.value_or(1); }
  bool operator==(const GaussianMechanism&) const = default;
};

/// An exponential mechanism whose log probabilities all move by amounts within one interval of length epsilon
/// (epsilon-bounded range), e.g. P ~ exp(epsilon u / D) with a monotone utility u of sensitivity D.
struct ExponentialMechanism {
  double epsilon;
  bool operator==(const ExponentialMechanism&) const = default;
};

/// Arbitrary epsilon-DP mechanism, of which randomized response is the worst: lines of earlier versions on selections
/// whose losses fill [-epsilon, epsilon].
struct PureMechanism {
  double epsilon;
  bool operator==(const PureMechanism&) const = default;
};

using Mechanism = std::variant<GaussianMechanism, ExponentialMechanism, PureMechanism>;

/// Mechanism that is run count times; a run is a sequence of these. Later ones may be chosen by what earlier ones
/// output, as long as the list itself was fixed before.
struct RepeatedMechanism {
  Mechanism mechanism;
  std::uint64_t count = 1;
  bool operator==(const RepeatedMechanism&) const = default;
};

/// Ranges inside which all accountants compute.
inline constexpr double kSmallestNoiseMultiplier = 0.01;
inline constexpr double kLargestNoiseMultiplier = 1e9;
inline constexpr double kSmallestSamplingRate = 1e-9;
inline constexpr double kSmallestPureEpsilon = 1e-6;
inline constexpr double kLargestPureEpsilon = 200;
inline constexpr std::uint64_t kLargestCount = 10'000'000;

/// Throws UsageError naming the parameter, unless each lies in its range above; q = 1 is allowed.
void require_mechanism(const Mechanism& mechanism);

/// Throws UsageError if there is no part, a part's count is 0, all counts together pass kLargestCount, or a parameter
/// is out of its range.
void require_run(std::span<const RepeatedMechanism> run);

/// E.g. "subsampled Gaussian, z = 1, q = 0.01".
std::string describe(const Mechanism& mechanism);

}  // namespace dpreduce
