// A reported run: what its epsilon means, how well it does, what is spent, then what it promises and released, who took
// part, and what was asked for.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "common/base/public_names.hpp"
#include "report/explanation.hpp"
#include "report/page/html.hpp"
#include "report/page/sections.hpp"

namespace dpreduce {
namespace {

std::string facts_of(const ReportedGuarantee& guarantee) {
  std::vector<std::pair<std::string, std::string>> facts{{"epsilon", at_most(guarantee.epsilon)},
                                                         {"delta", at_most(guarantee.delta)}};
  if (guarantee.mu) facts.emplace_back("mu", at_most(*guarantee.mu));
  facts.emplace_back("neighbors", escaped(to_string(guarantee.adjacency)));
  facts.emplace_back("unit", guarantee.unit == PrivacyUnit::kPerson ? "a person, with any number of rows" : "a row");
  return facts_html(facts);
}

// How well an attacker does at best, as a picture: the larger mu, the further the curve is above blind guessing.
std::string attacker_chart(const ReportedGuarantee& guarantee) {
  constexpr double kFalseAlarms[] = {0.0,  0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1,  0.15, 0.2,
                                     0.25, 0.3,   0.4,   0.5,   0.6,  0.7,  0.8,  0.9,  0.95, 0.98, 1.0};
  const std::string_view member = to_string(guarantee.unit);
  Table values("What an attacker finds at most", {"false alarms", "found at most", "by blind guessing"});
  for (const double false_alarms : kFalseAlarms) {
    values.add({percent(false_alarms), percent(found_at_most(guarantee, false_alarms)), percent(false_alarms)});
  }
  return chart_html(
      {.title = "What an attacker can tell at best",
       .caption = fmt::format("Who knows all other {0}s says of a {0} that it is in, or is not. The nearer the curve "
                              "is to blind guessing, the less can be told.",
                              member),
       .spec = {{"chart", "lines"},
                {"x",
                 {{"label", fmt::format("false alarms: share of {}s that are not in", member)}, {"scale", "linear"}}},
                {"y",
                 {{"label", fmt::format("found: share of {}s that are in", member)},
                  {"scale", "linear"},
                  {"unit", "share"}}},
                {"series",
                 {{{"name", "this run, at best"}, {"column", 1}, {"draw", "line"}},
                  {{"name", "blind guessing"}, {"column", 2}, {"draw", "line"}}}}},
       .values = std::move(values)});
}

std::string sentences_html(const std::vector<ExplainedSection>& words, std::string_view heading) {
  std::string html;
  const auto section = std::ranges::find(words, heading, &ExplainedSection::first);
  if (section == words.end()) return html;
  for (std::string sentence : section->second) {
    sentence.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence.front())));
    html += paragraph(sentence + ".");
  }
  return html;
}

// The figures that a reader has come for, and what they mean.
Section meaning_section(const ReportedRun& run) {
  const std::vector<ExplainedSection> words = words_of(run);
  if (!run.guarantee) {
    return {"No guarantee", "<p class=\"alarm\">This run is not private.</p>\n" + sentences_html(words, "guarantee")};
  }
  const ReportedGuarantee& promise = *run.guarantee;
  const std::string weakness = weakness_of(promise.epsilon, promise.delta, promise.unit);
  const std::string alarm = weakness.empty() ? "" : "<p class=\"alarm\">" + escaped(weakness) + "</p>\n";
  return {"Epsilon, and what it means", alarm + facts_of(promise) + sentences_html(words, "attacker")};
}

// What all runs so far, this one among them, have taken of the same rows.
void add_spent(std::vector<Section>& sections, const JsonFields& report) {
  const JsonFields spent = report.object("ledger").object("spent");
  if (!spent.has("delta")) return;
  const bool has_epsilon = spent.has("epsilon");
  const std::string body =
      facts_html({has_epsilon ? std::pair<std::string, std::string>{"epsilon", at_most(spent.number("epsilon"))}
                              : std::pair<std::string, std::string>{"rho", at_most(spent.number("rho"))},
                  {"delta", at_most(spent.number("delta"))},
                  {"runs", figure(spent.number("runs"))}}) +
      paragraph(
          "What all runs on the ledger have spent together when this one ended, if all were about the same records or "
          "persons. It is this sum that counts for them, and not one run's epsilon.");
  sections.push_back({"Spent on these records", body});
}

// Says what was promised, and to whom, in the words of `privacy explain`.
Section promise_section(const ReportedRun& run) {
  std::string body = "<dl class=\"words\">\n";
  for (const auto& [heading, sentences] : headed_words_of(run)) {
    body += fmt::format("<dt>{}</dt>\n<dd><ul>\n", heading);
    for (const std::string& sentence : sentences) body += "<li>" + escaped(sentence) + "</li>\n";
    body += "</ul>\n</dd>\n";
  }
  return {"What is promised, and to whom", body + "</dl>\n"};
}

