// How a run went: its time by phase and rank, and what it was asked to do.
#include <algorithm>

#include <fmt/format.h>

#include "common/page/html.hpp"
#include "common/page/sections.hpp"

namespace dpreduce {
namespace {

// Of one rank, {phase: seconds}; of several, a list of those.
std::vector<DocumentFields> timings_of(const DocumentFields& report) {
  std::vector<DocumentFields> ranks = report.objects("rank_timings");
  if (ranks.empty() && report.has("timings")) ranks.push_back(report.object("timings"));
  return ranks;
}

// As the command line and the documents order them: the longest first.
std::vector<std::string> phases_of(const std::vector<DocumentFields>& ranks) {
  std::vector<std::pair<double, std::string>> phases;
  for (const DocumentFields& rank : ranks) {
    for (const auto& item : rank.json().items()) {
      const std::string& phase = item.key();
      const nlohmann::json& seconds = rank.number(phase);
      const double value = seconds.is_number() ? seconds.get<double>() : 0.0;
      const auto known =
          std::find_if(phases.begin(), phases.end(), [&](const auto& one) { return one.second == phase; });
      if (known == phases.end()) {
        phases.emplace_back(value, phase);
      } else {
        known->first = std::max(known->first, value);
      }
    }
  }
  std::stable_sort(phases.begin(), phases.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> names;
  for (auto& [seconds, phase] : phases) names.push_back(std::move(phase));
  return names;
}

// "a.b": the value, for all that is one value and not in a section of its own.
void add_values(Table& table, const nlohmann::json& object, const std::string& place) {
  for (const auto& [member, value] : object.items()) {
    const std::string path = place + member;
    if (value.is_string()) {
      table.add({name(path), name(value.get<std::string>())});
    } else if (value.is_boolean()) {
      table.add({name(path), value.get<bool>() ? "yes" : "no"});
    } else if (value.is_number()) {
      table.add({name(path), figure(value)});
    } else if (value.is_object()) {
      add_values(table, value, path + ".");
    }
  }
}

}  // namespace

void add_times(std::vector<Section>& sections, const DocumentFields& report) {
  const std::vector<DocumentFields> ranks = timings_of(report);
  const std::vector<std::string> phases = phases_of(ranks);
  if (phases.empty()) return;
  std::vector<std::string> columns{"phase"};
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) columns.push_back(fmt::format("rank {}, seconds", rank));
  Table values("Seconds of each phase", columns);
  nlohmann::json bars = nlohmann::json::array();
  for (const std::string& phase : phases) {
    std::vector<std::string> cells{name(phase)};
    nlohmann::json seconds = nlohmann::json::array();
    for (const DocumentFields& rank : ranks) {
      cells.push_back(figure(rank.number(phase)));
      if (rank.has(phase)) seconds.push_back(rank.number(phase));
    }
    if (!seconds.empty()) bars.push_back({{"name", phase}, {"values", seconds}});
    values.add(cells);
  }
  const std::string chart =
      chart_html({.title = "Time by phase",
                  .caption = ranks.size() == 1 ? "Seconds that rank 0 spent in each phase."
                                               : "A dot is a rank, and a line leads from the fastest to the slowest.",
                  .spec = {{"chart", "rows"}, {"x", {{"label", "seconds"}, {"unit", ""}}}, {"bars", bars}},
                  .values = std::move(values)});
  sections.push_back({"Where the time went", chart, "running times are not covered by the guarantee"});
}

void add_settings(std::vector<Section>& sections, const DocumentFields& report) {
  nlohmann::json settings = report.json();
  for (const char* elsewhere : {"test", "timings", "rank_timings", "silos", "spectra", "cost"})
    settings.erase(elsewhere);
  Table table("Settings", {"setting", "value"});
  add_values(table, settings, "");
  sections.push_back(
      {"Settings", "<details>\n<summary>All settings of the run</summary>\n" + table.html() + "</details>\n"});
}

std::vector<Section> fit_sections(const PageDocument& document) {
  const DocumentFields report(document.content, document.name);
  std::vector<Section> sections;
  add_promise(sections, document);
  add_budget(sections, report);
  add_released_values(sections, report);
  add_test_figures(sections, report);
  add_silos(sections, report);
  add_times(sections, report);
  add_settings(sections, report);
  return sections;
}

}  // namespace dpreduce
