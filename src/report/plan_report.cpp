#include "report/plan_report.hpp"

#include <cmath>

#include <fmt/core.h>

#include "common/base/version.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "common/model/released_file.hpp"
#include "methods/gradient_rounds.hpp"
#include "methods/registry.hpp"
#include "report/explanation.hpp"
#include "report/fit_report.hpp"
#include "report/reported_run.hpp"

namespace dpreduce {
namespace {

constexpr double kReportedClassSizes[] = {10, 100, 1000, 10000};
constexpr double kReportedRowCounts[] = {1000, 10000, 100000};

constexpr std::string_view kClassMeans = "class_means";

// Adds the blocks of one round, which were shown, or charged and lost with their process.
void add_blocks(std::vector<ReportedBlock>& blocks, const PlannedRelease& release, const std::string& label,
                bool is_shown) {
  for (const PlannedBlock& block : release.blocks) {
    blocks.push_back({{block.name, block.elements, block.sensitivity, block.sigma},
                      label,
                      release.sampling_rate,
                      block.noise == BlockNoise::kSymmetric,
                      block.mu,
                      std::nullopt,
                      std::nullopt,
                      is_shown});
  }
}

void add_figures(std::vector<ReportedBlock>& blocks, const std::vector<BlockFigures>& figures) {
  std::map<std::pair<std::string, std::string>, const BlockFigures*> by_block;
  for (const BlockFigures& own : figures) by_block[{own.release, own.block}] = &own;
  for (ReportedBlock& block : blocks) {
    const auto own = by_block.find({block.release, block.name});
    if (own == by_block.end() || !block.is_shown) continue;
    block.norm = own->second->norm;
    block.noise_norm = own->second->noise_norm;
  }
}

// Releases and selections of the plan, those that earlier processes lost at the end.
void put_releases(nlohmann::json& privacy, const FitPlan& plan, const std::vector<BlockFigures>& figures) {
  std::vector<ReportedBlock> blocks;
  std::vector<ReportedSelection> selections;
  const NoisePlan noise = plan.noise.value_or(NoisePlan{});
  for (const PlannedRelease& release : noise.releases) {
    for (std::uint64_t round = 1; round <= release.rounds; ++round) {
      add_blocks(blocks, release, label_of_round(release, round), true);
    }
  }
  for (const PlannedSelection& selection : noise.selections) selections.push_back({selection, true});
  for (const std::string& label : plan.lost) {
    const std::string name = label.substr(0, label.find('/'));
    const auto selection = std::ranges::find(noise.selections, name, &PlannedSelection::name);
    if (selection != noise.selections.end()) {
      selections.push_back({*selection, false});
    } else {
      add_blocks(blocks, noise.release(name), label, false);
    }
  }
  add_figures(blocks, figures);
  JsonMembers members(privacy);
  members.list("releases", blocks);
  members.list("selections", selections);
}

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

// From about so many rows in sigmas on the range of a target is seen: then a run of bins that has .6 of them, as four
// bins have of numbers that vary as normal ones do, is ten times its noise.
constexpr double kRowsInSigmas = 17.0;

}  // namespace

nlohmann::json privacy_json(const FitPlan& plan, const FitOptions& options, const std::vector<BlockFigures>& figures) {
  PrivacyStatement statement;
  statement.adjacency = options.privacy.adjacency;
  statement.person = person_of(options);
  nlohmann::json json = json_of(statement);
  json["unit"] = to_string(options.data.unit());
  if (options.data.weight_bound) json["weight_bound"] = *options.data.weight_bound;
  json["accountant"] = to_string(options.privacy.budget.accountant);
  if (!plan.forfeits.empty()) json["forfeited_by"] = forfeits_json<nlohmann::json>(plan.forfeits);
  put_releases(json, plan, figures);
  if (!plan.noise) return json;
  json.update(to_json(*plan.guarantee));
  const BudgetOptions& budget = options.privacy.budget;
  if (plan.guarantee->is_pure() && budget.epsilon && budget.delta) {
    json["note"] = fmt::format("--delta {:g} is not used: the mechanism is pure, so delta is 0", *budget.delta);
  }
  if (const std::string weakness = weakness_of(plan, options.data.unit()); !weakness.empty())
    json["warning"] = weakness;
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

nlohmann::json cost_json(int ranks, unsigned threads, std::uint64_t memory_bytes,
                         std::optional<std::uint64_t> available_bytes, double words) {
  const double wire_bytes = ranks > 1 ? 8.0 * words : 0.0;
  return {{"for_release", false},
          {"note", "depends on the number of rows: for the data's owner only, not for release"},
          {"ranks", ranks},
          {"threads", threads},
          {"memory_bytes_per_rank", rounded_up(static_cast<double>(memory_bytes))},
          {"memory_bytes_available", available_bytes ? nlohmann::json(*available_bytes) : nlohmann::json()},
          {"wire_bytes_per_rank", wire_bytes},
          {"wire_bytes", wire_bytes * (ranks - 1)}};
}

nlohmann::json dry_run_json(const FitOptions& options, const FitPlan& plan) {
  nlohmann::json json{{"dry_run", true},
                      {"method", options.method.name},
                      {"private", plan.is_private},
                      {"privacy", privacy_json(plan, options)},
                      {"expected_error", expected_error_json(plan)},
                      {"memory_bytes_per_rank", plan.memory_bytes},
                      {"version", version()}};
  if (!options.method.asked.empty()) json["adaptive"] = adaptive_json(options.method);
  if (const std::string note = note_on_columns(options, plan); !note.empty()) json["columns"] = note;
  if (plan.noise && plan.has_request("target_spreads")) {
    json["targets_seen_from"] = std::ceil(kRowsInSigmas * plan.noise->release("target_spreads").block("sizes").sigma);
  }
  if (options.method.expected_rows) json["expected_rows"] = expected_rows_json(options, plan);
  return json;
}

}  // namespace dpreduce
