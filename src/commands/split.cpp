// dpreduce privacy split: the noise of several blocks under one budget.
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "commands/commands.hpp"
#include "commands/privacy_results.hpp"
#include "common/accounting/block_split.hpp"
#include "common/accounting/guarantee.hpp"
#include "common/base/bound_text.hpp"
#include "common/base/json_text.hpp"

namespace dpreduce {
namespace {

constexpr int kSplitDigits = 15;

struct Split {
  Guarantee guarantee;
  std::vector<NoiseOfBlock> noise;  // in the order of the blocks
};

Split split_of(const SplitOptions& options) {
  const double mu = budget_from(options.budget).mu(options.budget.accountant);
  std::vector<WeightedBlock> blocks;
  for (const BlockSpec& block : options.blocks) blocks.push_back({block.sensitivity, block.loss_weight});
  std::vector<NoiseOfBlock> noise = split_blocks(blocks, mu);
  return {guarantee_of(options.budget, mu), std::move(noise)};
}

nlohmann::json split_json(const SplitOptions& options, const Split& split) {
  const auto& [guarantee, noise] = split;
  nlohmann::json json = to_json(guarantee);
  json["blocks"] = nlohmann::json::array();
  for (std::size_t block = 0; block < noise.size(); ++block) {
    json["blocks"].push_back({{"name", options.blocks[block].name},
                              {"sensitivity", options.blocks[block].sensitivity},
                              {"loss_weight", options.blocks[block].loss_weight},
                              {"sigma", noise[block].sigma},
                              {"variance", noise[block].variance},
                              {"share_of_mu2", noise[block].share_of_mu2}});
  }
  return json;
}

void print_text(const SplitOptions& options, const Split& split) {
  const auto& [guarantee, noise] = split;
  fmt::print("budget   mu {}, rho {}; epsilon {} at delta {}\n", upper_figure(*guarantee.mu, kSplitDigits),
             upper_figure(*guarantee.rho, kSplitDigits), upper_figure(guarantee.epsilon, kSplitDigits),
             upper_figure(guarantee.delta));
  for (std::size_t block = 0; block < noise.size(); ++block) {
    // Up as well: this noise is yet to be added.
    fmt::print("{}: sigma {}, variance {}, {:.6g} % of mu^2\n", options.blocks[block].name,
               upper_figure(noise[block].sigma, kSplitDigits), upper_figure(noise[block].variance, kSplitDigits),
               100.0 * noise[block].share_of_mu2);
  }
}

}  // namespace

nlohmann::json result_of(const SplitOptions& options) {
  return split_json(options, split_of(options));
}

void run_command(const SplitOptions& options, Communicator& ranks) {
  ranks.together([&] {
    if (!ranks.is_coordinator()) return;
    const Split split = split_of(options);
    if (options.format == OutputFormat::kText) return print_text(options, split);
    // A name may hold bytes that are not UTF-8.
    fmt::print("{}\n", readable_json_text(split_json(options, split), 2));
  });
}

}  // namespace dpreduce
