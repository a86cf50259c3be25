#include "commands/command_line/convert_command.hpp"

#include <memory>

#include "commands/command_line/budget_options.hpp"
#include "commands/command_line/command_entry.hpp"
#include "common/base/error.hpp"
#include "common/base/option_checks.hpp"

namespace dpreduce {

ConvertOptions validated(ConvertOptions options) {
  check_positive("--sensitivity", options.sensitivity);
  const StatedBudget& budget = options.budget;
  if (!options.sigma) {
    if (!budget.epsilon && !budget.rho && !budget.mu && !budget.delta) {
      throw UsageError("nothing to convert: give --epsilon and --delta, or --rho, or --mu, or --sigma");
    }
    return options;
  }
  check_positive("--sigma", *options.sigma);
  if (budget.epsilon || budget.rho || budget.mu) {
    throw UsageError("--sigma goes without --epsilon, --rho and --mu; give exactly one");
  }
  return options;
}

CommandEntry convert_command() {
  const auto options = std::make_shared<ConvertOptions>();
  CommandEntry command{
      .name = "convert",
      .help = "one budget, or one sigma, as every accountant states it (epsilon_gdp holds for Gaussian noise only)"};
  OptionTable& table = command.options;
  declare_stated_budget(table, options->budget);
  table.number("--sigma", options->sigma, "standard deviation of the Gaussian noise, instead of a budget")
      .in_group("Privacy");
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
  command.chosen = [options](const ParsedCommand&) { return validated(*options); };
  return command;
}

}  // namespace dpreduce
