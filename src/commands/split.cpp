// dpreduce privacy split: the noise of several blocks under one budget.
#include <cmath>
#include <set>

#include "commands/commands.hpp"
#include "common/accounting/gaussian_dp.hpp"
#include "common/base/text.hpp"
#include "report/run_facts.hpp"

namespace dpreduce {
namespace {

// `--block NAME:D[:W]`.
struct NamedBlock {
  std::string name;
  WeightedBlock block{0.0, 1.0};
};

struct SplitOptions {
  BudgetOptions budget;
  std::vector<NamedBlock> blocks;
  OutputFormat format = OutputFormat::kText;
};

NamedBlock block_of(const std::string& text) {
  const std::vector<std::string> parts = parts_of(text, ':');
  NamedBlock named{.name = parts[0]};
  bool is_block = !named.name.empty() && (parts.size() == 2 || parts.size() == 3);
  for (std::size_t part = 1; is_block && part < parts.size(); ++part) {
    const double number = number_of(parts[part]).value_or(0.0);
    (part == 1 ? named.block.sensitivity : named.block.loss_weight) = number;
    is_block = number > 0.0 && std::isfinite(number);
  }
  if (is_block) return named;
  throw UsageError(
      "--block {}: must be NAME:D[:W], D the L2 sensitivity and W the loss weight, both above 0 (W is 1 "
      "where left out)",
      text);
}

SplitOptions validated(SplitOptions options) {
  std::set<std::string> names;
  for (const NamedBlock& block : options.blocks) {
    if (!names.insert(block.name).second) throw UsageError("--block {}: the name occurs twice", block.name);
  }
  return options;
}

nlohmann::json result_of(const SplitOptions& options) {
  const double mu = mu_of(options.budget);
  std::vector<WeightedBlock> blocks;
  for (const NamedBlock& named : options.blocks) blocks.push_back(named.block);
  const std::vector<NoiseOfBlock> noise = split_blocks(blocks, mu);
  nlohmann::json json = to_json(guarantee_of(options.budget, mu));
  json["blocks"] = nlohmann::json::array();
  for (std::size_t block = 0; block < noise.size(); ++block) {
    json["blocks"].push_back({{"name", options.blocks[block].name},
                              {"sensitivity", blocks[block].sensitivity},
                              {"loss_weight", blocks[block].loss_weight},
                              {"sigma", noise[block].sigma},
                              {"variance", noise[block].variance},
                              {"share_of_mu2", noise[block].share_of_mu2}});
  }
  return json;
}

std::string split_text(const SplitOptions&, const nlohmann::json& result) {
  const JsonFields fields(result, "result");
  // Noise is rounded up as well: it is yet to be added.
  return text_of(promise_facts(fields), kAccountedDigits) +
         text_of(table_of("noise of each block:", fields.objects("blocks"),
                          {{"name", "block", Written::kText},
                           {"sigma", "", Written::kAtMost},
                           {"variance", "", Written::kAtMost},
                           {"share_of_mu2", "share of mu^2"}}),
                 kAccountedDigits);
}

void declare(OptionTable& table, SplitOptions& options) {
  table
      .add({.names = "--block",
            .help = "L2 sensitivity D; weight W = numbers in the block x loss per unit of a number's variance",
            .type = "NAME:D[:W]",
            .values = OptionValues::kMany,
            .read =
                [&options](const std::vector<std::string>& specs) {
                  for (const std::string& spec : specs) options.blocks.push_back(block_of(spec));
                }})
      .required();
  declare_budget(table, options.budget);
}

}  // namespace

CommandEntry split_command() {
  return json_command<SplitOptions>(
      "split", "noise of several blocks under one budget, with the least weighted loss", declare, validated, result_of,
      split_text,
      "  dpreduce privacy split --block sum:1:768 --block count:1:1 --epsilon 1 --delta 1e-5\n"
      "  dpreduce privacy split --block gram:1:589824 --block labels:1:7680 --mu 0.5 --format json",
      "One record may change all blocks at once, each by its D.\n");
}

}  // namespace dpreduce
