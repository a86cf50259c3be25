#include "report/run_metrics.hpp"

#include <bit>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "report/fit_report.hpp"

namespace dpreduce {
namespace {

nlohmann::json json_of(const Spending& spent, bool shows_epsilon, double delta, PrivacyUnit unit) {
  return {{"mu", spent.is_gaussian() ? nlohmann::json(spent.mu) : nullptr},
          {"epsilon", shows_epsilon ? finite_epsilon(spent, delta) : nullptr},
          {"delta", delta},
          {"unit", to_string(unit)}};
}

}  // namespace

RunMetrics::RunMetrics(LineFile& file, const FitPlan& plan, PrivacyUnit unit, double delta)
    : file_(file), plan_(plan), unit_(unit), delta_(delta) {}

Spending RunMetrics::spent() const {
  Spending all;
  for (const auto& [name, rounds] : rounds_) {
    const PlannedRelease& release = plan_.noise->release(name);
    std::vector<RepeatedMechanism> samples;
    if (release.is_sampled()) {
      samples.push_back(sampled_rounds(mu_of_rounds(release, 1), release.sampling_rate, rounds, plan_.noise->adjacency,
                                       plan_.noise->adjacency));
    }
    all = composed(all, {release.is_sampled() ? 0.0 : mu_of_rounds(release, rounds), {}, std::move(samples)});
  }
  return all;
}

void RunMetrics::write(nlohmann::json line) {
  line["private"] = plan_.is_private;
  file_.write(json_text(line));
}

void RunMetrics::add(std::string_view release, std::span<const BlockFigures> figures) {
  DPREDUCE_ASSERT(plan_.noise);
  const PlannedRelease& planned = plan_.noise->release(release);
  // The plan lists releases in the order of the run: those before this one are charged, made or not.
  for (const PlannedRelease& before : plan_.noise->releases) {
    if (before.name == planned.name) break;
    rounds_[before.name] = before.rounds;
  }
  const std::uint64_t round = ++rounds_[planned.name];
  std::uint64_t elements = 0;
  nlohmann::json blocks = nlohmann::json::array();
  for (const BlockFigures& block : figures) {
    elements += planned.block(block.block).elements;
    blocks.push_back({{"name", block.block}, {"norm", block.norm}, {"noise_norm", block.noise_norm}});
  }
  const Spending so_far = spent();
  // A distribution of losses takes longer than many a round: it is made for rounds 1, 2, 4, 8, ... and the last.
  const bool shows_epsilon = so_far.is_gaussian() || std::has_single_bit(round) || round == planned.rounds;
  write({{"phase", planned.name},
         {"round", round},
         {"rounds", planned.rounds},
         {"bytes", 8 * elements},
         {"blocks", blocks},
         {"spent", json_of(so_far, shows_epsilon, delta_, unit_)}});
}

void RunMetrics::end() {
  const nlohmann::json spent = plan_.noise ? json_of(spending_of(*plan_.noise), true, delta_, unit_) : nlohmann::json();
  write({{"phase", "end"}, {"spent", spent}});
}

}  // namespace dpreduce