std::string silos_summary(const JsonFields& silos) {
  std::vector<std::pair<std::string, std::string>> facts;
  for (const auto& [member, heading] : {std::pair{"count", "silos invited"},
                                        {"left", "there to the end"},
                                        {"summed", "in the last sum"},
                                        {"threshold", "needed at least"},
                                        {"colluding", "may collude"}}) {
    if (silos.has(member)) facts.emplace_back(heading, figure(silos.number(member)));
  }
  const JsonFields noise = silos.object("noise");
  if (noise.has("source")) facts.emplace_back("noise", escaped(noise.text("source")));
  if (silos.has("identities")) facts.emplace_back("identities", escaped(silos.text("identities")));
  return facts_html(facts);
}

std::string silos_table(const JsonFields& silos) {
  Table table("Who took part, and who was lost", {"silo", "name", "took part", "lost in round", "while", "why"});
  for (const JsonFields& silo : silos.objects("took_part")) {
    table.add({figure(silo.number("silo")), name(silo.text("name")), "to the end", "–", "–", "–"});
  }
  for (const JsonFields& silo : silos.objects("lost")) {
    table.add({figure(silo.number("silo")), name(silo.text("name")), "until it was lost", figure(silo.number("round")),
               escaped(silo.text("phase")), escaped(silo.text("reason"))});
  }
  return table.html();
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
  sections.push_back({"Who took part", silos_summary(silos) + silos_table(silos)});
  if (silos.object("messages").json().empty()) return;
  sections.push_back({"What the silos' messages cost", messages_table(silos), "not covered by the guarantee"});
}

bool is_cost(std::string_view member) {
  return member == "epsilon" || member == "delta" || member == "mu" || member == "rho";
}

// How a page calls the classes of a report: by `class_names` where it has them, else by number.
class ClassNames {
 public:
  explicit ClassNames(const JsonFields& report)
      : count_(report.has("classes") ? report.count("classes", 0) : 0), names_(report.texts("class_names")) {
    if (!names_.empty() && names_.size() != count_)
      report.refuse("class_names", "must be as many as there are classes");
  }
  std::size_t count() const { return count_; }
  std::string of(std::size_t label) const { return name_of_class(names_, label); }

 private:
  std::size_t count_;
  std::vector<std::string> names_;
};

struct ClassFigure {
  const char* member;
  const char* heading;
};

// A column of each list that is there; of sets of labels other ones than of a class a row.
std::string by_class_table(const JsonFields& test, const ClassNames& names) {
  constexpr ClassFigure kFigures[] = {{"per_class", "recall"},
                                      {"per_class_average_precision", "average precision"},
                                      {"per_class_precision", "precision"},
                                      {"per_class_f1", "F1"},
                                      {"per_class_support", "test rows"}};
  std::vector<std::string> columns{"class"};
  std::vector<std::vector<nlohmann::json>> lists;
  for (const auto& [member, heading] : kFigures) {
    if (!test.has(member)) continue;
    columns.emplace_back(heading);
    lists.push_back(test.numbers(member));
    if (lists.back().size() != names.count()) test.refuse(member, fmt::format("must hold {} figures", names.count()));
  }
  Table table("Figures of each class", columns);
  for (std::size_t label = 0; label < names.count(); ++label) {
    std::vector<std::string> cells{name(names.of(label))};
    for (std::size_t list = 0; list < lists.size(); ++list) {
      const bool is_count = columns[list + 1] == "test rows";
      cells.push_back(is_count ? figure(lists[list][label]) : percent(lists[list][label]));
    }
    table.add(cells);
  }
  return table.html();
}

std::string recall_chart(const JsonFields& test, const ClassNames& names) {
  const std::string member = test.has("per_class") ? "per_class" : "per_class_average_precision";
  const std::string what = member == "per_class" ? "recall" : "average precision";
  const std::vector<nlohmann::json> figures = test.numbers(member);
  if (figures.empty()) return {};
  if (figures.size() != names.count()) test.refuse(member, fmt::format("must hold {} figures", names.count()));
  Table values("The " + what + " of each class", {"class", what});
  for (std::size_t label = 0; label < figures.size(); ++label) {
    values.add({name(names.of(label)), percent(figures[label])});
  }
  return chart_html(
      {.title = member == "per_class" ? "Recall of each class" : "Average precision of each class",
       .caption = member == "per_class" ? "Of the test rows of a class, the share that the model gives that class."
                                        : "How far the rows of a class stand ahead of the others by their score.",
       .spec = {{"chart", "columns"}, {"x", {{"label", "class"}}}, {"y", {{"label", what}}}, {"column", 1}},
       .values = std::move(values)});
}

