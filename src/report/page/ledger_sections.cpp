// A ledger: what its runs have spent, one after the other.
#include <fmt/format.h>

#include "common/base/bound_text.hpp"
#include "common/base/forfeit.hpp"
#include "report/page/html.hpp"
#include "report/page/sections.hpp"
#include "report/reported_run.hpp"

namespace dpreduce {
namespace {

std::string reasons_of(const JsonFields& run) {
  return words_of(forfeits_in(nlohmann::json(run.texts("forfeited_by"))).value_or(Forfeits{}));
}

std::string method_of(const JsonFields& run) {
  return method_text_of(run.has("asked") ? run.printable_text("asked") : "", run.text("method"));
}

std::string life_chart(const JsonFields& ledger) {
  Table values("Spending, run by run", {"run", "since", "method", "releases", "epsilon of all so far",
                                        "mu of all so far", "rho of all so far"});
  bool has_epsilon = false;
  std::string at_delta;
  for (const JsonFields& run : ledger.objects("runs")) {
    const JsonFields so_far = run.object("so_far");
    has_epsilon = has_epsilon || so_far.has("epsilon");
    if (so_far.has("delta")) at_delta = " at delta " + upper_figure(so_far.number("delta").get<double>());
    values.add({name(run.text("run")), escaped(run.text("since")),
                name(method_of(run) + (run.flag("private") ? "" : fmt::format(" ({}: not private)", reasons_of(run)))),
                figure(run.number("releases")), at_most(so_far.number("epsilon")), at_most(so_far.number("mu")),
                at_most(so_far.number("rho"))});
  }
  if (values.is_empty()) return paragraph("Nothing has been charged so far.");
  if (!has_epsilon) return values.html();
  return chart_html(
      {.title = "Epsilon spent over the ledger's life" + at_delta,
       .caption = "Each step is a run with all that it released, if all runs were about the same records or persons.",
       .spec = {{"chart", "lines"},
                {"x", {{"label", "runs so far"}, {"scale", "count"}}},
                {"y", {{"label", "epsilon of all together" + at_delta}, {"scale", "linear"}}},
                {"series", {{{"name", "spent"}, {"column", 4}, {"draw", "step"}}}},
                {"from", 0.0}},
       .values = std::move(values)});
}

// What all runs have spent together, and what it is told at.
std::string spent_so_far(const JsonFields& ledger) {
  const std::vector<JsonFields> runs = ledger.objects("runs");
  if (runs.empty()) return {};
  const JsonFields so_far = runs.back().object("so_far");
  std::string html = facts_html({{"epsilon", at_most(so_far.number("epsilon"))},
                                 {"delta", at_most(so_far.number("delta"))},
                                 {"mu", at_most(so_far.number("mu"))},
                                 {"neighbors", name(ledger.text("adjacency"))},
                                 {"runs", figure(runs.size())}});
  const std::vector<nlohmann::json> deltas = ledger.numbers("deltas_of_runs");
  if (deltas.size() > 1) {
    html += fmt::format("<p>Runs state {} deltas, from {} to {}. Epsilons are told at {}.</p>\n", deltas.size(),
                        at_most(deltas.front()), at_most(deltas.back()), at_most(so_far.number("delta")));
  }
  return html;
}

std::string releases_of_all(const JsonFields& ledger) {
  Table table("All releases", {"release", "time", "method", "mu", "rho", "sampling rate"});
  for (const JsonFields& release : ledger.objects("releases")) {
    table.add({name(release.text("release")), escaped(release.text("time")), name(method_of(release)),
               at_most(release.number("mu")), at_most(release.number("rho")), figure(release.number("sampling_rate"))});
  }
  return folded("All releases", table.html());
}

std::string open_runs_of(const JsonFields& ledger) {
  Table table("Runs that have not ended, and what they may still charge",
              {"run", "since", "method", "may still charge"});
  for (const JsonFields& run : ledger.objects("open_runs")) {
    std::string remains;
    for (const JsonFields& release : run.objects("releases")) {
      remains += fmt::format("<li>{}: {} × mu {}</li>", name(release.text("name")), figure(release.number("rounds")),
                             at_most(release.number("mu")));
    }
    for (const JsonFields& selection : run.objects("selections")) {
      remains +=
          fmt::format("<li>{}: epsilon {}</li>", name(selection.text("name")), at_most(selection.number("epsilon")));
    }
    table.add({name(run.text("run")), escaped(run.text("since")), name(method_of(run)),
               remains.empty() ? "nothing" : "<ul>" + remains + "</ul>"});
  }
  return table.html();
}

}  // namespace

std::vector<Section> ledger_sections(const PageDocument& document) {
  const JsonFields ledger(document.content, document.name);
  std::vector<Section> sections;
  if (const std::string spent = spent_so_far(ledger); !spent.empty()) {
    sections.push_back({"Spent on these records, all runs together", spent});
  }
  sections.push_back({"The budget over the ledger's life", life_chart(ledger) + releases_of_all(ledger)});
  if (const std::string open = open_runs_of(ledger); !open.empty()) sections.push_back({"Open runs", open});
  return sections;
}

}  // namespace dpreduce
