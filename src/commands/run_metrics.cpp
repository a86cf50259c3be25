#include "commands/run_metrics.hpp"

#include <bit>
#include <cmath>

#include <nlohmann/json.hpp>

#include "common/base/json_text.hpp"

namespace dpreduce {
namespace {

nlohmann::json json_of(const Spending& spent, bool tells_epsilon, double delta) {
  nlohmann::json json{
      {"mu", spent.is_gaussian() ? nlohmann::json(spent.mu) : nullptr}, {"epsilon", nullptr}, {"delta", delta}};
  if (!tells_epsilon) return json;
  if (const double epsilon = epsilon_of(spent, delta); std::isfinite(epsilon)) json["epsilon"] = epsilon;
  return json;
}

}  // namespace

RunMetrics::RunMetrics(const std::string& path, Existing existing, const FitPlan& plan, double delta)
    : file_(path, existing), plan_(*plan.noise), is_private_(plan.is_private), delta_(delta) {}

double RunMetrics::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
}

Spending RunMetrics::spent() const {
  Spending all;
  for (const auto& [name, rounds] : rounds_) {
    const PlannedRelease& release = plan_.release(name);
    Spending one;
    if (release.is_sampled()) {
      one.samples.push_back(sampled_rounds(mu_of_rounds(release, 1), release.sampling_rate, rounds));
    } else {
      one.mu = mu_of_rounds(release, rounds);
    }
    all = composed(all, one);
  }
  return all;
}

void RunMetrics::add(std::string_view release, std::span<const BlockFigures> figures) {
  const PlannedRelease& planned = plan_.release(release);
  const std::uint64_t round = ++rounds_[planned.name];
  std::uint64_t elements = 0;
  nlohmann::json blocks = nlohmann::json::array();
  for (const BlockFigures& block : figures) {
    elements += planned.block(block.block).elements;
    blocks.push_back({{"name", block.block}, {"norm", block.norm}, {"noise_norm", block.noise_norm}});
  }
  const Spending so_far = spent();
  // A distribution of losses takes longer than many a round: it is made for rounds 1, 2, 4, 8, ... and the last.
  const bool tells_epsilon = so_far.is_gaussian() || std::has_single_bit(round) || round == planned.rounds;
  file_.write(json_text(nlohmann::json{{"phase", planned.name},
                                       {"round", round},
                                       {"rounds", planned.rounds},
                                       {"private", is_private_},
                                       {"seconds", seconds()},
                                       {"bytes", 8 * elements},
                                       {"blocks", blocks},
                                       {"spent", json_of(so_far, tells_epsilon, delta_)}}));
}

void RunMetrics::end() {
  file_.write(json_text(nlohmann::json{{"phase", "end"},
                                       {"private", is_private_},
                                       {"seconds", seconds()},
                                       {"spent", json_of(spending_of(plan_), true, delta_)}}));
}

}  // namespace dpreduce
