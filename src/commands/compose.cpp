// dpreduce privacy compose: what several mechanisms on the same data cost together.
#include <cmath>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "commands/commands.hpp"
#include "commands/privacy_results.hpp"
#include "common/accounting/composition.hpp"
#include "common/accounting/gaussian_dp.hpp"
#include "common/accounting/zcdp.hpp"
#include "common/base/bound_text.hpp"
#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "report/accounted_guarantee.hpp"

namespace dpreduce {
namespace {

constexpr char kWhy[] =
    "each is a true upper bound but epsilon_pld_lower, and epsilon is the least; pld composes the whole privacy loss, "
    "up "
    "to its grid; gdp is exact and exists for Gaussian noise only; rdp and zcdp keep only the Renyi divergences, which "
    "say less about the tail";

Mechanism mechanism_of(const MechanismSpec& spec) {
  switch (spec.kind) {
    case MechanismKind::kGaussian:
      return GaussianMechanism{spec.parameter};
    case MechanismKind::kSubsampled:
      return SubsampledGaussian{spec.parameter, spec.sampling_rate};
    case MechanismKind::kExponential:
      return ExponentialMechanism{spec.parameter};
    case MechanismKind::kLaplace:
      return LaplaceMechanism{spec.parameter};
    case MechanismKind::kPure:
      return PureMechanism{spec.parameter};
  }
  throw std::logic_error("dpreduce: internal error: a kind without a mechanism");
}

std::vector<RepeatedMechanism> run_of(const ComposeOptions& options) {
  std::vector<RepeatedMechanism> run;
  for (const MechanismSpec& spec : options.run) {
    run.push_back({mechanism_of(spec), spec.count});
    try {
      check_mechanism(run.back().mechanism);
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("--{}: {}", to_string(spec.kind), error.what()));
    }
  }
  return run;
}

AccountedGuarantee composed(const ComposeOptions& options, const std::vector<RepeatedMechanism>& run) {
  const Neighbors neighbors{options.adjacency, options.group};
  const ComposedEpsilon epsilon = compose_epsilon(run, options.delta, neighbors);
  const std::vector<RepeatedMechanism> scaled = run_for(run, neighbors);
  AccountedGuarantee guarantee;
  guarantee.delta = options.delta;
  guarantee.epsilon = epsilon.best();
  guarantee.mu = gdp_of_run(scaled);
  guarantee.rho = zcdp_of_run(scaled);
  if (guarantee.mu) guarantee.sigma = std::nextafter(1.0 / *guarantee.mu, 0.0);
  guarantee.gdp = epsilon.gdp;
  guarantee.zcdp_simple = epsilon.zcdp_simple;
  guarantee.zcdp_tight = epsilon.zcdp_tight;
  guarantee.rdp = epsilon.rdp;
  if (std::isfinite(epsilon.pld)) {
    guarantee.pld = epsilon.pld;
    guarantee.pld_lower = epsilon.pld_lower;
  }
  guarantee.no_search = "the run's losses are too large for the grid";
  guarantee.no_gdp = guarantee.mu ? fmt::format("mu is beyond {:g}", kLargestMu)
                                  : "the exact conversion is for Gaussian noise alone, on all records";
  guarantee.no_zcdp = guarantee.rho ? fmt::format("rho is beyond {:g}", kLargestRho)
                                    : "a Gaussian on samples is not zCDP at a useful rho";
  guarantee.why = kWhy;
  return guarantee;
}

nlohmann::json composition_json(const ComposeOptions& options, const std::vector<RepeatedMechanism>& run,
                                const AccountedGuarantee& guarantee) {
  nlohmann::json json = to_json(guarantee);
  json["adjacency"] = to_string(options.adjacency);
  json["group"] = options.group;
  json["mechanisms"] = nlohmann::json::array();
  for (const RepeatedMechanism& part : run) {
    json["mechanisms"].push_back({{"mechanism", describe(part.mechanism)}, {"count", part.count}});
  }
  return json;
}

void print_run(const ComposeOptions& options, const std::vector<RepeatedMechanism>& run,
               const AccountedGuarantee& guarantee) {
  for (const RepeatedMechanism& part : run) {
    fmt::print("mechanism            {}{}\n", describe(part.mechanism),
               part.count > 1 ? fmt::format(", {} times", part.count) : "");
  }
  fmt::print("neighbors            {}, {} record{}\n", to_string(options.adjacency), options.group,
             options.group > 1 ? "s" : "");
  fmt::print("epsilon              {:<18} the least upper bound below\n", upper_figure(*guarantee.epsilon, 15));
  print_text(guarantee);
}

}  // namespace

nlohmann::json result_of(const ComposeOptions& options) {
  const std::vector<RepeatedMechanism> run = run_of(options);
  return composition_json(options, run, composed(options, run));
}

void run_command(const ComposeOptions& options, Communicator& ranks) {
  ranks.together([&] {
    if (!ranks.is_coordinator()) return;
    const std::vector<RepeatedMechanism> run = run_of(options);
    const AccountedGuarantee guarantee = composed(options, run);
    if (options.format == OutputFormat::kText) return print_run(options, run, guarantee);
    fmt::print("{}\n", json_text(composition_json(options, run, guarantee), 2));
  });
}

}  // namespace dpreduce
