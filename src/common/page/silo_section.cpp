// Who took part, who was lost and why.
#include <fmt/format.h>

#include "common/page/html.hpp"
#include "common/page/sections.hpp"

namespace dpreduce {
namespace {

std::string summary_of(const DocumentFields& silos) {
  std::string facts;
  for (const auto& [member, heading] : {std::pair{"count", "silos invited"},
                                        {"left", "there to the end"},
                                        {"summed", "in the last sum"},
                                        {"threshold", "needed at least"},
                                        {"colluding", "may collude"}}) {
    if (silos.has(member))
      facts += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", heading, figure(silos.number(member)));
  }
  const DocumentFields noise = silos.object("noise");
  if (noise.has("source")) facts += "<div><dt>noise</dt><dd>" + escaped(noise.text("source")) + "</dd></div>\n";
  if (silos.has("identities"))
    facts += "<div><dt>identities</dt><dd>" + escaped(silos.text("identities")) + "</dd></div>\n";
  return "<dl class=\"facts\">\n" + facts + "</dl>\n";
}

std::string silos_table(const DocumentFields& silos) {
  std::vector<DocumentFields> lost = silos.objects("lost");
  Table table("Who took part, and who was lost", {"silo", "name", "took part", "lost in round", "while", "why"});
  const std::vector<DocumentFields> took_part = silos.objects("took_part");
  for (const DocumentFields& silo : took_part) {
    table.add({figure(silo.number("silo")), name(silo.text("name")), "to the end", "–", "–", "–"});
  }
  for (const DocumentFields& silo : lost) {
    table.add({figure(silo.number("silo")), name(silo.text("name")), "until it was lost", figure(silo.number("round")),
               escaped(silo.text("phase")), escaped(silo.text("reason"))});
  }
  return table.is_empty() ? "" : table.html();
}

std::string messages_table(const DocumentFields& silos) {
  Table table("Messages", {"kind", "messages", "bytes", "waits of the coordinator"});
  const DocumentFields messages = silos.object("messages");
  for (const auto& [kind, unused] : messages.json().items()) {
    const DocumentFields cost = messages.object(kind);
    table.add(
        {escaped(kind), figure(cost.number("count")), figure(cost.number("bytes")), figure(cost.number("waits"))});
  }
  return table.html();
}

}  // namespace

void add_silos(std::vector<Section>& sections, const DocumentFields& report) {
  if (!report.has("silos")) return;
  const DocumentFields silos = report.object("silos");
  sections.push_back({"Who took part", summary_of(silos) + silos_table(silos)});
  if (silos.object("messages").json().empty()) return;
  sections.push_back({"What the silos' messages cost", messages_table(silos), "not covered by the guarantee"});
}

}  // namespace dpreduce
