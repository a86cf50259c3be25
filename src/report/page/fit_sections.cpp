// A reported run: what it promises, what it spent and released, how well it does, who took part, what was asked for.
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "report/explanation.hpp"
#include "report/page/html.hpp"
#include "report/page/sections.hpp"

namespace dpreduce {
namespace {

std::string fact(const std::string& term, const std::string& value) {
  return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", term, value);
}

std::string facts_of(const ReportedGuarantee& guarantee) {
  std::string facts = fact("epsilon", at_most(guarantee.epsilon)) + fact("delta", at_most(guarantee.delta));
  if (guarantee.mu) facts += fact("mu", at_most(*guarantee.mu));
  facts += fact("neighbors", escaped(to_string(guarantee.adjacency)));
  facts += fact("unit", guarantee.unit == PrivacyUnit::kPerson ? "a person, with any number of rows" : "a row");
  return "<dl class=\"facts\">\n" + facts + "</dl>\n";
}

// What was promised, and to whom: the words of `privacy explain`.
Section promise_section(const ReportedRun& run) {
  std::string body;
  if (!run.is_private) body += "<p class=\"alarm\">This run is not private.</p>\n";
  if (const auto& promise = run.guarantee) {
    const std::string weakness = weakness_of(promise->epsilon, promise->delta, promise->unit);
    if (!weakness.empty()) body += "<p class=\"alarm\">" + escaped(weakness) + "</p>\n";
    body += facts_of(*promise);
  }
  body += "<dl class=\"words\">\n";
  for (const auto& [heading, sentences] : headed_words_of(run)) {
    body += fmt::format("<dt>{}</dt>\n<dd><ul>\n", heading);
    for (const std::string& sentence : sentences) body += "<li>" + escaped(sentence) + "</li>\n";
    body += "</ul>\n</dd>\n";
  }
  return {"What is promised, and to whom", body + "</dl>\n"};
}

std::string summary_of(const JsonFields& silos) {
  std::string facts;
  for (const auto& [member, heading] : {std::pair{"count", "silos invited"},
                                        {"left", "there to the end"},
                                        {"summed", "in the last sum"},
                                        {"threshold", "needed at least"},
                                        {"colluding", "may collude"}}) {
    if (silos.has(member)) facts += fact(heading, figure(silos.number(member)));
  }
  const JsonFields noise = silos.object("noise");
  if (noise.has("source")) facts += fact("noise", escaped(noise.text("source")));
  if (silos.has("identities")) facts += fact("identities", escaped(silos.text("identities")));
  return "<dl class=\"facts\">\n" + facts + "</dl>\n";
}

std::string silos_table(const JsonFields& silos) {
  std::vector<JsonFields> lost = silos.objects("lost");
  Table table("Who took part, and who was lost", {"silo", "name", "took part", "lost in round", "while", "why"});
  const std::vector<JsonFields> took_part = silos.objects("took_part");
  for (const JsonFields& silo : took_part) {
    table.add({figure(silo.number("silo")), name(silo.text("name")), "to the end", "–", "–", "–"});
  }
  for (const JsonFields& silo : lost) {
    table.add({figure(silo.number("silo")), name(silo.text("name")), "until it was lost", figure(silo.number("round")),
               escaped(silo.text("phase")), escaped(silo.text("reason"))});
  }
  return table.is_empty() ? "" : table.html();
}

std::string messages_table(const JsonFields& silos) {
  Table table("Messages", {"kind", "messages", "bytes", "waits of the coordinator"});
  const JsonFields messages = silos.object("messages");
  for (const auto& [kind, unused] : messages.json().items()) {
    const JsonFields cost = messages.object(kind);
    table.add(
        {escaped(kind), figure(cost.number("count")), figure(cost.number("bytes")), figure(cost.number("waits"))});
  }
  return table.html();
}

void add_silos(std::vector<Section>& sections, const JsonFields& report) {
  if (!report.has("silos")) return;
  const JsonFields silos = report.object("silos");
  sections.push_back({"Who took part", summary_of(silos) + silos_table(silos)});
  if (silos.object("messages").json().empty()) return;
  sections.push_back({"What the silos' messages cost", messages_table(silos), "not covered by the guarantee"});
}

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

void add_settings(std::vector<Section>& sections, const JsonFields& report) {
  nlohmann::json settings = report.json();
  for (const char* elsewhere :
       {"test", "silos", "spectra", "cost", "timings", "rank_timings"})  // the last: of older reports
    settings.erase(elsewhere);
  Table table("Settings", {"setting", "value"});
  add_values(table, settings, "");
  sections.push_back(
      {"Settings", "<details>\n<summary>All settings of the run</summary>\n" + table.html() + "</details>\n"});
}

}  // namespace

std::vector<Section> fit_sections(const PageDocument& document) {
  const JsonFields report(document.run->content, document.name);
  std::vector<Section> sections{promise_section(*document.run)};
  add_budget(sections, report);
  add_released_values(sections, report);
  add_test_figures(sections, report);
  add_silos(sections, report);
  add_settings(sections, report);
  return sections;
}

}  // namespace dpreduce
