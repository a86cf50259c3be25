// dpreduce privacy split: the noise of several blocks under one budget.
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "commands/commands.hpp"
#include "common/accounting/block_split.hpp"
#include "common/accounting/guarantee.hpp"

namespace dpreduce {
namespace {

void print_json(const SplitOptions& options, const Guarantee& guarantee, const std::vector<NoiseOfBlock>& noise) {
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
  // A name may hold bytes that are not UTF-8.
  fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

void print_text(const SplitOptions& options, const Guarantee& guarantee, const std::vector<NoiseOfBlock>& noise) {
  fmt::print("budget   mu {:.15g}, rho {:.15g}; epsilon {:.15g} at delta {:g}\n", *guarantee.mu, *guarantee.rho,
             guarantee.epsilon, guarantee.delta);
  for (std::size_t block = 0; block < noise.size(); ++block) {
    fmt::print("{}: sigma {:.15g}, variance {:.15g}, {:.6g} % of mu^2\n", options.blocks[block].name,
               noise[block].sigma, noise[block].variance, 100.0 * noise[block].share_of_mu2);
  }
}

}  // namespace

void run_command(const SplitOptions& options, Communicator& ranks) {
  ranks.together([&] {
    if (!ranks.is_coordinator()) return;
    const double mu = budget_from(options.budget).mu(options.budget.accountant);
    std::vector<WeightedBlock> blocks;
    for (const BlockSpec& block : options.blocks) blocks.push_back({block.sensitivity, block.loss_weight});
    const std::vector<NoiseOfBlock> noise = split_blocks(blocks, mu);
    const Guarantee guarantee = guarantee_of(options.budget, mu);
    options.format == OutputFormat::kJson ? print_json(options, guarantee, noise)
                                          : print_text(options, guarantee, noise);
  });
}

}  // namespace dpreduce
