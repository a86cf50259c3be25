// What a run was asked to do.
#include <string_view>

#include "common/page/html.hpp"
#include "common/page/sections.hpp"

namespace dpreduce {
namespace {

bool is_cost(std::string_view member) {
  return member == "epsilon" || member == "delta" || member == "mu" || member == "rho";
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
      table.add({name(path), is_cost(member) ? at_most(value) : figure(value)});
    } else if (value.is_object()) {
      add_values(table, value, path + ".");
    }
  }
}

}  // namespace

void add_settings(std::vector<Section>& sections, const DocumentFields& report) {
  nlohmann::json settings = report.json();
  for (const char* elsewhere :
       {"test", "silos", "spectra", "cost", "timings", "rank_timings"})  // the last: of older reports
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
  add_settings(sections, report);
  return sections;
}

}  // namespace dpreduce