std::string exact_confusion(const JsonFields& test, const ClassNames& names) {
  if (!test.has("confusion_matrix")) return {};
  std::vector<std::string> of_classes;
  for (std::size_t label = 0; label < names.count(); ++label) of_classes.push_back(names.of(label));
  return confusion_chart(test, "confusion_matrix", of_classes, "");
}

std::string test_summary(const JsonFields& test) {
  std::vector<std::pair<std::string, std::string>> facts;
  for (const auto& [member, heading] : {std::pair{"accuracy", "accuracy"},
                                        {"balanced_accuracy", "balanced accuracy"},
                                        {"minority_accuracy", "minority accuracy"},
                                        {"mean_average_precision", "mean average precision"},
                                        {"hit_rate", "hit rate"},
                                        {"micro_f1", "micro F1"},
                                        {"macro_f1", "macro F1"}}) {
    if (test.has(member)) facts.emplace_back(heading, percent(test.number(member)));
  }
  if (test.has("r2")) facts.emplace_back("R^2", figure(test.number("r2")));
  if (test.has("rmse")) facts.emplace_back("RMSE", figure(test.number("rmse")));
  if (test.has("rows")) facts.emplace_back("test rows", figure(test.number("rows")));
  return facts_html(facts);
}

std::string why_exact(const JsonFields& test) {
  return fmt::format("these are exact figures about {} rows, outside the guarantee",
                     test.flag("rows_are_training_rows") ? "training" : "the test");
}

void add_accuracy(std::vector<Section>& sections, const JsonFields& report) {
  if (!report.has("test") || told_part_of(report)) return;
  const JsonFields test = report.object("test");
  sections.push_back({"How well the model does", test_summary(test), why_exact(test)});
}

void add_figures_of_classes(std::vector<Section>& sections, const JsonFields& report) {
  if (!report.has("test") || told_part_of(report)) return;
  const JsonFields test = report.object("test");
  const ClassNames names(report);
  const std::string body = recall_chart(test, names) + exact_confusion(test, names) +
                           folded("All figures of each class", by_class_table(test, names));
  if (!body.empty()) sections.push_back({"How well it does, class by class", body, why_exact(test)});
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
       {"test", "metrics", "silos", "spectra", "cost", "timings", "rank_timings"})  // the last: of older reports
    settings.erase(elsewhere);
  Table table("Settings", {"setting", "value"});
  add_values(table, settings, "");
  sections.push_back({"Settings", folded("All settings of the run", table.html())});
}

}  // namespace

std::string confusion_chart(const JsonFields& owner, const std::string& member, const std::vector<std::string>& names,
                            const std::string& noise) {
  constexpr std::size_t kMostDrawn = 64;  // classes
  const nlohmann::json& rows = owner.json().at(member);
  const auto is_count = [&](const nlohmann::json& count) {
    return noise.empty() ? count.is_number_integer() && count >= 0 : count.is_number();
  };
  bool is_square = rows.is_array() && rows.size() == names.size();
  for (const nlohmann::json& row : rows) {
    is_square = is_square && row.is_array() && row.size() == names.size() && std::ranges::all_of(row, is_count);
  }
  if (!is_square) owner.refuse(member, fmt::format("must be {0} x {0} counts", names.size()));
  std::vector<std::string> columns{"true class"};
  for (const std::string& predicted : names) columns.push_back("as " + predicted);
  Table values("Test rows of each true class, by predicted class", columns);
  for (std::size_t label = 0; label < names.size(); ++label) {
    std::vector<std::string> cells{name(names[label])};
    for (const nlohmann::json& count : rows[label]) {
      cells.push_back(figure(std::max<std::int64_t>(0, std::llround(count.get<double>()))));
    }
    values.add(cells);
  }
  if (names.size() > kMostDrawn) return values.html();
  return chart_html(
      {.title = "Confusion",
       .caption = "Rows of each true class, by predicted class. The larger its share of its row, the stronger the "
                  "color of a cell." +
                  noise,
       .spec = {{"chart", "matrix"}, {"x", {{"label", "predicted class"}}}, {"y", {{"label", "true class"}}}},
       .values = std::move(values)});
}

std::vector<Section> fit_sections(const PageDocument& document) {
  const JsonFields report(document.run->content, document.name);
  std::vector<Section> sections{meaning_section(*document.run)};
  add_told_figures(sections, document, report);
  add_accuracy(sections, report);
  add_spent(sections, report);
  if (const auto& promise = document.run->guarantee) {
    sections.push_back({"An attacker at best", attacker_chart(*promise)});
  }
  sections.push_back(promise_section(*document.run));
  add_figures_of_classes(sections, report);
  add_budget(sections, report);
  add_released_values(sections, report);
  add_silos(sections, report);
  add_settings(sections, report);
  return sections;
}

}  // namespace dpreduce
