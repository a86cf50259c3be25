#include "dpreduce/commands/fit_plan.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "dpreduce/config/command_line.hpp"
#include "dpreduce/config/error.hpp"
#include "dpreduce/lattice/lattice_rows.hpp"
#include "dpreduce/privacy/gaussian_dp.hpp"
#include "dpreduce/privacy/ledger_record.hpp"
#include "dpreduce/worker/registered_statistics.hpp"

namespace dpreduce {
namespace {

constexpr double kClassSizesToTell[] = {10, 100, 1000, 10000};

std::string config_digest(const FitOptions& options, const Preprocessing& preprocessing) {
  const nlohmann::json config{{"version", version()},
                              {"method", "mean"},
                              {"metric", to_string(options.metric)},
                              {"classes", options.classes},
                              {"input_dim", preprocessing.input_dim},
                              {"pool", preprocessing.pool},
                              {"normalize", to_string(preprocessing.normalize)},
                              {"clip_norm", preprocessing.clip_norm},
                              {"center", to_string(options.center)},
                              {"center_share", options.center_share},
                              {"adjacency", to_string(options.adjacency)},
                              {"bad_rows", to_string(options.train.bad_rows)}};
  return sha256_hex(config.dump());
}

double limit_mu(double epsilon, double delta) {
  if (!(epsilon > 0.0)) throw UsageError(fmt::format("--budget-epsilon {}: must be greater than 0", epsilon));
  if (!(delta > 0.0 && delta < 1.0))
    throw UsageError(fmt::format("--budget-delta {}: must lie between 0 and 1", delta));
  return gdp_mu(epsilon, delta);
}

// sigma of the class sums in feature units, over the clip norm: how many rows of norm C one coordinate's noise is.
double noise_in_rows(const FitPlan& plan) {
  const PlannedBlock& sums = plan.noise->release("class_means").block("class_sums");
  const Lattice lattice{plan.preprocessing.clip_norm, plan.preprocessing.dim()};
  return sums.sigma / (lattice.scale() * lattice.clip_norm);
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
                        .center = {}};
  const std::size_t dim = RowTransform(plan.preprocessing).output_dim();

  const ReleaseTerms terms{options.classes, dim, options.metric, options.adjacency};
  double rest = 1.0;
  if (options.center == Centering::kDp) {
    plan.requests.push_back(registered_statistic("center").request(terms, options.center_share));
    rest -= options.center_share;
  }
  plan.requests.push_back(registered_statistic("class_means").request(terms, rest));

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
      plan.limit_mu = limit_mu(*options.limit_epsilon, *options.limit_delta);
    }
  }
  plan.config_digest = config_digest(options, plan.preprocessing);

  std::size_t largest_statistic = 0;
  for (const ReleaseRequest& request : plan.requests) {
    std::size_t elements = 0;
    for (const BlockRequest& block : request.blocks) elements += block.elements;
    largest_statistic = std::max(largest_statistic, elements * sizeof(std::int64_t));
  }
  // The coordinator holds the sum, its released copy and the model's weights at once.
  plan.memory_bytes = (options.memory_mib << 20) + 3 * largest_statistic;
  return plan;
}

nlohmann::json privacy_json(const FitPlan& plan, Adjacency adjacency, Accountant accountant) {
  nlohmann::json json{{"epsilon", nullptr}, {"delta", nullptr}, {"mu", nullptr}, {"rho", nullptr}};
  json["adjacency"] = to_string(adjacency);
  json["accountant"] = to_string(accountant);
  json["releases"] = nlohmann::json::array();
  if (!plan.noise) return json;
  json.update(to_json(*plan.guarantee));
  for (const PlannedRelease& release : plan.noise->releases) {
    for (const PlannedBlock& block : release.blocks) {
      json["releases"].push_back({{"name", block.name},
                                  {"release", release.name},
                                  {"sensitivity", block.sensitivity},
                                  {"sigma", block.sigma},
                                  {"mu", block.mu},
                                  {"coordinates", block.elements}});
    }
  }
  return json;
}

nlohmann::json expected_error_json(const FitPlan& plan) {
  nlohmann::json errors = nlohmann::json::array();
  if (!plan.noise) return errors;
  const double length = noise_in_rows(plan) * std::sqrt(static_cast<double>(plan.preprocessing.dim()));
  for (const double rows : kClassSizesToTell) errors.push_back({{"rows_per_class", rows}, {"error", length / rows}});
  return errors;
}

void print_dry_run(const FitOptions& options, const FitPlan& plan) {
  if (options.format == OutputFormat::kJson) {
    const nlohmann::json json{{"dry_run", true},
                              {"method", "mean"},
                              {"private", plan.is_private},
                              {"privacy", privacy_json(plan, options.adjacency, options.budget.accountant)},
                              {"expected_error", expected_error_json(plan)},
                              {"memory_bytes_per_rank", plan.memory_bytes},
                              {"version", version()}};
    fmt::print("{}\n", json.dump(2));
    return;
  }
  fmt::print("dry run: no row is read, nothing is spent\n");
  fmt::print("memory     {:.0f} MiB a rank at most, whatever the number of rows\n",
             std::ceil(static_cast<double>(plan.memory_bytes) / (1 << 20)));
  if (!plan.noise) {
    fmt::print("noise      none: NOT private\n");
    return;
  }
  fmt::print("budget     epsilon {:g} at delta {:g}, mu {:.6g}, rho {:.6g}, {}\n", plan.guarantee->epsilon,
             plan.guarantee->delta, plan.guarantee->mu, plan.guarantee->rho, to_string(options.adjacency));
  for (const PlannedRelease& release : plan.noise->releases) {
    for (const PlannedBlock& block : release.blocks) {
      fmt::print("noise      {:<14} {:>10} coordinates, sensitivity {:.9g}, sigma {:.9g}, mu {:.6g}\n", block.name,
                 block.elements, block.sensitivity, block.sigma, block.mu);
    }
  }
  fmt::print("expected   a coordinate of a class sum is off by {:.3g} rows of norm C\n", noise_in_rows(plan));
  for (const auto& row : expected_error_json(plan)) {
    fmt::print("           a class of {:>6} rows: its mean is off by {:.3g} C\n", row["rows_per_class"].get<double>(),
               row["error"].get<double>());
  }
}

}  // namespace dpreduce
