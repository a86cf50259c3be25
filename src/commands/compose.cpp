// dpreduce privacy compose: total privacy loss of several mechanisms on the same data.
#include <cmath>
#include <limits>

#include "commands/commands.hpp"
#include "common/accounting/composition.hpp"
#include "common/accounting/gaussian_dp.hpp"
#include "common/base/text.hpp"
#include "report/run_facts.hpp"

namespace dpreduce {
namespace {

// One of the options that name a mechanism: `--subsampled Z:Q:K` is K of them, one where K is left out.
struct MechanismOption {
  const char* name;
  std::string_view parameters;
  const char* legend;
  const char* help;
  Mechanism (*mechanism)(std::span<const double> parameters);
};

constexpr MechanismOption kMechanisms[] = {
    {"gaussian", "Z", "Z the noise multiplier", "Gaussian noise, Z = sigma / L2 sensitivity",
     [](std::span<const double> given) -> Mechanism { return GaussianMechanism{given[0]}; }},
    {"subsampled", "Z:Q", "Z the noise multiplier, Q the sampling rate", "the same on Poisson samples of rate Q",
     [](std::span<const double> given) -> Mechanism {
       return GaussianMechanism{given[0], given[1]};
     }},
    {"exponential", "E", "E the epsilon",
     "exponential mechanism with a monotone utility: log probabilities change by a range of at most E",
     [](std::span<const double> given) -> Mechanism { return ExponentialMechanism{given[0]}; }}};

// A mechanism of the run, with the option that named it.
struct ComposedPart {
  const char* option;
  RepeatedMechanism mechanism;
};

struct ComposeOptions {
  std::vector<ComposedPart> run;
  double delta = 0.0;
  Adjacency adjacency = Adjacency::kAddRemove;
  std::uint64_t group = 1;  // records that differ
  OutputFormat format = OutputFormat::kText;
};

ComposedPart composed_part(const MechanismOption& option, const std::string& text) {
  const std::vector<std::string> parts = parts_of(text, ':');
  const std::size_t needed = parts_of(option.parameters, ':').size();
  const bool has_count = parts.size() == needed + 1;
  try {
    if (parts.size() == needed || has_count) {
      std::vector<double> numbers;
      for (std::size_t part = 0; part < needed; ++part) numbers.push_back(read_number("", parts[part]));
      const std::uint64_t count =
          has_count ? read_count("", parts[needed], std::numeric_limits<std::uint64_t>::max()) : 1;
      const bool are_finite = std::ranges::all_of(numbers, [](double number) { return std::isfinite(number); });
      if (are_finite && count > 0) return {option.name, {option.mechanism(numbers), count}};
    }
  } catch (const UsageError&) {
  }
  throw UsageError("--{} {}: must be {}[:K], {}, K how often (a whole number, 1 where left out)", option.name, text,
                   option.parameters, option.legend);
}

// `--gaussian 1:10 --gaussian 2`: each adds a part to the run.
void declare_mechanism(OptionTable& table, const MechanismOption& option, std::vector<ComposedPart>& run) {
  table.add({.names = fmt::format("--{}", option.name),
             .help = option.help,
             .type = fmt::format("{}[:K]", option.parameters),
             .group = "Mechanisms, K times each",
             .values = OptionValues::kMany,
             .read = [&option, &run](const std::vector<std::string>& texts) {
               for (const std::string& text : texts) run.push_back(composed_part(option, text));
             }});
}

ComposeOptions validated(ComposeOptions options) {
  if (options.run.empty()) {
    throw UsageError("nothing to compose: give at least one --gaussian, --subsampled or --exponential");
  }
  return options;
}

constexpr char kWhy[] =
    "all figures but epsilon_pld_lower are upper bounds, and epsilon is the smallest; pld composes the whole privacy "
    "loss distribution, up to its grid; gdp is exact, for Gaussian noise only; rdp and zcdp use only Renyi "
    "divergences, which bound the tail less tightly";

std::vector<RepeatedMechanism> run_of(const ComposeOptions& options) {
  std::vector<RepeatedMechanism> run;
  for (const auto& [option, part] : options.run) {
    try {
      require_mechanism(part.mechanism);
    } catch (const UsageError& error) {
      throw UsageError("--{}: {}", option, error.what());
    }
    run.push_back(part);
  }
  return run;
}

nlohmann::json result_of(const ComposeOptions& options) {
  const std::vector<RepeatedMechanism> run = run_of(options);
  const Neighbors neighbors{options.adjacency, options.group};
  const ComposedEpsilon epsilon = compose_epsilon(run, options.delta, neighbors);
  const std::vector<RepeatedMechanism> scaled = run_for(run, neighbors);
  const std::optional<double> mu = gdp_of_run(scaled);
  const std::optional<double> rho = zcdp_of_run(scaled);
  const bool has_pld = std::isfinite(epsilon.pld);
  const std::string no_search = "the run's losses are too large for the grid";
  const std::string no_gdp = mu ? fmt::format("mu is beyond {:g}", kLargestMu)
                                : "the exact conversion is for Gaussian noise alone, on all records";
  const std::string no_zcdp =
      rho ? fmt::format("rho is beyond {:g}", kLargestRho) : "a Gaussian on samples is not zCDP at a useful rho";
  nlohmann::json result{{"delta", options.delta},
                        {"epsilon", epsilon.best()},
                        {"adjacency", to_string(options.adjacency)},
                        {"group", options.group},
                        {"why", kWhy},
                        {"not_computed", nlohmann::json::object()}};
  put_figure(result, "mu", mu, no_gdp);
  put_figure(result, "rho", rho, no_zcdp);
  put_figure(result, "sigma", mu ? std::optional(std::nextafter(1.0 / *mu, 0.0)) : std::nullopt, no_gdp);
  put_figure(result, "epsilon_gdp", epsilon.gdp, no_gdp);
  put_figure(result, "epsilon_zcdp_simple", epsilon.zcdp_simple, no_zcdp);
  put_figure(result, "epsilon_zcdp_tight", epsilon.zcdp_tight, no_zcdp);
  put_figure(result, "epsilon_rdp", epsilon.rdp, no_search);
  put_figure(result, "epsilon_pld", has_pld ? std::optional(epsilon.pld) : std::nullopt, no_search);
  put_figure(result, "epsilon_pld_lower", has_pld ? std::optional(epsilon.pld_lower) : std::nullopt, no_search);
  for (const RepeatedMechanism& part : run) {
    result["mechanisms"].push_back({{"mechanism", describe(part.mechanism)}, {"count", part.count}});
  }
  return result;
}

std::string composition_text(const ComposeOptions& options, const nlohmann::json& result) {
  const JsonFields fields(result, "result");
  Facts facts;
  for (const JsonFields& part : fields.objects("mechanisms")) {
    const std::uint64_t count = part.count("count");
    facts.push_back({"mechanism", part.text("mechanism") + (count > 1 ? fmt::format(", {} times", count) : "")});
  }
  facts.push_back({"neighbors", fmt::format("{}, {} record{}", to_string(options.adjacency), options.group,
                                            options.group > 1 ? "s" : "")});
  facts.push_back({"epsilon", at_most(fields.number("epsilon")), "the least upper bound below"});
  for (Fact& fact : accounted_facts(result)) facts.push_back(std::move(fact));
  return text_of(facts, kAccountedDigits);
}

void declare(OptionTable& table, ComposeOptions& options) {
  for (const MechanismOption& mechanism : kMechanisms) declare_mechanism(table, mechanism, options.run);
  table.begin_group("Privacy");
  table.number("--delta", options.delta, "at which epsilon is reported; at most 1 / (10 n) for a public n")
      .required()
      .defaults_to("");
  table.choice("--adjacency", options.adjacency,
               "replace-one counts as two records; if replacing a record moves the sum by less than that, give Z "
               "relative to this distance, and add-remove here");
  table.count("--group", options.group, "r: records that differ, such as one person's").at_least(1);
  table.begin_group("");
}

}  // namespace

CommandEntry compose_command() {
  return json_command<ComposeOptions>(
      "compose", "total privacy loss of several mechanisms on the same data", declare, validated, result_of,
      composition_text,
      "  dpreduce privacy compose --gaussian 10:50 --gaussian 4 --delta 1e-6\n"
      "  dpreduce privacy compose --subsampled 1.1:0.01:1000 --exponential 0.1:5 --delta 1e-6 --format json\n"
      "  dpreduce privacy compose --gaussian 20 --adjacency replace-one --group 3 --delta 1e-6");
}

}  // namespace dpreduce
