#include "commands/command_line/compose_command.hpp"

#include <memory>
#include <utility>

#include "commands/command_line/command_entry.hpp"
#include "commands/command_line/specs.hpp"
#include "common/base/error.hpp"

namespace dpreduce {
namespace {

// `--gaussian 1:10 --gaussian 2`: each adds a part to the run.
void declare_mechanism(OptionTable& table, MechanismKind kind, std::vector<MechanismSpec>& run, std::string help) {
  table.add({.names = "--" + std::string(to_string(kind)),
             .help = std::move(help),
             .type = std::string(parameters_of(kind)) + "[:K]",
             .group = "Mechanisms, K times each",
             .values = OptionValues::kMany,
             .read = [kind, &run](const std::vector<std::string>& specs) {
               for (const std::string& spec : specs) run.push_back(parse_mechanism_spec(kind, spec));
             }});
}

}  // namespace

ComposeOptions validated(ComposeOptions options) {
  if (options.run.empty()) {
    throw UsageError(
        "nothing to compose: give at least one --gaussian, --subsampled, --exponential, --laplace or --pure");
  }
  if (options.group == 0) throw UsageError("--group 0: must be at least 1");
  return options;
}

CommandEntry compose_command() {
  const auto options = std::make_shared<ComposeOptions>();
  CommandEntry command{.name = "compose", .help = "what several mechanisms on the same data cost together"};
  OptionTable& table = command.options;
  std::vector<MechanismSpec>& run = options->run;
  declare_mechanism(table, MechanismKind::kGaussian, run, "Gaussian noise, Z = sigma / L2 sensitivity");
  declare_mechanism(table, MechanismKind::kSubsampled, run, "the same on Poisson samples of rate Q");
  declare_mechanism(table, MechanismKind::kExponential, run,
                    "exponential mechanism with a monotone utility: log probabilities within a range of E");
  declare_mechanism(table, MechanismKind::kLaplace, run, "Laplace noise of scale L1 sensitivity / E on one number");
  declare_mechanism(table, MechanismKind::kPure, run, "any E-DP mechanism");
  table.number("--delta", options->delta, "where epsilon is told; at most 1 / (10 n) for a public n")
      .required()
      .defaults_to("")
      .in_group("Privacy");
  table
      .choice("--adjacency", options->adjacency,
              "replace-one counts as two records; where a sum's exchange moves less, state Z against that, and "
              "add-remove here")
      .in_group("Privacy");
  table.count("--group", options->group, "r: records that differ, such as one person's").in_group("Privacy");
  declare_format(table, options->format);
  declare_config(table);
  command.footer =
      "Examples:\n"
      "  dpreduce privacy compose --gaussian 10:50 --gaussian 4 --delta 1e-6\n"
      "  dpreduce privacy compose --subsampled 1.1:0.01:1000 --exponential 0.1:5 --delta 1e-6 --format json\n"
      "  dpreduce privacy compose --gaussian 20 --adjacency replace-one --group 3 --delta 1e-6";
  command.chosen = [options](const ParsedCommand&) { return validated(*options); };
  return command;
}

}  // namespace dpreduce
