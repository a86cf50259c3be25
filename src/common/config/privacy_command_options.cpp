// The options of `dpreduce privacy ...`: accounting without data.
#include "dpreduce/config/command_options.hpp"
#include "dpreduce/config/error.hpp"
#include "dpreduce/config/option_kinds.hpp"
#include "dpreduce/config/specs.hpp"
#include "dpreduce/config/validate_options.hpp"

namespace dpreduce {
namespace {

void add_sensitivity(CLI::App& app, double& sensitivity) {
  app.add_option("--sensitivity", sensitivity, "L2 sensitivity of the released vector")->capture_default_str();
}

// `--gaussian 1:10 --gaussian 2`: each adds a part to the run.
void add_mechanism(CLI::App& app, MechanismKind kind, std::vector<MechanismSpec>& run, const std::string& help) {
  app.add_option_function<std::vector<std::string>>(
         "--" + std::string(to_string(kind)),
         [kind, &run](const std::vector<std::string>& specs) {
           for (const std::string& spec : specs) run.push_back(parse_mechanism_spec(kind, spec));
         },
         help)
      ->type_name(std::string(parameters_of(kind)) + "[:K]")
      ->group("Mechanisms, K times each");
}

}  // namespace

void CommandOptions::declare_privacy(CLI::App& app) {
  CLI::App& privacy = *app.add_subcommand("privacy", "accounting; no data involved");
  privacy.require_subcommand(1);
  declare_calibrate(privacy);
  declare_convert(privacy);
  declare_compose(privacy);
  declare_split(privacy);
  declare_explain(privacy);
}

void CommandOptions::declare_calibrate(CLI::App& privacy) {
  CLI::App& calibrate =
      *privacy.add_subcommand("calibrate", "the noise that a budget needs, rounded up: never too small");
  add_budget(calibrate, calibrate_.budget);
  add_sensitivity(calibrate, calibrate_.sensitivity);
  add_count(calibrate, "--steps", calibrate_.steps, "T: releases that share the budget, all with the same noise")
      ->capture_default_str();
  calibrate
      .add_option("--sampling-rate", calibrate_.sampling_rate,
                  "q: every step takes each record by a secret coin (Poisson); below 1 the accountant is pld, or rdp")
      ->capture_default_str();
  add_format(calibrate, calibrate_.format);
  add_config(calibrate);
  calibrate.footer(
      "Examples:\n"
      "  dpreduce privacy calibrate --epsilon 1 --delta 1e-5\n"
      "  dpreduce privacy calibrate --rho 0.1 --delta 1e-6 --sensitivity 1.414213562 --format json\n"
      "  dpreduce privacy calibrate --epsilon 2 --delta 1e-6 --steps 1000 --sampling-rate 0.01");
}

void CommandOptions::declare_convert(CLI::App& privacy) {
  CLI::App& convert = *privacy.add_subcommand(
      "convert", "one budget, or one sigma, as every accountant states it (epsilon_gdp holds for Gaussian noise only)");
  add_stated_budget(convert, convert_.budget);
  convert.add_option("--sigma", convert_.sigma, "standard deviation of the Gaussian noise, instead of a budget")
      ->group("Privacy");
  add_sensitivity(convert, convert_.sensitivity);
  add_format(convert, convert_.format);
  add_config(convert);
  convert.footer(
      "A bare --rho may be that of any zCDP mechanism: epsilon_zcdp_* then hold, epsilon_gdp and epsilon_pld only "
      "where\n"
      "the noise is Gaussian. Without --delta, epsilon is told at 1e-5.\n"
      "Examples:\n"
      "  dpreduce privacy convert --epsilon 1 --delta 1e-6\n"
      "  dpreduce privacy convert --rho 0.1 --delta 1e-6 --format json\n"
      "  dpreduce privacy convert --sigma 5 --sensitivity 1.414213562 --delta 1e-6");
}

void CommandOptions::declare_compose(CLI::App& privacy) {
  CLI::App& compose = *privacy.add_subcommand("compose", "what several mechanisms on the same data cost together");
  std::vector<MechanismSpec>& run = compose_.run;
  add_mechanism(compose, MechanismKind::kGaussian, run, "Gaussian noise, Z = sigma / L2 sensitivity");
  add_mechanism(compose, MechanismKind::kSubsampled, run, "the same on Poisson samples of rate Q");
  add_mechanism(compose, MechanismKind::kExponential, run,
                "exponential mechanism with a monotone utility: log probabilities within a range of E");
  add_mechanism(compose, MechanismKind::kLaplace, run, "Laplace noise of scale L1 sensitivity / E on one number");
  add_mechanism(compose, MechanismKind::kPure, run, "any E-DP mechanism");
  compose.add_option("--delta", compose_.delta, "where epsilon is told; at most 1 / (10 n) for a public n")
      ->required()
      ->group("Privacy");
  add_choice(compose, "--adjacency", compose_.adjacency,
             "replace-one counts as two records; where a sum's exchange moves less, state Z against that, and "
             "add-remove here")
      ->group("Privacy");
  add_count(compose, "--group", compose_.group, "r: records that differ, such as one person's")
      ->capture_default_str()
      ->group("Privacy");
  add_format(compose, compose_.format);
  add_config(compose);
  compose.footer(
      "Examples:\n"
      "  dpreduce privacy compose --gaussian 10:50 --gaussian 4 --delta 1e-6\n"
      "  dpreduce privacy compose --subsampled 1.1:0.01:1000 --exponential 0.1:5 --delta 1e-6 --format json\n"
      "  dpreduce privacy compose --gaussian 20 --adjacency replace-one --group 3 --delta 1e-6");
}

void CommandOptions::declare_split(CLI::App& privacy) {
  CLI::App& split =
      *privacy.add_subcommand("split", "the noise of several blocks under one budget, for the least weighted loss");
  split
      .add_option_function<std::vector<std::string>>(
          "--block",
          [this](const std::vector<std::string>& specs) {
            for (const std::string& spec : specs) split_.blocks.push_back(parse_block_spec(spec));
          },
          "L2 sensitivity D; weight W = numbers in the block x loss per unit of a number's variance")
      ->type_name("NAME:D[:W]")
      ->required();
  add_budget(split, split_.budget);
  add_format(split, split_.format);
  add_config(split);
  split.footer(
      "One record may change all blocks at once, each by its D.\n"
      "Examples:\n"
      "  dpreduce privacy split --block sum:1:768 --block count:1:1 --epsilon 1 --delta 1e-5\n"
      "  dpreduce privacy split --block gram:1:589824 --block labels:1:7680 --mu 0.5 --format json");
}

void CommandOptions::declare_explain(CLI::App& privacy) {
  CLI::App& explain =
      *privacy.add_subcommand("explain", "what a report of fit promises, to whom, and what it does not");
  explain.add_option("--report,report", explain_.report, "written by fit --report")->required()->type_name("FILE");
  add_format(explain, explain_.format);
  explain.footer(
      "Examples:\n"
      "  dpreduce privacy explain report.json\n"
      "  dpreduce privacy explain report.json --format json");
}

Command CommandOptions::chosen_privacy(const CLI::App& privacy) const {
  if (privacy.got_subcommand("convert")) return validated(convert_);
  if (privacy.got_subcommand("compose")) return validated(compose_);
  if (privacy.got_subcommand("split")) return validated(split_);
  if (privacy.got_subcommand("explain")) return explain_;
  CalibrateOptions calibrate = calibrate_;
  const bool chose_accountant = privacy.get_subcommand("calibrate")->count("--accountant") > 0;
  if (calibrate.sampling_rate < 1.0 && !chose_accountant) calibrate.budget.accountant = Accountant::kPld;
  return validated(calibrate);
}

}  // namespace dpreduce
