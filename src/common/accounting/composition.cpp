#include "common/accounting/composition.hpp"

#include <algorithm>
#include <cmath>

#include "common/accounting/gaussian_dp.hpp"
#include "common/accounting/high_precision.hpp"
#include "common/accounting/privacy_loss.hpp"
#include "common/accounting/rdp.hpp"
#include "common/accounting/zcdp.hpp"
#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr std::uint64_t kLargestGroup = 1'000'000;

// Rounded to the side that promises less: noise multipliers down, epsilons up.
struct Scaled {
  double records;  // an exchange counts as two
  bool is_one_exchange;

  double larger(double epsilon) const {
    return records == 1 ? epsilon : std::nextafter(epsilon * records, 2 * kLargestPureEpsilon * records);
  }
  Mechanism operator()(const GaussianMechanism& m) const {
    if (records == 1) return m;
    if (m.q() == 1) return GaussianMechanism{std::nextafter(m.noise_multiplier / records, 0.0)};
    if (is_one_exchange) return GaussianMechanism{m.noise_multiplier, m.sampling_rate, true};
    throw UsageError(describe(m) +
                     ": a sample holds a random number of the records that differ, which no accountant here covers for "
                     "more than one; use a group of one");
  }
  Mechanism operator()(const ExponentialMechanism& m) const { return ExponentialMechanism{larger(m.epsilon)}; }
  Mechanism operator()(const PureMechanism& m) const { return PureMechanism{larger(m.epsilon)}; }
};

std::optional<HighPrecision> squared_mu(const Mechanism& mechanism) {
  const auto* gaussian = std::get_if<GaussianMechanism>(&mechanism);
  if (!gaussian || gaussian->q() != 1) return std::nullopt;
  return 1 / (HighPrecision(gaussian->noise_multiplier) * gaussian->noise_multiplier);
}

std::optional<HighPrecision> rho_of_mechanism(const Mechanism& mechanism) {
  if (const auto* bounded = std::get_if<ExponentialMechanism>(&mechanism)) {
    return HighPrecision(bounded->epsilon) * bounded->epsilon / 8;
  }
  if (const auto* pure = std::get_if<PureMechanism>(&mechanism)) {
    return HighPrecision(pure->epsilon) * pure->epsilon / 2;
  }
  std::optional<HighPrecision> rho = squared_mu(mechanism);
  if (rho) *rho /= 2;
  return rho;
}

// The sum of what each run of a mechanism adds; nothing where one of them has no such figure.
std::optional<HighPrecision> total_of(std::span<const RepeatedMechanism> run,
                                      std::optional<HighPrecision> (&added_by)(const Mechanism&)) {
  require_run(run);
  HighPrecision total = 0;
  for (const RepeatedMechanism& part : run) {
    const std::optional<HighPrecision> added = added_by(part.mechanism);
    if (!added) return std::nullopt;
    total += *added * part.count;
  }
  return total;
}

}  // namespace

double ComposedEpsilon::best() const {
  double least = std::min(rdp, pld);
  for (const std::optional<double>& other : {gdp, zcdp_simple, zcdp_tight}) {
    if (other) least = std::min(least, *other);
  }
  return least;
}

std::vector<RepeatedMechanism> run_for(std::span<const RepeatedMechanism> run, const Neighbors& neighbors) {
  require_run(run);
  if (neighbors.records == 0 || neighbors.records > kLargestGroup) {
    throw UsageError("group of " + std::to_string(neighbors.records) + " records: must be from 1 to " +
                     std::to_string(kLargestGroup));
  }
  const bool is_exchange = neighbors.adjacency == Adjacency::kReplaceOne;
  const std::uint64_t changes = neighbors.records * (is_exchange ? 2 : 1);
  const Scaled scale{static_cast<double>(changes), is_exchange && neighbors.records == 1};
  std::vector<RepeatedMechanism> scaled;
  for (const RepeatedMechanism& part : run) {
    scaled.push_back({std::visit(scale, part.mechanism), part.count});
    require_mechanism(scaled.back().mechanism);
  }
  return scaled;
}

std::optional<double> zcdp_of_run(std::span<const RepeatedMechanism> run) {
  const std::optional<HighPrecision> rho = total_of(run, rho_of_mechanism);
  return rho ? std::optional(round_up(*rho * (1 + kArithmeticError))) : std::nullopt;
}

std::optional<double> gdp_of_run(std::span<const RepeatedMechanism> run) {
  const std::optional<HighPrecision> squared = total_of(run, squared_mu);
  return squared ? std::optional(round_up(sqrt(*squared) * (1 + kArithmeticError))) : std::nullopt;
}

ComposedEpsilon compose_epsilon(std::span<const RepeatedMechanism> run, double delta, const Neighbors& neighbors) {
  const std::vector<RepeatedMechanism> scaled = run_for(run, neighbors);
  const PrivacyLossBounds bounds = pld_epsilon(scaled, delta);
  ComposedEpsilon result{{}, {}, {}, rdp_epsilon(scaled, delta).epsilon, bounds.upper, bounds.lower};
  if (const std::optional<double> mu = gdp_of_run(scaled); mu && *mu <= kLargestMu)
    result.gdp = gdp_epsilon(*mu, delta);
  if (const std::optional<double> rho = zcdp_of_run(scaled); rho && *rho <= kLargestRho) {
    result.zcdp_simple = epsilon_from_zcdp_simple(*rho, delta);
    result.zcdp_tight = epsilon_from_zcdp_tight(*rho, delta);
  }
  return result;
}

}  // namespace dpreduce
