// dpreduce privacy convert: one budget, or one sigma, as every accountant states it.
#include <cmath>
#include <limits>

#include "commands/commands.hpp"
#include "common/accounting/gaussian_dp.hpp"
#include "common/accounting/high_precision.hpp"
#include "common/accounting/mechanism.hpp"
#include "common/accounting/privacy_loss.hpp"
#include "common/accounting/rdp.hpp"
#include "report/run_facts.hpp"

namespace dpreduce {
namespace {

// Exactly one of the declared budget and sigma.
struct ConvertOptions {
  GivenBudget budget;
  std::optional<double> sigma;
  double sensitivity = 1.0;
  OutputFormat format = OutputFormat::kText;
};

ConvertOptions validated(ConvertOptions options) {
  const GivenBudget& budget = options.budget;
  if (!options.sigma && !budget.epsilon && !budget.rho && !budget.mu && !budget.delta) {
    throw UsageError("nothing to convert: give --epsilon and --delta, or --rho, or --mu, or --sigma");
  }
  return options;
}

constexpr char kWhyPure[] =
    "epsilon_gdp is the exact epsilon of Gaussian noise and epsilon_pld the same up to its grid; rdp and zcdp use only "
    "Renyi divergences, which bound the tail less tightly, and zcdp_simple does not optimize the order";
constexpr char kWhyOfRho[] =
    "; a rho alone may be that of any zCDP mechanism: epsilon_zcdp_* hold for all of them, epsilon_gdp and epsilon_pld "
    "for Gaussian noise only";

// Mu of the declared Gaussian release, rounded up: its cost must not be understated.
double given_mu(const ConvertOptions& options) {
  if (options.sigma) {
    const double mu = round_up(HighPrecision(options.sensitivity) / *options.sigma);
    if (!(mu >= kSmallestMu && mu <= kLargestMu)) {
      throw UsageError("--sigma {}: mu = sensitivity / sigma = {} must be from {} to {}", *options.sigma, mu,
                       kSmallestMu, kLargestMu);
    }
    return mu;
  }
  const double mu = mu_of(BudgetOptions{options.budget});
  // A budget rho gives a mu that is rounded down. Here rho was spent already, so mu is rounded up.
  return options.budget.rho ? std::nextafter(mu, std::numeric_limits<double>::infinity()) : mu;
}

// rdp and pld for the noise multiplier 1 / mu, rounded down.
void put_searched(nlohmann::json& result, double mu, double delta) {
  const double noise_multiplier = std::nextafter(1.0 / mu, 0.0);
  std::optional<double> rdp;
  std::optional<PrivacyLossBounds> pld;
  if (noise_multiplier >= kSmallestNoiseMultiplier && noise_multiplier <= kLargestNoiseMultiplier &&
      delta >= kSmallestPldDelta) {
    const RepeatedMechanism run{GaussianMechanism{noise_multiplier}, 1};
    rdp = rdp_epsilon({&run, 1}, delta);
    pld = pld_epsilon({&run, 1}, delta);
  }
  const std::string why_not = fmt::format("computed for sigma / sensitivity from {} to {} and delta from {} only",
                                          kSmallestNoiseMultiplier, kLargestNoiseMultiplier, kSmallestPldDelta);
  put_figure(result, "epsilon_rdp", rdp, why_not);
  put_figure(result, "epsilon_pld", pld ? std::optional(pld->upper) : std::nullopt, why_not);
  put_figure(result, "epsilon_pld_lower", pld ? std::optional(pld->lower) : std::nullopt, why_not);
}

nlohmann::json result_of(const ConvertOptions& options) {
  const GivenBudget& budget = options.budget;
  const double mu = given_mu(options);
  const double delta = budget.delta.value_or(kReportedDelta);
  const double rho = budget.rho ? *budget.rho : zcdp_from_mu(mu);
  const double gdp = gdp_epsilon(mu, delta);
  const double zcdp = epsilon_from_zcdp_tight(rho, delta);
  nlohmann::json result{{"sensitivity", options.sensitivity},
                        {"delta", delta},
                        {"epsilon", budget.epsilon ? *budget.epsilon
                                    : budget.rho   ? zcdp
                                                   : gdp},
                        {"mu", mu},
                        {"rho", rho},
                        {"sigma", options.sigma ? *options.sigma : sigma_for_mu(mu, options.sensitivity)},
                        {"epsilon_gdp", gdp},
                        {"epsilon_zcdp_tight", zcdp},
                        {"epsilon_zcdp_simple", epsilon_from_zcdp_simple(rho, delta)},
                        {"why", std::string(kWhyPure) + (budget.rho ? kWhyOfRho : "")},
                        {"not_computed", nlohmann::json::object()}};
  put_searched(result, mu, delta);
  return result;
}

std::string conversion_text(const ConvertOptions&, const nlohmann::json& result) {
  return text_of(accounted_facts(result), kAccountedDigits);
}

void declare(OptionTable& table, ConvertOptions& options) {
  declare_given_budget(table, options.budget);
  table.number("--sigma", options.sigma, "standard deviation of the Gaussian noise, instead of a budget")
      .positive()
      .in_group("Privacy");
  for (const char* own : {"--epsilon", "--rho", "--mu"}) table.excludes("--sigma", own, "give exactly one");
  declare_sensitivity(table, options.sensitivity);
}

}  // namespace

CommandEntry convert_command() {
  return json_command<ConvertOptions>(
      "convert", "convert one budget, or one sigma, by every accountant (epsilon_gdp holds for Gaussian noise only)",
      declare, validated, result_of, conversion_text,
      "  dpreduce privacy convert --epsilon 1 --delta 1e-6\n"
      "  dpreduce privacy convert --rho 0.1 --delta 1e-6 --format json\n"
      "  dpreduce privacy convert --sigma 5 --sensitivity 1.414213562 --delta 1e-6",
      "A --rho alone may be that of any zCDP mechanism: epsilon_zcdp_* then hold, epsilon_gdp and epsilon_pld only "
      "if\nthe noise is Gaussian. Without --delta, epsilon is reported at 1e-5.\n");
}

}  // namespace dpreduce
