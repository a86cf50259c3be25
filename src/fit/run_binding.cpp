#include "fit/run_binding.hpp"

#include <optional>

#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "methods/training_method.hpp"

namespace dpreduce {
namespace {

nlohmann::json stated(const std::optional<double>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

nlohmann::json noise_of(const NoisePlan& plan) {
  nlohmann::json releases = nlohmann::json::array();
  for (const PlannedRelease& release : plan.releases) {
    nlohmann::json blocks = nlohmann::json::array();
    for (const PlannedBlock& block : release.blocks) {
      blocks.push_back({block.name, block.elements, block.squared_sensitivity, block.sigma});
    }
    releases.push_back({release.name, release.rounds, std::move(blocks)});
  }
  return releases;
}

}  // namespace

nlohmann::json run_binding(const FitOptions& options, const FitPlan& plan) {
  DPREDUCE_ASSERT(plan.noise.has_value());
  nlohmann::json binding = parse_json(plan.config);
  const nlohmann::json settings = binding.at("settings");
  binding.erase("settings");
  binding.update(settings);
  binding["accountant"] = to_string(options.privacy.budget.accountant);
  binding["epsilon"] = stated(options.privacy.budget.epsilon);
  binding["delta"] = stated(options.privacy.budget.delta);
  binding["rho"] = stated(options.privacy.budget.rho);
  binding["mu"] = stated(options.privacy.budget.mu);
  binding["guarantee"] = to_json(*plan.guarantee);
  binding["private"] = plan.is_private;
  binding["public rows"] = !options.data.public_x.empty();
  binding["noise of the releases"] = noise_of(*plan.noise);
  if (plan.makes_class_grams()) binding["candidates"] = make_method(options)->candidates();  // each is recorded
  if (!options.data.train.class_names.empty()) binding["class names"] = options.data.train.class_names;
  binding["seed"] = options.privacy.seed ? nlohmann::json(*options.privacy.seed) : nlohmann::json();
  return binding;
}

}  // namespace dpreduce
