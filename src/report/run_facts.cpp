#include "report/run_facts.hpp"

#include <set>

#include <fmt/format.h>

#include "common/base/json_text.hpp"
#include "report/document_sections.hpp"
#include "report/fit_report.hpp"

namespace dpreduce {
namespace {

void add_line(Facts& facts, const char* name, const Facts& line) {
  if (!line.empty()) facts.push_back({name, line_of(line)});
}

// Releases and selections that were charged and lost with their process.
std::size_t lost_releases(const JsonFields& privacy) {
  std::set<std::string> lost;
  for (const auto& [list, name] : {std::pair{"releases", "release"}, {"selections", "name"}}) {
    for (const JsonFields& one : privacy.objects(list)) {
      if (one.has("shown")) lost.insert(one.text(name));
    }
  }
  return lost.size();
}

// Method, promise, and notes on them.
Facts opening_facts(const JsonFields& report) {
  const JsonFields privacy = report.object("privacy");
  Facts facts;
  if (report.has("adaptive") || report.has("dry_run")) {
    facts.push_back({"method", method_text_of(report.object("adaptive").text("method"), report.text("method"))});
  }
  const Facts promise = promise_facts(privacy);
  std::string line = promise.empty() ? "none: this run is NOT private" : line_of(promise);
  const Forfeits forfeits = privacy.choices<Forfeit>("forfeited_by");
  if (!forfeits.empty()) line += fmt::format("; {}, so NOT private", words_of(forfeits));
  facts.push_back({"privacy", line});
  add_line(facts, "",
           facts_of(privacy.object("bounded_range"), {cost_in("epsilon", "or epsilon"), cost_in("delta", "at delta")}));
  if (privacy.has("note")) facts.push_back({"", privacy.text("note")});
  if (const std::size_t lost = lost_releases(privacy); lost > 0) {
    facts.push_back(
        {"",
         fmt::format("releases of earlier runs that were charged but not shown, included in the guarantee: {}", lost)});
  }
  if (report.has("columns")) facts.push_back({"columns", report.text("columns")});
  if (report.has("clip_chosen")) {
    facts.push_back({"rows", fmt::format("clipped to length {:.3g}, by a noised histogram of their lengths",
                                         report.number("clip_norm").get<double>())});
  }
  if (const std::string rare = rare_classes_text(report); !rare.empty()) facts.push_back({"classes", rare});
  if (report.has("targets_seen_from")) {
    facts.push_back(
        {"targets", fmt::format("their range is found with about {:.0f} rows or more; with fewer give --target-range",
                                report.number("targets_seen_from").get<double>())});
  }
  if (report.has("hidden_targets")) {
    facts.push_back({"targets", fmt::format("noise hides the range of {} of {}: the model has a constant for them; "
                                            "--target-range, more rows or a larger budget help",
                                            report.json()["hidden_targets"].size(), report.count("targets"))});
  }
  return facts;
}

// Adds the spending of all runs, and the heads of the ledger now and before the run. Whoever keeps heads elsewhere sees
// by the second head when an older copy of the ledger has taken its place.
void add_ledger(Facts& facts, const FittedRun& run) {
  if (!run.fit->plan().guarantee) return;
  facts.push_back({"ledger", fmt::format("{}: {}", run.fit->options().privacy.ledger, ledger_balance(run))});
  facts.push_back({"", fmt::format("{}; before the run {}", text_of(run.releaser->run().ledger().head()),
                                   text_of(run.releaser->run().ledger_before()))});
}

void add_test(Facts& facts, const JsonFields& report) {
  add_line(facts, "test", exact_figures(report.object("test")));
  if (const std::string uncalled = uncalled_classes_text(report); !uncalled.empty()) facts.push_back({"", uncalled});
  if (const std::optional<ReportedMetrics> told = reported_metrics(report)) {
    for (const Fact& fact : facts_of(*told)) facts.push_back({"test", fact.name + " " + fact.value.text});
    facts.push_back({"", interval_sentence(*told)});
  } else if (report.has("test")) {
    facts.push_back({"", report.object("test").text("note")});
  }
  const JsonFields metrics = report.object("metrics");
  add_line(
      facts, "",
      facts_of(metrics.object("difference"),
               {{"b_is_better", compared_models(report).back() + " is better with probability", Written::kScore}}));
  if (metrics.has("confusion") || metrics.has("calibration") || metrics.has("roc")) {
    facts.push_back({"tables", "in the JSON report"});
  }
}

}  // namespace

Facts promise_facts(const JsonFields& privacy) {
  if (!privacy.has("epsilon") && !privacy.has("mu") && !privacy.has("rho")) return {};
  return facts_of(privacy, {cost_in("epsilon"), cost_in("delta"), cost_in("mu"), cost_in("rho"), text_in("accountant"),
                            text_in("adjacency", "neighbors"), text_in("unit"), figure_in("rows_per_person"),
                            figure_in("silos_per_person"), figure_in("weight_bound")});
}

Table releases_table(std::string caption, const std::vector<ReportedBlock>& blocks) {
  Table table{.caption = std::move(caption),
              .columns = {"block", "release", "times", "coordinates", "noise multiplier", "sampling rate", "mu"}};
  for (const std::vector<ReportedBlock>& rounds : rounds_of(blocks)) {
    const ReportedBlock& block = rounds.front();
    table.add({block.name + (block.is_symmetric ? " (off the diagonal sqrt(1/2) of its noise)" : ""),
               rounds.size() == 1 ? block.release : block.release + " to " + rounds.back().release,
               figure(rounds.size()), figure(block.elements), at_least(block.sigma / block.sensitivity),
               figure(block.sampling_rate), at_most(block.sensitivity / block.sigma)});
  }
  return table;
}

Table selections_table(const JsonFields& privacy) {
  return table_of("Private selections: settings by rows that they get right, public rows by summed cosines",
                  privacy.objects("selections"),
                  {text_in("name", "selection"), text_in("mechanism"), cost_in("epsilon"), cost_in("mu"),
                   figure_in("candidates"), figure_in("chosen", "chosen of each group"), figure_in("groups")});
}

std::string run_text(const FittedRun& run, const nlohmann::json& json) {
  const JsonFields report(json, "report");
  const FitOptions& options = run.fit->options();
  Facts facts = opening_facts(report);
  add_ledger(facts, run);
  add_line(facts, "choice", facts_of(report.object("choice"), {text_in("setting"), text_in("by")}));
  add_line(facts, "imbalance",
           facts_of(report.object("imbalance"), {figure_in("ratio"), figure_in("seed"), text_in("note")}));
  const std::string made = report.text("model");
  for (const auto& [name, file] : {std::pair{options.statistics.empty() ? "model" : "statistics", &made},
                                   {"report", &options.output.report},
                                   {"page", &options.output.html}}) {
    if (!file->empty()) facts.push_back({name, *file});
  }
  add_test(facts, report);
  std::vector<std::string> phases;
  for (const auto& [phase, seconds] : run.timings.phases()) phases.push_back(fmt::format("{} {:.2f}", phase, seconds));
  facts.push_back({"seconds", fmt::format("{}", fmt::join(phases, ", "))});
  return text_of(facts) + text_of(coefficients_section(report));
}

std::string dry_run_text(const nlohmann::json& plan) {
  const JsonFields report(plan, "plan");
  const JsonFields privacy = report.object("privacy");
  const bool is_replaced = privacy.text("adjacency") == to_string(Adjacency::kReplaceOne);
  const bool is_weighed = privacy.has("rows_per_person") || privacy.has("weight_bound");
  Facts rest;
  const JsonFields expected = report.object("expected_rows");
  add_line(rest, "rows",
           facts_of(expected, {figure_in("rows"), text_in("method"), figure_in("signal", "signal over noise")}));
  add_line(rest, "",
           facts_of(expected, {{"accuracy_noise", "noise of an accuracy over as many rows for the same budget",
                                Written::kScore}}));
  add_line(
      rest, "",
      facts_of(expected.object("class_means"),
               {{"rows_spread_evenly", "share of runs that use class means, if rows spread evenly", Written::kScore},
                {"rows_do_not", "if they do not", Written::kScore}}));
  add_line(rest, "cost",
           facts_of(report.object("cost"), {{"ranks"},
                                            {"threads"},
                                            {"memory_bytes_per_rank", "memory a rank", Written::kBytes},
                                            {"memory_bytes_available", "available", Written::kBytes},
                                            {"wire_bytes_per_rank", "wire a rank", Written::kBytes},
                                            {"wire_bytes", "wire in all", Written::kBytes},
                                            {"note", "which", Written::kText}}));
  return text_of(opening_facts(report)) +
         text_of(releases_table("noise      in units of the sensitivity of each block",
                                reported_run(plan, "plan").blocks)) +
         text_of(selections_table(privacy)) +
         text_of(
             table_of(fmt::format("expected   error of a mean over this many rows, in units of the largest change "
                                  "by one row{}{}; of a class mean, in clip norms",
                                  is_replaced ? " replaced by another" : "", is_weighed ? ", counted in full," : ""),
                      report.objects("expected_error"),
                      {figure_in("error"), figure_in("rows"), figure_in("rows_per_class"), text_in("release"),
                       text_in("name", "block")})) +
         text_of(rest);
}

void put_figure(nlohmann::json& result, const char* figure, const std::optional<double>& value,
                const std::string& why_not) {
  result[figure] = or_null(value);
  if (!value) result["not_computed"][figure] = why_not;
}

Facts accounted_facts(const nlohmann::json& result) {
  const std::vector<Column> figures{
      {"epsilon_gdp", "epsilon_gdp", Written::kAtMost, "exact for Gaussian noise"},
      {"epsilon_pld", "epsilon_pld", Written::kAtMost, "privacy loss distribution: upper end of its grid"},
      {"epsilon_pld_lower", "epsilon_pld_lower", Written::kAtLeast, "and lower end"},
      {"epsilon_rdp", "epsilon_rdp", Written::kAtMost, "Renyi DP, best order"},
      {"epsilon_zcdp_tight", "epsilon_zcdp_tight", Written::kAtMost, "zCDP, best order"},
      {"epsilon_zcdp_simple", "epsilon_zcdp_simple", Written::kAtMost, "zCDP, rho + 2 sqrt(rho ln(1/delta))"},
      {"mu", "", Written::kAtMost, "Gaussian DP"},
      {"rho", "", Written::kAtMost, "zero-concentrated DP"},
      {"sigma", "", Written::kAtLeast, "one Gaussian release of the same mu"}};
  const JsonFields fields(result, "result");
  const JsonFields reasons = fields.object("not_computed");
  Facts facts = facts_of(fields, {cost_in("delta")});
  for (const Column& figure : figures) {
    Facts own = facts_of(fields, {figure});
    facts.push_back(own.empty() ? Fact{figure.member, "none: " + reasons.text(figure.member)} : std::move(own.front()));
  }
  facts.push_back({"why", fields.text("why")});
  return facts;
}

}  // namespace dpreduce
