#include "report/plan_report.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "common/accounting/selection_charge.hpp"
#include "common/base/json_text.hpp"
#include "common/base/number_text.hpp"
#include "common/base/standard_output.hpp"
#include "common/base/version.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "fit/release_figures.hpp"
#include "methods/means_by_rounds.hpp"
#include "methods/registry.hpp"
#include "methods/training_method.hpp"
#include "report/explanation.hpp"
#include "report/fit_report.hpp"
#include "report/reported_run.hpp"

namespace dpreduce {
namespace {

constexpr double kClassSizesToTell[] = {10, 100, 1000, 10000};
constexpr double kRowsToTell[] = {1000, 10000, 100000};

constexpr std::string_view kClassMeans = "class_means";

bool has_class_means(const FitPlan& plan) {
  return !plan.requests.empty() && plan.requests.back().name == kClassMeans;
}

// sigma of the class sums in feature units, over the clip norm: how many rows of norm C one coordinate's noise is.
double noise_in_rows(const FitPlan& plan) {
  const PlannedBlock& sums = plan.noise->release(kClassMeans).block("class_sums");
  const Lattice lattice{plan.preprocessing.clip_norm, plan.dim};
  return sums.sigma / (lattice.scale() * lattice.clip_norm);
}

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
  if (options.data.has_units()) json["rows_per_person"] = options.data.bounded_rows();
  if (options.data.weight_bound) json["weight_bound"] = *options.data.weight_bound;
  if (options.silos.silos_per_person) json["silos_per_person"] = *options.silos.silos_per_person;
  json["adjacency"] = to_string(options.privacy.adjacency);
  json["accountant"] = to_string(options.privacy.budget.accountant);
  if (!plan.forfeits.empty()) json["forfeited_by"] = forfeits_json<nlohmann::json>(plan.forfeits);
  json["releases"] = nlohmann::json::array();
  json["selections"] = nlohmann::json::array();
  if (!plan.noise) return json;
  json.update(to_json(*plan.guarantee));
  if (const std::string note = delta_note(options, plan); !note.empty()) json["note"] = note;
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

std::string guarantee_text(const Guarantee& guarantee, const BudgetOptions& budget) {
  if (guarantee.is_pure()) {
    return fmt::format("epsilon {}, pure (delta 0); mu {}, rho {}; epsilon {} at delta {}",
                       upper_figure(guarantee.epsilon), upper_figure(*guarantee.mu), upper_figure(*guarantee.rho),
                       upper_figure(guarantee.bounded_range->epsilon), upper_figure(guarantee.bounded_range->delta));
  }
  const std::string figures =
      guarantee.mu ? fmt::format("mu {}, rho {}", upper_figure(*guarantee.mu), upper_figure(*guarantee.rho))
                   : fmt::format("by {}", to_string(budget.accountant));
  return fmt::format("epsilon {} at delta {} ({})", upper_figure(guarantee.epsilon), upper_figure(guarantee.delta),
                     figures);
}

void print_unit(const FitOptions& options) {
  const DataOptions& data = options.data;
  if (data.weight_bound)
    fmt::print("weights    as stated; a row of weight {:g} counts for a whole row\n", *data.weight_bound);
  if (!data.has_units()) return;
  std::string silos;
  if (const auto most = options.silos.silos_per_person) {
    silos = fmt::format(", in at most {} silo{}", *most, *most == 1 ? "" : "s");
  }
  fmt::print("unit       one person with any number of rows{}, which {}\n", silos,
             unit_bound_text(data.bounded_rows()));
}

std::string delta_note(const FitOptions& options, const FitPlan& plan) {
  if (!plan.guarantee || !plan.guarantee->is_pure() || !options.privacy.budget.epsilon || !options.privacy.budget.delta)
    return {};
  return fmt::format("--delta {:g} is not spent: the mechanism is pure, and delta stays 0",
                     *options.privacy.budget.delta);
}

std::string note_on_columns(const FitOptions& options, const FitPlan& plan) {
  if (options.rows.finds_ranges == FindRanges::kWhereColumnsDiffer) {
    return fmt::format(
        "the sizes of {} columns are asked of the rows first: where they differ, each is scaled by its range, "
        "and rows are clipped",
        plan.preprocessing.input_dim);
  }
  const bool is_few = plan.preprocessing.input_dim <= kMostRawColumns;
  const MethodEntry& method = method_entry(options.method);
  if (!is_few || !options.rows.leaves_columns_open() || !method.trains) return {};
  if (method.refuses_option("--feature-range private")) return {};
  return fmt::format(
      "rows of {} features are scaled to one length as they are: of columns in units of their own (years, euros) the "
      "largest rules; --feature-range private finds their ranges, none says that they have one unit",
      plan.preprocessing.input_dim);
}

nlohmann::json expected_error_json(const FitPlan& plan) {
  nlohmann::json errors = nlohmann::json::array();
  if (!plan.noise) return errors;
  if (has_class_means(plan)) {
    const double length = noise_in_rows(plan) * std::sqrt(static_cast<double>(plan.dim));
    for (const double rows : kClassSizesToTell) errors.push_back({{"rows_per_class", rows}, {"error", length / rows}});
  }
  for (const PlannedRelease& release : plan.noise->releases) {
    if (release.name == kClassMeans) continue;
    for (const PlannedBlock& block : release.blocks) {
      // A row's sensitivity, and not a unit's, which moves a block B times as far.
      const double of_a_row = std::sqrt(static_cast<double>(block.squared_sensitivity));
      const double length = noise_norm(block, block.sigma) / of_a_row;
      for (const double rows : kRowsToTell) {
        errors.push_back({{"release", release.name}, {"name", block.name}, {"rows", rows}, {"error", length / rows}});
      }
    }
  }
  return errors;
}

namespace {

// The most that this changes is the unit of expected errors.
std::string changed_row(const FitOptions& options) {
  const bool is_exchanged = options.privacy.adjacency == Adjacency::kReplaceOne;
  return fmt::format("one row{}{}", is_exchanged ? " that is exchanged for another" : "",
                     options.data.weighs_rows() ? ", counted in full," : "");
}

void print_expected_errors(const FitPlan& plan, const std::string& row_changed) {
  if (has_class_means(plan)) {
    fmt::print("expected   a coordinate of a class sum is off by {:.3g} rows of norm C\n", noise_in_rows(plan));
  }
  std::string last;  // block
  for (const auto& row : expected_error_json(plan)) {
    if (row.contains("rows_per_class")) {
      fmt::print("           a class of {:>6} rows: its mean is off by {:.3g} C\n", row["rows_per_class"].get<double>(),
                 row["error"].get<double>());
      continue;
    }
    const std::string block = row["release"].get<std::string>() + " " + row["name"].get<std::string>();
    if (block != last) {
      fmt::print("expected   {}: a mean over {:.0f} rows is off by {:.3g} of what {} changes at most",
                 row["name"].get<std::string>(), row["rows"].get<double>(), row["error"].get<double>(), row_changed);
    } else {
      fmt::print(", over {:.0f} by {:.3g}{}", row["rows"].get<double>(), row["error"].get<double>(),
                 row["rows"] == *std::rbegin(kRowsToTell) ? "\n" : "");
    }
    last = block;
  }
}

// What --expected-rows says of the run: which way it will go, and what a count of right rows would be worth.
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

void print_expected_rows(const nlohmann::json& expected) {
  fmt::print("rows       of about {:g}: method {}", expected["rows"].get<double>(),
             expected["method"].get<std::string>());
  if (expected.contains("class_means")) {
    const nlohmann::json& means = expected["class_means"];
    fmt::print(
        ", by class means in {:.0f} % of runs where rows spread evenly over directions, in {:.0f} % where they do "
        "not; signal over noise {:.2g}",
        100 * means["rows_spread_evenly"].get<double>(), 100 * means["rows_do_not"].get<double>(),
        expected["signal"].get<double>());
  }
  fmt::print("\n");
  if (expected.contains("accuracy_noise")) {
    fmt::print(
        "           an accuracy over as many rows, released for the same budget, would have noise of {:.2g} points\n",
        100 * expected["accuracy_noise"].get<double>());
  }
}

void print_plan(const FitOptions& options, const FitPlan& plan) {
  fmt::print("dry run: no row is read, nothing is spent\n");
  fmt::print("method     {}\n", method_text_of(options.method.asked, options.method.name));
  if (const std::string note = note_on_columns(options, plan); !note.empty()) fmt::print("columns    {}\n", note);
  if (!plan.noise) {
    fmt::print("noise      none: NOT private\n");
    return;
  }
  const Guarantee& g = *plan.guarantee;
  fmt::print("budget     {}, {}\n", guarantee_text(g, options.privacy.budget), to_string(options.privacy.adjacency));
  print_unit(options);
  if (const std::string note = delta_note(options, plan); !note.empty()) fmt::print("           {}\n", note);
  for (const PlannedRelease& release : plan.noise->releases) {
    for (const PlannedBlock& block : release.blocks) {
      fmt::print(
          "noise      {:<14} {:>10} coordinates, {}, mu {}{}{}{}\n", block.name, block.elements,
          noise_text(block.sigma, block.sensitivity), upper_figure(block.mu),
          release.is_sampled() ? fmt::format(" of a row that is drawn (probability {:g})", release.sampling_rate) : "",
          release.rounds > 1 ? fmt::format(", {} times", release.rounds) : "",
          block.noise == BlockNoise::kSymmetric ? " (sqrt(1/2) of that off the diagonal)" : "");
    }
  }
  for (const PlannedSelection& selection : plan.noise->selections) {
    const SelectionTerms& terms = selection.terms;
    fmt::print("selection  {:<14} {}of {} candidates by {}, epsilon {}, mu {}\n", selection.name,
               terms.groups > 1 ? fmt::format("{} a class ", terms.chosen) : "", terms.candidates,
               plan.public_selection ? "summed cosines" : "correct rows", upper_figure(terms.epsilon),
               upper_figure(selection_mu(terms.epsilon)));
  }
  print_expected_errors(plan, changed_row(options));
  if (options.method.expected_rows) print_expected_rows(expected_rows_json(options, plan));
}

constexpr const char* kNoteOnCost = "depends on the number of rows: for the data's owner alone, not for release";
constexpr double kMib = 1 << 20;

double wire_bytes_of_rank(const RunEstimate& cost) {
  return cost.ranks > 1 ? 8.0 * cost.words : 0.0;
}

nlohmann::json cost_json(const RunEstimate& cost) {
  const double wire_bytes = wire_bytes_of_rank(cost);
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

void print_cost(const RunEstimate& cost) {
  const double wire_bytes = wire_bytes_of_rank(cost);
  fmt::print("cost       {}\n", kNoteOnCost);
  fmt::print("cost       memory {:.0f} MiB a rank{}\n", rounded_up(static_cast<double>(cost.memory_bytes) / kMib),
             cost.available_bytes
                 ? fmt::format(", of {:.0f} MiB on this machine", static_cast<double>(*cost.available_bytes) / kMib)
                 : "");
  fmt::print("cost       wire {:.3g} MB a rank, {:.3g} MB in all\n", wire_bytes / 1e6,
             wire_bytes * (cost.ranks - 1) / 1e6);
  fmt::print("cost       on {} {} of {} {}\n", cost.ranks, cost.ranks == 1 ? "rank" : "ranks", cost.threads,
             cost.threads == 1 ? "thread" : "threads");
}

}  // namespace

void print_dry_run(const FitOptions& options, const FitPlan& plan, const RunEstimate& cost) {
  if (options.output.format == OutputFormat::kJson) {
    nlohmann::json json{{"dry_run", true},
                        {"method", options.method.name},
                        {"private", plan.is_private},
                        {"privacy", privacy_json(plan, options)},
                        {"expected_error", expected_error_json(plan)},
                        {"memory_bytes_per_rank", plan.memory_bytes},
                        {"cost", cost_json(cost)},
                        {"version", version()}};
    if (!options.method.asked.empty()) json["adaptive"] = adaptive_json(options.method);
    if (const std::string note = note_on_columns(options, plan); !note.empty()) json["columns"] = note;
    if (options.method.expected_rows) json["expected_rows"] = expected_rows_json(options, plan);
    fmt::print("{}\n", json_text(json, 2));
    return;
  }
  print_plan(options, plan);
  print_cost(cost);
}

}  // namespace dpreduce
