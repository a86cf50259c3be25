#include "dpreduce/methods/fit_plan.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "dpreduce/config/command_line.hpp"
#include "dpreduce/config/error.hpp"
#include "dpreduce/lattice/lattice_rows.hpp"
#include "dpreduce/methods/training_method.hpp"
#include "dpreduce/privacy/gaussian_dp.hpp"
#include "dpreduce/privacy/ledger_record.hpp"
#include "dpreduce/worker/registered_statistics.hpp"

namespace dpreduce {
namespace {

std::string config_digest(const FitOptions& options, const Preprocessing& preprocessing, const TrainingMethod& method) {
  const nlohmann::json config{{"version", version()},
                              {"method", method.name()},
                              {"settings", method.settings()},
                              {"intercept", method.intercept()},
                              {"classes", options.classes},
                              {"input_dim", preprocessing.input_dim},
                              {"pool", preprocessing.pool},
                              {"normalize", to_string(preprocessing.normalize)},
                              {"clip_norm", preprocessing.clip_norm},
                              {"center", to_string(options.center.value())},
                              {"center_share", options.center_share},
                              {"adjacency", to_string(options.adjacency)},
                              {"bad_rows", to_string(options.train.bad_rows)}};
  return sha256_hex(config.dump());
}

DataSetBudget data_set_budget(double epsilon, double delta) {
  if (!(epsilon > 0.0)) throw UsageError(fmt::format("--budget-epsilon {}: must be greater than 0", epsilon));
  if (!(delta > 0.0 && delta < 1.0))
    throw UsageError(fmt::format("--budget-delta {}: must lie between 0 and 1", delta));
  gdp_mu(epsilon, delta);  // throws where no noise meets it
  return {epsilon, delta};
}

}  // namespace

const ReleaseRequest& FitPlan::request(std::string_view name) const {
  const auto found = std::find_if(requests.begin(), requests.end(), [&](const auto& r) { return r.name == name; });
  DPREDUCE_ASSERT(found != requests.end());
  return *found;
}

FitPlan plan_fit(const FitOptions& options, std::size_t input_dim) {
  FitPlan plan;
  plan.preprocessing = {.input_dim = input_dim,
                        .pool = options.pool,
                        .normalize = options.normalize,
                        .clip_norm = options.clip_norm,
                        .center = {},
                        .intercept = 0.0};
  ReleaseTerms terms;
  terms.classes = options.classes;
  terms.dim = RowTransform(plan.preprocessing).output_dim();
  terms.adjacency = options.adjacency;
  double rest = 1.0;
  if (options.center == Centering::kDp) {
    plan.requests.push_back(registered_statistic("center").request(terms, options.center_share));
    rest -= options.center_share;
  }
  const std::unique_ptr<TrainingMethod> method = make_method(options);
  if (method->intercept() > 0.0) ++terms.dim;
  for (ReleaseRequest& request : method->requests(terms)) {
    request.share *= rest;
    plan.requests.push_back(std::move(request));
  }

  const BudgetOptions& budget = options.budget;
  if (budget.non_private) {
    if (budget.epsilon || budget.delta || budget.rho || budget.mu) {
      throw UsageError("--non-private goes without --epsilon, --delta, --rho and --mu");
    }
  } else {
    plan.noise = make_noise_plan(budget_from(budget).mu(budget.accountant), options.adjacency, plan.requests);
    plan.guarantee = guarantee_of(budget, plan.noise->mu);
    plan.is_private = !options.seed.has_value();
    if (options.limit_epsilon || options.limit_delta) {
      if (!options.limit_epsilon || !options.limit_delta) {
        throw UsageError("--budget-epsilon and --budget-delta go together");
      }
      plan.limit = data_set_budget(*options.limit_epsilon, *options.limit_delta);
    }
  }
  plan.config_digest = config_digest(options, plan.preprocessing, *method);

  // The coordinator holds the sum, its released copy and the model's weights at once; a Gram matrix is summed and
  // solved as a square. Of a family one matrix is solved at a time, and a few are summed; what is released beside it is
  // copied to every rank.
  std::size_t largest_statistic = 0;
  for (const ReleaseRequest& request : plan.requests) {
    const bool is_in_parts = std::any_of(request.blocks.begin(), request.blocks.end(),
                                         [](const BlockRequest& block) { return block.matrices > 1; });
    std::size_t bytes = 0;
    for (const BlockRequest& block : request.blocks) {
      const std::size_t copies = block.matrices > 1 ? 7 + kGramsAtOnce : (is_in_parts ? 5 : 4);
      bytes += copies * (block.elements / block.matrices) * sizeof(std::int64_t);
    }
    largest_statistic = std::max(largest_statistic, bytes);
  }
  plan.memory_bytes = (options.memory_mib.value() << 20) + largest_statistic;
  return plan;
}

}  // namespace dpreduce
