// dpreduce privacy calibrate: the noise that a budget needs.
#include <cstdint>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands/commands.hpp"
#include "common/accounting/argument_checks.hpp"
#include "common/accounting/budget.hpp"
#include "common/accounting/calibration.hpp"
#include "common/accounting/gaussian_dp.hpp"
#include "common/accounting/high_precision.hpp"
#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/base/number_text.hpp"
#include "common/base/option_table.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/base/standard_output.hpp"
#include "methods/fit_table.hpp"

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

constexpr int kCalibrationDigits = 15;

// sigma of every step, rounded up, with what all steps together then guarantee.
struct Calibration {
  double sigma;
  Guarantee guarantee;  // steps on samples have no mu and no rho
};

Calibration calibrate_full_steps(const CalibrateOptions& options) {
  const double mu = budget_from(options.budget).mu(options.budget.accountant);
  const double records = options.adjacency == Adjacency::kReplaceOne ? 2.0 : 1.0;
  const double sigma = sigma_for_mu(mu, records * options.sensitivity, options.steps);
  return {sigma, guarantee_of(options.budget, mu)};
}

Calibration calibrate_sampled_steps(const CalibrateOptions& options) {
  const PrivacyBudget budget = budget_from(options.budget);
  const CalibrationTarget target{.epsilon = *budget.epsilon(),
                                 .delta = *budget.delta(),
                                 .steps = options.steps,
                                 .sampling_rate = options.sampling_rate,
                                 .is_exchange = options.adjacency == Adjacency::kReplaceOne};
  const double noise_multiplier = calibrated_noise_multiplier(target, options.budget.accountant);
  const double sigma = round_up(HighPrecision(noise_multiplier) * options.sensitivity);
  require_positive("sigma", sigma);
  return {sigma, {target.epsilon, target.delta, std::nullopt, std::nullopt}};
}

Calibration calibrated(const CalibrateOptions& options) {
  return options.sampling_rate < 1.0 ? calibrate_sampled_steps(options) : calibrate_full_steps(options);
}

nlohmann::json result_of(const CalibrateOptions& options) {
  const auto [sigma, guarantee] = calibrated(options);
  return {{"sigma", sigma},
          {"sensitivity", options.sensitivity},
          {"adjacency", to_string(options.adjacency)},
          {"steps", options.steps},
          {"sampling_rate", options.sampling_rate},
          {"accountant", to_string(options.budget.accountant)},
          {"epsilon", guarantee.epsilon},
          {"delta", guarantee.delta},
          {"mu", or_null(guarantee.mu)},
          {"rho", or_null(guarantee.rho)}};
}

void print_text(const CalibrateOptions& options) {
  const auto [sigma, guarantee] = calibrated(options);
  // Up as well: this noise is yet to be added.
  fmt::print("sigma    {}   Gaussian noise on every coordinate{}, for L2 sensitivity {:g}{}\n",
             upper_figure(sigma, kCalibrationDigits),
             options.steps > 1 ? fmt::format(" of each of {} steps", options.steps) : "", options.sensitivity,
             options.adjacency == Adjacency::kReplaceOne ? " of one record, and an exchange of two" : "");
  if (guarantee.mu) {
    fmt::print("mu       {}   Gaussian DP\n", upper_figure(*guarantee.mu, kCalibrationDigits));
    fmt::print("rho      {}   zero-concentrated DP\n", upper_figure(*guarantee.rho, kCalibrationDigits));
  } else {
    fmt::print("mu, rho  none: the loss of a step on a Poisson sample (rate {:g}) is not Gaussian\n",
               options.sampling_rate);
  }
  const Accountant accountant = options.budget.accountant;
  const bool exact = guarantee.mu && (accountant == Accountant::kGdp || accountant == Accountant::kPld);
  fmt::print("epsilon  {}   at delta {}, {}\n", upper_figure(guarantee.epsilon, kCalibrationDigits),
             upper_figure(guarantee.delta),
             exact ? "exact for Gaussian noise" : fmt::format("an upper bound by {}", to_string(accountant)));
}

void run(const CalibrateOptions& options) {
  if (options.format == OutputFormat::kText) return print_text(options);
  fmt::print("{}\n", json_text(result_of(options), 2));
}

}  // namespace

CommandEntry calibrate_command() {
  const auto options = std::make_shared<CalibrateOptions>();
  CommandEntry command{.name = "calibrate", .help = "the noise that a budget needs, rounded up: never too small"};
  OptionTable& table = command.options;
  declare_budget(table, options->budget);
  declare_sensitivity(table, options->sensitivity);
  table.choice(
      "--adjacency", options->adjacency,
      "replace-one counts as two records; where a sum's exchange moves less, state --sensitivity for that, and "
      "add-remove here");
  table.count("--steps", options->steps, "T: releases that share the budget, all with the same noise").at_least(1);
  table
      .number("--sampling-rate", options->sampling_rate,
              "q: every step takes each record by a secret coin (Poisson); below 1 the accountant is pld, or rdp")
      .from(kSmallestSamplingRate, 1);
  choose_accountant(table, options->budget, options->sampling_rate);
  add_rules_of_samples(table, "--sampling-rate");
  declare_format(table, options->format);
  declare_config(table);
  command.footer =
      "Examples:\n"
      "  dpreduce privacy calibrate --epsilon 1 --delta 1e-5\n"
      "  dpreduce privacy calibrate --rho 0.1 --delta 1e-6 --sensitivity 1.414213562 --format json\n"
      "  dpreduce privacy calibrate --epsilon 2 --delta 1e-6 --steps 1000 --sampling-rate 0.01";
  command.chosen = [options](const ParsedCommand&) { return by_coordinator(run, *options); };
  command.result = [options](const ParsedCommand&) { return readable_json_text(result_of(*options)); };
  return command;
}

}  // namespace dpreduce
