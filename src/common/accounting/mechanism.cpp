#include "common/accounting/mechanism.hpp"

#include "common/accounting/argument_checks.hpp"

namespace dpreduce {
namespace {

void require_pure_epsilon(std::string_view whose, double epsilon) {
  require_between(std::string("epsilon of ") + std::string(whose), epsilon, kSmallestPureEpsilon, kLargestPureEpsilon);
}

struct Check {
  void operator()(const GaussianMechanism& m) const {
    require_between("noise multiplier", m.noise_multiplier, kSmallestNoiseMultiplier, kLargestNoiseMultiplier);
    require_between("sampling rate", m.q(), kSmallestSamplingRate, 1);
  }
  void operator()(const ExponentialMechanism& m) const { require_pure_epsilon("the exponential mechanism", m.epsilon); }
  void operator()(const PureMechanism& m) const { require_pure_epsilon("the pure-DP mechanism", m.epsilon); }
};

struct Describe {
  std::string operator()(const GaussianMechanism& m) const {
    const std::string plain = "Gaussian, z = " + print_number(m.noise_multiplier);
    if (!m.sampling_rate) return plain;
    return "subsampled " + plain + ", q = " + print_number(m.q()) + (m.is_exchange ? ", of an exchange" : "");
  }
  std::string operator()(const ExponentialMechanism& m) const {
    return "exponential mechanism, epsilon = " + print_number(m.epsilon);
  }
  std::string operator()(const PureMechanism& m) const { return "pure DP, epsilon = " + print_number(m.epsilon); }
};

}  // namespace

void require_mechanism(const Mechanism& mechanism) {
  std::visit(Check{}, mechanism);
}

void require_run(std::span<const RepeatedMechanism> run) {
  if (run.empty()) throw UsageError("no mechanism to account for: give at least one");
  std::uint64_t total = 0;
  for (const RepeatedMechanism& part : run) {
    require_mechanism(part.mechanism);
    if (part.count == 0 || part.count > kLargestCount - total) {
      throw UsageError("count = " + std::to_string(part.count) + " of " + describe(part.mechanism) +
                       ": must be at least 1, and all counts together at most " + std::to_string(kLargestCount));
    }
    total += part.count;
  }
}

std::string describe(const Mechanism& mechanism) {
  return std::visit(Describe{}, mechanism);
}

}  // namespace dpreduce
