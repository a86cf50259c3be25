// dpreduce privacy calibrate: the noise that a budget needs.
#include "commands/commands.hpp"
#include "common/accounting/argument_checks.hpp"
#include "common/accounting/composition.hpp"
#include "common/accounting/gaussian_dp.hpp"
#include "common/accounting/high_precision.hpp"
#include "common/accounting/mechanism.hpp"
#include "report/run_facts.hpp"

namespace dpreduce {
namespace {

struct CalibrateOptions {
  BudgetOptions budget;
  double sensitivity = 1.0;  // what one record moves
  Adjacency adjacency = Adjacency::kAddRemove;
  std::uint64_t steps = 1;
  double sampling_rate = 1.0;  // of every step's Poisson sample; 1: all records
  OutputFormat format = OutputFormat::kText;
};

// sigma of every step, rounded up, with what all steps together then guarantee: on samples without mu and rho.
using Calibration = std::pair<double, Guarantee>;

Calibration calibrate_full_steps(const CalibrateOptions& options) {
  const double mu = mu_of(options.budget);
  const double records = options.adjacency == Adjacency::kReplaceOne ? 2.0 : 1.0;
  const double sigma = sigma_for_mu(mu, records * options.sensitivity, options.steps);
  return {sigma, guarantee_of(options.budget, mu)};
}

Calibration calibrate_sampled_steps(const CalibrateOptions& options) {
  require_budget(options.budget);
  const CalibrationTarget target{.epsilon = *options.budget.epsilon,
                                 .delta = *options.budget.delta,
                                 .steps = options.steps,
                                 .sampling_rate = options.sampling_rate,
                                 .is_exchange = options.adjacency == Adjacency::kReplaceOne};
  const double noise_multiplier = calibrated_noise_multiplier(target, options.budget.accountant);
  const double sigma = round_up(HighPrecision(noise_multiplier) * options.sensitivity);
  require_positive("sigma", sigma);
  return {sigma, sampled_guarantee_of(options.budget)};
}

nlohmann::json result_of(const CalibrateOptions& options) {
  const auto [sigma, guarantee] =
      options.sampling_rate < 1.0 ? calibrate_sampled_steps(options) : calibrate_full_steps(options);
  nlohmann::json json = to_json(guarantee);
  json.update({{"sigma", sigma},
               {"sensitivity", options.sensitivity},
               {"adjacency", to_string(options.adjacency)},
               {"steps", options.steps},
               {"sampling_rate", options.sampling_rate},
               {"accountant", to_string(options.budget.accountant)}});
  return json;
}

std::string calibration_text(const CalibrateOptions& options, const nlohmann::json& result) {
  const std::string accountant(to_string(options.budget.accountant));
  const bool is_gaussian = !result["mu"].is_null();
  const bool is_exact = is_gaussian && (accountant == "gdp" || accountant == "pld");
  // sigma is rounded up as well: this noise is yet to be added.
  Facts facts = facts_of(
      JsonFields(result, "result"),
      {{"sigma", "", Written::kAtMost,
        fmt::format("Gaussian noise on every coordinate{}, for L2 sensitivity {:g}{}",
                    options.steps > 1 ? fmt::format(" of each of {} steps", options.steps) : "", options.sensitivity,
                    options.adjacency == Adjacency::kReplaceOne ? " of one record, and an exchange of two" : "")},
       {"mu", "", Written::kAtMost, "Gaussian DP"},
       {"rho", "", Written::kAtMost, "zero-concentrated DP"},
       {"epsilon", "", Written::kAtMost, is_exact ? "exact for Gaussian noise" : "an upper bound by " + accountant},
       {"delta", "", Written::kAtMost, "at which epsilon is reported"}});
  if (!is_gaussian) {
    facts.push_back({"mu, rho", fmt::format("none: the loss of a step on a Poisson sample (rate {:g}) is not Gaussian",
                                            options.sampling_rate)});
  }
  return text_of(facts, kAccountedDigits);
}

void declare(OptionTable& table, CalibrateOptions& options) {
  declare_budget(table, options.budget);
  declare_sensitivity(table, options.sensitivity);
  table.choice("--adjacency", options.adjacency,
               "replace-one counts as two records; if replacing a record moves the sum by less than that, give this "
               "distance as --sensitivity, and add-remove here");
  table.count("--steps", options.steps, "T: releases that share the budget, all with the same noise").at_least(1);
  table
      .number("--sampling-rate", options.sampling_rate,
              "q: each step includes each record by a secret coin (Poisson); below 1 the accountant is pld, or rdp")
      .from(kSmallestSamplingRate, 1);
  choose_accountant(table, options.budget, options.sampling_rate);
  add_rules_of_samples(table, "--sampling-rate");
}

}  // namespace

CommandEntry calibrate_command() {
  return json_command<CalibrateOptions>(
      "calibrate", "noise that a budget needs, rounded up so that it is never too small", declare,
      [](CalibrateOptions options) { return options; }, result_of, calibration_text,
      "  dpreduce privacy calibrate --epsilon 1 --delta 1e-5\n"
      "  dpreduce privacy calibrate --rho 0.1 --delta 1e-6 --sensitivity 1.414213562 --format json\n"
      "  dpreduce privacy calibrate --epsilon 2 --delta 1e-6 --steps 1000 --sampling-rate 0.01");
}

}  // namespace dpreduce
