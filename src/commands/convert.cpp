// dpreduce privacy convert: one budget, or one sigma, as every accountant states it.
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands/commands.hpp"
#include "common/accounting/budget.hpp"
#include "common/accounting/gaussian_dp.hpp"
#include "common/accounting/high_precision.hpp"
#include "common/accounting/mechanism.hpp"
#include "common/accounting/privacy_loss.hpp"
#include "common/accounting/rdp.hpp"
#include "common/accounting/zcdp.hpp"
#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/base/option_table.hpp"
#include "common/base/standard_output.hpp"
#include "methods/fit_table.hpp"
#include "report/accounted_guarantee.hpp"

namespace dpreduce {
namespace {

// Exactly one of the stated budget and sigma.
struct ConvertOptions {
  StatedBudget budget;
  std::optional<double> sigma;
  double sensitivity = 1.0;
  OutputFormat format = OutputFormat::kText;
};

ConvertOptions validated(ConvertOptions options) {
  const StatedBudget& budget = options.budget;
  if (!options.sigma && !budget.epsilon && !budget.rho && !budget.mu && !budget.delta) {
    throw UsageError("nothing to convert: give --epsilon and --delta, or --rho, or --mu, or --sigma");
  }
  return options;
}

constexpr char kWhyPure[] =
    "epsilon_gdp is the exact epsilon of Gaussian noise and epsilon_pld the same up to its grid; rdp and zcdp keep "
    "only the Renyi divergences, which say less about the tail, and zcdp_simple takes no best order";
constexpr char kWhyOfRho[] =
    "; a bare rho may be of any zCDP mechanism: epsilon_zcdp_* hold for all of them, epsilon_gdp and epsilon_pld for "
    "Gaussian noise only";

// mu of the Gaussian release that was stated, rounded up: its cost must not be understated.
double stated_mu(const ConvertOptions& options) {
  if (options.sigma) {
    const double mu = round_up(HighPrecision(options.sensitivity) / *options.sigma);
    if (!(mu >= kSmallestMu && mu <= kLargestMu)) {
      throw UsageError(fmt::format("--sigma {}: mu = sensitivity / sigma = {} must be from {} to {}", *options.sigma,
                                   mu, kSmallestMu, kLargestMu));
    }
    return mu;
  }
  const double mu = budget_from(options.budget).mu();
  // As a budget, rho gives a mu that is rounded down. Here rho was spent already, so mu is rounded up.
  return options.budget.rho ? std::nextafter(mu, std::numeric_limits<double>::infinity()) : mu;
}

// rdp and pld for the noise multiplier 1 / mu, rounded down.
void add_searched(AccountedGuarantee& guarantee, double mu) {
  const double noise_multiplier = std::nextafter(1.0 / mu, 0.0);
  if (noise_multiplier < kSmallestNoiseMultiplier || noise_multiplier > kLargestNoiseMultiplier ||
      guarantee.delta < kSmallestPldDelta) {
    guarantee.no_search = fmt::format("computed for sigma / sensitivity from {} to {} and delta from {} only",
                                      kSmallestNoiseMultiplier, kLargestNoiseMultiplier, kSmallestPldDelta);
    return;
  }
  const RepeatedMechanism run{GaussianMechanism{noise_multiplier}, 1};
  guarantee.rdp = rdp_epsilon({&run, 1}, guarantee.delta).epsilon;
  const PrivacyLossBounds bounds = pld_epsilon({&run, 1}, guarantee.delta);
  guarantee.pld = bounds.upper;
  guarantee.pld_lower = bounds.lower;
}

AccountedGuarantee converted(const ConvertOptions& options) {
  AccountedGuarantee guarantee;
  const double mu = stated_mu(options);
  const double delta = options.budget.delta.value_or(kDeltaToTell);
  guarantee.gdp = gdp_epsilon(mu, delta);
  guarantee.delta = delta;
  guarantee.mu = mu;
  guarantee.rho = options.budget.rho ? *options.budget.rho : zcdp_from_mu(mu);
  guarantee.sigma = options.sigma ? *options.sigma : sigma_for_mu(mu, options.sensitivity);
  guarantee.zcdp_simple = epsilon_from_zcdp_simple(*guarantee.rho, delta);
  guarantee.zcdp_tight = epsilon_from_zcdp_tight(*guarantee.rho, delta);
  add_searched(guarantee, mu);
  guarantee.epsilon = options.budget.epsilon ? options.budget.epsilon
                      : options.budget.rho   ? guarantee.zcdp_tight
                                             : guarantee.gdp;
  guarantee.why = kWhyPure;
  if (options.budget.rho) guarantee.why += kWhyOfRho;
  return guarantee;
}

nlohmann::json result_of(const ConvertOptions& options) {
  nlohmann::json json = to_json(converted(options));
  json["sensitivity"] = options.sensitivity;
  return json;
}

void run(const ConvertOptions& options) {
  if (options.format == OutputFormat::kText) return print_text(converted(options));
  fmt::print("{}\n", json_text(result_of(options), 2));
}

}  // namespace

CommandEntry convert_command() {
  const auto options = std::make_shared<ConvertOptions>();
  CommandEntry command{
      .name = "convert",
      .help = "one budget, or one sigma, as every accountant states it (epsilon_gdp holds for Gaussian noise only)"};
  OptionTable& table = command.options;
  declare_stated_budget(table, options->budget);
  table.number("--sigma", options->sigma, "standard deviation of the Gaussian noise, instead of a budget")
      .positive()
      .in_group("Privacy");
  for (const char* own : {"--epsilon", "--rho", "--mu"}) table.excludes("--sigma", own, "give exactly one");
  declare_sensitivity(table, options->sensitivity);
  declare_format(table, options->format);
  declare_config(table);
  command.footer =
      "A bare --rho may be that of any zCDP mechanism: epsilon_zcdp_* then hold, epsilon_gdp and epsilon_pld only "
      "where\n"
      "the noise is Gaussian. Without --delta, epsilon is told at 1e-5.\n"
      "Examples:\n"
      "  dpreduce privacy convert --epsilon 1 --delta 1e-6\n"
      "  dpreduce privacy convert --rho 0.1 --delta 1e-6 --format json\n"
      "  dpreduce privacy convert --sigma 5 --sensitivity 1.414213562 --delta 1e-6";
  command.chosen = [options](const ParsedCommand&) { return by_coordinator(run, validated(*options)); };
  command.result = [options](const ParsedCommand&) { return readable_json_text(result_of(validated(*options))); };
  return command;
}

}  // namespace dpreduce
