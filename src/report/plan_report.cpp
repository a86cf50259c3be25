#include "report/plan_report.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "common/accounting/selection_charge.hpp"
#include "common/base/version.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "common/model/released_file.hpp"
#include "fit/release_figures.hpp"
#include "methods/means_by_rounds.hpp"
#include "methods/registry.hpp"
#include "methods/training_method.hpp"
#include "report/explanation.hpp"
#include "report/fit_report.hpp"

namespace dpreduce {
namespace {

constexpr double kReportedClassSizes[] = {10, 100, 1000, 10000};
constexpr double kReportedRowCounts[] = {1000, 10000, 100000};

constexpr std::string_view kClassMeans = "class_means";

nlohmann::json block_json(const PlannedBlock& block, const std::string& release, double sampling_rate) {
  nlohmann::json json{{"name", block.name},   {"release", release}, {"sensitivity", block.sensitivity},
                      {"sigma", block.sigma}, {"mu", block.mu},     {"coordinates", block.elements}};
  if (sampling_rate < 1) json["sampling_rate"] = sampling_rate;
  if (block.noise == BlockNoise::kSymmetric) json["sigma_off_diagonal"] = off_diagonal_sigma(block.sigma);
  return json;
}

// Blocks of one round, which were shown, or charged and lost with their process.
void add_blocks(nlohmann::json& releases, const PlannedRelease& release, const std::string& label, bool is_shown) {
  for (const PlannedBlock& block : release.blocks) {
    releases.push_back(block_json(block, label, release.sampling_rate));
    if (!is_shown) releases.back()["shown"] = false;
  }
}

nlohmann::json selection_json(const PlannedSelection& selection, bool is_shown) {
  nlohmann::json json{{"name", selection.name},
                      {"mechanism", to_string(selection.terms.mechanism)},
                      {"sensitivity", selection.terms.sensitivity},
                      {"epsilon", selection.terms.epsilon},
                      {"mu", selection_mu(selection.terms.epsilon)},
                      {"candidates", selection.terms.candidates},
                      {"chosen", selection.terms.chosen},
                      {"groups", selection.terms.groups}};
  if (!is_shown) json["shown"] = false;
  return json;
}

}  // namespace

nlohmann::json privacy_json(const FitPlan& plan, const FitOptions& options) {
  nlohmann::json json{{"epsilon", nullptr}, {"delta", nullptr}, {"mu", nullptr}, {"rho", nullptr}};
  json["unit"] = to_string(options.data.unit());
  if (const std::optional<PersonStatement> person = person_of(options)) put_person(json, *person);
  if (options.data.weight_bound) json["weight_bound"] = *options.data.weight_bound;
  json["adjacency"] = to_string(options.privacy.adjacency);
  json["accountant"] = to_string(options.privacy.budget.accountant);
  if (!plan.forfeits.empty()) json["forfeited_by"] = forfeits_json<nlohmann::json>(plan.forfeits);
  json["releases"] = nlohmann::json::array();
  json["selections"] = nlohmann::json::array();
  if (!plan.noise) return json;
  json.update(to_json(*plan.guarantee));
  const BudgetOptions& budget = options.privacy.budget;
  if (plan.guarantee->is_pure() && budget.epsilon && budget.delta) {
    json["note"] = fmt::format("--delta {:g} is not used: the mechanism is pure, so delta is 0", *budget.delta);
  }
  if (const std::string weakness = weakness_of(plan, options.data.unit()); !weakness.empty())
    json["warning"] = weakness;
  for (const PlannedRelease& release : plan.noise->releases) {
    for (std::uint64_t round = 1; round <= release.rounds; ++round) {
      add_blocks(json["releases"], release, label_of_round(release, round), true);
    }
  }
  for (const PlannedSelection& selection : plan.noise->selections) {
    json["selections"].push_back(selection_json(selection, true));
  }
  for (const std::string& label : plan.lost) {
    const std::string name = label.substr(0, label.find('/'));
    const auto selection = std::ranges::find(plan.noise->selections, name, &PlannedSelection::name);
    if (selection != plan.noise->selections.end()) {
      json["selections"].push_back(selection_json(*selection, false));
    } else {
      add_blocks(json["releases"], plan.noise->release(name), label, false);
    }
  }
  return json;
}

std::string weakness_of(const FitPlan& plan, PrivacyUnit unit) {
  if (!plan.guarantee || !plan.is_private) return {};
  return weakness_of(plan.guarantee->epsilon, plan.guarantee->delta, unit);
}

double rounded_up(double value) {
  if (value == 0.0) return 0.0;
  const double unit = std::pow(10.0, std::floor(std::log10(value)) - 1.0);
  return std::ceil(value / unit * (1.0 - 1e-12)) * unit;
}

std::string note_on_columns(const FitOptions& options, const FitPlan& plan) {
  if (options.rows.finds_ranges == FindRanges::kWhereColumnsDiffer) {
    return fmt::format(
        "the sizes of {} columns are estimated privately first: if they differ, each column is scaled by its range, "
        "and rows are clipped",
        plan.preprocessing.input_dim);
  }
  // Columns with names are those of a table, which may have many.
  const bool is_table = plan.preprocessing.input_dim <= kMostRawColumns || !options.data.train.feature_names.empty();
  const MethodEntry& method = method_entry(options.method);
  if (!is_table || !options.rows.leaves_columns_open() || !method.trains) return {};
  if (method.refuses_option("--feature-range private")) return {};
  return fmt::format(
      "rows of {} features are scaled to one length without scaling columns: if columns have different units (years, "
      "euros), the largest dominates; --feature-range private finds their ranges, none declares that they have one "
      "unit",
      plan.preprocessing.input_dim);
}

nlohmann::json expected_error_json(const FitPlan& plan) {
  nlohmann::json errors = nlohmann::json::array();
  if (!plan.noise) return errors;
  if (!plan.requests.empty() && plan.requests.back().name == kClassMeans) {
    const PlannedBlock& sums = plan.noise->release(kClassMeans).block("class_sums");
    const Lattice lattice{plan.preprocessing.clip_norm, plan.dim};
    const double length = sums.sigma / (lattice.scale() * lattice.clip_norm) * std::sqrt(static_cast<double>(plan.dim));
    for (const double rows : kReportedClassSizes)
      errors.push_back({{"rows_per_class", rows}, {"error", length / rows}});
  }
  for (const PlannedRelease& release : plan.noise->releases) {
    if (release.name == kClassMeans) continue;
    for (const PlannedBlock& block : release.blocks) {
      // A row's sensitivity, and not a unit's, which moves a block B times as far.
      const double of_a_row = std::sqrt(static_cast<double>(block.squared_sensitivity));
      const double length = noise_norm(block, block.sigma) / of_a_row;
      for (const double rows : kReportedRowCounts) {
        errors.push_back({{"release", release.name}, {"name", block.name}, {"rows", rows}, {"error", length / rows}});
      }
    }
  }
  return errors;
}

namespace {

// Consequences of --expected-rows for the run: which way it will go, and what a count of right rows would be worth.
nlohmann::json expected_rows_json(const FitOptions& options, const FitPlan& plan) {
  const double rows = *options.method.expected_rows;
  nlohmann::json json{{"rows", rows}, {"method", options.method.name}};
  if (plan.noise && plan.noise->mu > 0.0) {
    json["accuracy_noise"] = static_cast<double>(options.data.bounded_rows()) / (plan.noise->mu * rows);
  }
  if (const auto forecast = forecast_of_means(options, plan, rows)) {
    json["signal"] = forecast->signal;
    json["class_means"] = {{"rows_spread_evenly", forecast->even_rows}, {"rows_do_not", forecast->uneven_rows}};
  }
  return json;
}

// From about how many rows on the range of a target is seen: then a run of bins that has .6 of them, as four bins have
// of numbers that vary as normal ones do, is ten times its noise.
std::optional<double> rows_of_seen_targets(const FitPlan& plan) {
  constexpr double kRowsInSigmas = 17.0;
  if (!plan.noise || !plan.has_request("target_spreads")) return std::nullopt;
  return std::ceil(kRowsInSigmas * plan.noise->release("target_spreads").block("sizes").sigma);
}

constexpr const char* kNoteOnCost = "depends on the number of rows: for the data's owner only, not for release";

nlohmann::json cost_json(const RunEstimate& cost) {
  const double wire_bytes = cost.ranks > 1 ? 8.0 * cost.words : 0.0;
  nlohmann::json json{{"for_release", false},
                      {"note", kNoteOnCost},
                      {"ranks", cost.ranks},
                      {"threads", cost.threads},
                      {"memory_bytes_per_rank", rounded_up(static_cast<double>(cost.memory_bytes))},
                      {"memory_bytes_available", nullptr},
                      {"wire_bytes_per_rank", wire_bytes},
                      {"wire_bytes", wire_bytes * (cost.ranks - 1)}};
  if (cost.available_bytes) json["memory_bytes_available"] = *cost.available_bytes;
  return json;
}

}  // namespace

nlohmann::json dry_run_json(const FitOptions& options, const FitPlan& plan, const std::optional<RunEstimate>& cost) {
  nlohmann::json json{{"dry_run", true},
                      {"method", options.method.name},
                      {"private", plan.is_private},
                      {"privacy", privacy_json(plan, options)},
                      {"expected_error", expected_error_json(plan)},
                      {"memory_bytes_per_rank", plan.memory_bytes},
                      {"version", version()}};
  if (cost) json["cost"] = cost_json(*cost);
  if (!options.method.asked.empty()) json["adaptive"] = adaptive_json(options.method);
  if (const std::string note = note_on_columns(options, plan); !note.empty()) json["columns"] = note;
  if (const auto rows = rows_of_seen_targets(plan)) json["targets_seen_from"] = *rows;
  if (options.method.expected_rows) json["expected_rows"] = expected_rows_json(options, plan);
  return json;
}

}  // namespace dpreduce
