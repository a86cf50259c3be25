// dpreduce privacy calibrate: the noise that a budget needs.
#include <optional>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "commands/commands.hpp"
#include "commands/privacy_results.hpp"
#include "common/accounting/argument_checks.hpp"
#include "common/accounting/calibration.hpp"
#include "common/accounting/gaussian_dp.hpp"
#include "common/accounting/guarantee.hpp"
#include "common/accounting/high_precision.hpp"
#include "common/base/bound_text.hpp"
#include "common/base/json_text.hpp"

namespace dpreduce {
namespace {

constexpr int kCalibrationDigits = 15;

// sigma of every step, rounded up, with what all steps together then guarantee.
struct Calibration {
  double sigma;
  double epsilon;
  double delta;
  std::optional<double> mu;  // steps on samples have no mu and no rho
  std::optional<double> rho;
};

Calibration calibrate_full_steps(const CalibrateOptions& options) {
  const double mu = budget_from(options.budget).mu(options.budget.accountant);
  const double sigma = sigma_for_mu(mu, options.sensitivity, options.steps);
  const Guarantee guarantee = guarantee_of(options.budget, mu);
  return {sigma, guarantee.epsilon, guarantee.delta, guarantee.mu, guarantee.rho};
}

Calibration calibrate_sampled_steps(const CalibrateOptions& options) {
  const PrivacyBudget budget = budget_from(options.budget);
  const CalibrationTarget target{.epsilon = *budget.epsilon(),
                                 .delta = *budget.delta(),
                                 .steps = options.steps,
                                 .sampling_rate = options.sampling_rate};
  const double noise_multiplier = calibrated_noise_multiplier(target, options.budget.accountant);
  const double sigma = round_up(HighPrecision(noise_multiplier) * options.sensitivity);
  require_positive("sigma", sigma);
  return {sigma, target.epsilon, target.delta, std::nullopt, std::nullopt};
}

Calibration calibrated(const CalibrateOptions& options) {
  return options.sampling_rate < 1.0 ? calibrate_sampled_steps(options) : calibrate_full_steps(options);
}

nlohmann::json calibration_json(const CalibrateOptions& options, const Calibration& calibration) {
  return {{"sigma", calibration.sigma},
          {"sensitivity", options.sensitivity},
          {"steps", options.steps},
          {"sampling_rate", options.sampling_rate},
          {"accountant", to_string(options.budget.accountant)},
          {"epsilon", calibration.epsilon},
          {"delta", calibration.delta},
          {"mu", or_null(calibration.mu)},
          {"rho", or_null(calibration.rho)}};
}

void print_text(const CalibrateOptions& options, const Calibration& calibration) {
  // Up as well: this noise is yet to be added.
  fmt::print("sigma    {}   Gaussian noise on every coordinate{}, for L2 sensitivity {:g}\n",
             upper_figure(calibration.sigma, kCalibrationDigits),
             options.steps > 1 ? fmt::format(" of each of {} steps", options.steps) : "", options.sensitivity);
  if (calibration.mu) {
    fmt::print("mu       {}   Gaussian DP\n", upper_figure(*calibration.mu, kCalibrationDigits));
    fmt::print("rho      {}   zero-concentrated DP\n", upper_figure(*calibration.rho, kCalibrationDigits));
  } else {
    fmt::print("mu, rho  none: the loss of a step on a Poisson sample (rate {:g}) is not Gaussian\n",
               options.sampling_rate);
  }
  const Accountant accountant = options.budget.accountant;
  const bool exact = calibration.mu && (accountant == Accountant::kGdp || accountant == Accountant::kPld);
  fmt::print("epsilon  {}   at delta {}, {}\n", upper_figure(calibration.epsilon, kCalibrationDigits),
             upper_figure(calibration.delta),
             exact ? "exact for Gaussian noise" : fmt::format("an upper bound by {}", to_string(accountant)));
}

}  // namespace

nlohmann::json result_of(const CalibrateOptions& options) {
  return calibration_json(options, calibrated(options));
}

void run_command(const CalibrateOptions& options, Communicator& ranks) {
  ranks.together([&] {
    if (!ranks.is_coordinator()) return;
    const Calibration calibration = calibrated(options);
    if (options.format == OutputFormat::kText) return print_text(options, calibration);
    fmt::print("{}\n", json_text(calibration_json(options, calibration), 2));
  });
}

}  // namespace dpreduce
