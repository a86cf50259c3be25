#include "commands/command_line/calibrate_command.hpp"

#include <memory>

#include <fmt/format.h>

#include "commands/command_line/budget_options.hpp"
#include "commands/command_line/command_entry.hpp"
#include "common/base/error.hpp"
#include "common/base/option_checks.hpp"

namespace dpreduce {

CalibrateOptions validated(CalibrateOptions options) {
  check_positive("--sensitivity", options.sensitivity);
  if (options.steps == 0) throw UsageError("--steps 0: must be at least 1");
  if (!(options.sampling_rate > 0.0 && options.sampling_rate <= 1.0)) {
    throw UsageError(fmt::format("--sampling-rate {}: must be above 0 and at most 1", options.sampling_rate));
  }
  if (options.sampling_rate == 1.0) return options;
  const BudgetOptions& budget = options.budget;
  if (budget.rho || budget.mu) {
    throw UsageError(
        fmt::format("--sampling-rate {}: steps on samples have no {}; state the budget as --epsilon and --delta",
                    options.sampling_rate, budget.rho ? "rho" : "mu"));
  }
  if (budget.accountant == Accountant::kGdp || budget.accountant == Accountant::kZcdp) {
    throw UsageError(fmt::format(
        "--sampling-rate {}: --accountant {} knows no gain from sampling (the loss of a sampled Gaussian is not "
        "Gaussian); use pld or rdp",
        options.sampling_rate, to_string(budget.accountant)));
  }
  return options;
}

CommandEntry calibrate_command() {
  const auto options = std::make_shared<CalibrateOptions>();
  CommandEntry command{.name = "calibrate", .help = "the noise that a budget needs, rounded up: never too small"};
  OptionTable& table = command.options;
  declare_budget(table, options->budget);
  declare_sensitivity(table, options->sensitivity);
  table.count("--steps", options->steps, "T: releases that share the budget, all with the same noise");
  table.number("--sampling-rate", options->sampling_rate,
               "q: every step takes each record by a secret coin (Poisson); below 1 the accountant is pld, or rdp");
  declare_format(table, options->format);
  declare_config(table);
  command.footer =
      "Examples:\n"
      "  dpreduce privacy calibrate --epsilon 1 --delta 1e-5\n"
      "  dpreduce privacy calibrate --rho 0.1 --delta 1e-6 --sensitivity 1.414213562 --format json\n"
      "  dpreduce privacy calibrate --epsilon 2 --delta 1e-6 --steps 1000 --sampling-rate 0.01";
  command.chosen = [options](const ParsedCommand& parsed) {
    CalibrateOptions calibrate = *options;
    choose_accountant(calibrate.budget, calibrate.sampling_rate, parsed.options);
    return validated(calibrate);
  };
  return command;
}

}  // namespace dpreduce
