// Sections of a reported run: what its epsilon means, its metrics, what is spent, then its guarantee and releases, its
// members, and the requested options.
#include <limits>

#include <fmt/format.h>

#include "common/base/json_text.hpp"
#include "common/base/public_names.hpp"
#include "report/document_sections.hpp"
#include "report/explanation.hpp"
#include "report/run_facts.hpp"

namespace dpreduce {
namespace {

// Chart of the best attacker: the larger mu, the further the curve is above blind guessing.
Chart attacker_chart(const ReportedGuarantee& guarantee) {
  constexpr double kFalseAlarms[] = {0.0,  0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1,  0.15, 0.2,
                                     0.25, 0.3,   0.4,   0.5,   0.6,  0.7,  0.8,  0.9,  0.95, 0.98, 1.0};
  const std::string_view member = to_string(guarantee.unit);
  Table values{.caption = "What an attacker finds at most", .columns = {"false alarms", "found at most"}};
  for (const double false_alarms : kFalseAlarms) {
    values.add({percent(false_alarms), percent(found_at_most(guarantee, false_alarms))});
  }
  Chart chart = line_chart(
      "What an attacker can learn at best",
      fmt::format(
          "An attacker who knows all other {0}s decides whether a {0} is in the data. The nearer the curve is to "
          "blind guessing, the less an attacker can learn.",
          member),
      {{"label", fmt::format("false alarms: share of {}s that are not in", member)}, {"unit", "share"}},
      {{"label", fmt::format("found: share of {}s that are in", member)}, {"unit", "share"}}, {"this run, at best"},
      std::move(values));
  chart.spec["series"][0]["draw"] = "curve";
  chart.spec["diagonal"] = "blind guessing";
  return chart;
}

// Spending of all runs so far on the same rows, this run among them.
Section spent_section(const JsonFields& report) {
  const JsonFields spent = report.object("ledger").object("spent");
  const bool is_of_this_alone = spent.number("runs") == 1;
  if (!spent.has("delta") || is_of_this_alone) return {};
  return {"Spent on these records",
          {facts_of(spent, {cost_in(spent.has("epsilon") ? "epsilon" : "rho"), cost_in("delta"), figure_in("runs")}),
           Words{{},
                 {"Total spending of all runs on the ledger when this one ended, if all were about the same records or "
                  "persons",
                  "This total counts for them, not the epsilon of one run"}}}};
}

Section silos_section(const JsonFields& silos) {
  Facts facts = facts_of(silos, {figure_in("count", "silos invited"), figure_in("left", "there to the end"),
                                 figure_in("summed", "in the last sum"), figure_in("threshold", "needed at least"),
                                 figure_in("colluding", "may collude")});
  for (const Facts& more :
       {facts_of(silos.object("noise"), {text_in("source", "noise")}), facts_of(silos, {text_in("identities")})}) {
    facts.insert(facts.end(), more.begin(), more.end());
  }
  return {"Who took part",
          {std::move(facts),
           table_of("Who took part to the end", silos.objects("took_part"), {figure_in("silo"), text_in("name")}),
           table_of("Who was lost", silos.objects("lost"),
                    {figure_in("silo"), text_in("name"), figure_in("round", "lost in round"), text_in("phase", "while"),
                     text_in("reason", "why")})}};
}

Section messages_section(const JsonFields& messages) {
  Table table{.caption = "Messages", .columns = {"kind", "messages", "bytes", "waits of the coordinator"}};
  for (const auto& [kind, unused] : messages.json().items()) {
    const JsonFields cost = messages.object(kind);
    table.add({kind, figure(cost.number("count")), figure(cost.number("bytes")), figure(cost.number("waits"))});
  }
  return {"What the silos' messages cost", {std::move(table)}, "not covered by the guarantee"};
}

// "a.b": the value, for all that is one value and not in a section of its own.
void add_values(Table& table, const nlohmann::json& object, const std::string& place) {
  for (const auto& [member, value] : object.items()) {
    const std::string path = place + member;
    if (value.is_string()) {
      table.add({path, value.get<std::string>()});
    } else if (value.is_boolean()) {
      table.add({path, value.get<bool>() ? "yes" : "no"});
    } else if (value.is_number()) {
      const bool is_cost = member == "epsilon" || member == "delta" || member == "mu" || member == "rho";
      table.add({path, is_cost ? at_most(value) : member == "seed" ? Cell(json_text(value)) : figure(value)});
    } else if (value.is_object()) {
      add_values(table, value, path + ".");
    }
  }
}

Section settings_section(const JsonFields& report) {
  nlohmann::json settings = report.json();
  for (const char* elsewhere :
       {"test", "metrics", "silos", "spectra", "cost", "timings", "rank_timings"})  // the last: of older reports
    settings.erase(elsewhere);
  Table table{.caption = "Settings", .columns = {"setting", "value"}, .summary = "All settings of the run"};
  add_values(table, settings, "");
  return {"Settings", {std::move(table)}};
}

// Figures about test rows: exact ones for the data's owner, and those that have noise, each with its interval, drawn.

constexpr std::size_t kMostDrawn = 64;  // classes of a confusion matrix

// Rows of a curve: the place of each, and the figure there.
using CurvePoints = std::vector<std::pair<double, JsonFields>>;

// Chart of shares over shares, each with its interval, beside its diagonal.
Chart curve_chart(const std::string& title, const std::string& caption, const std::string& x, const std::string& y,
                  const std::string& diagonal, const CurvePoints& points) {
  Table values{.caption = title, .columns = {x, y, "from", "to"}};
  for (const auto& [at, told] : points) {
    values.add({percent(at), percent(told.number("value")), percent(told.number("low")), percent(told.number("high"))});
  }
  Chart chart = line_chart(title, caption, {{"label", x}, {"unit", "share"}}, {{"label", y}, {"unit", "share"}},
                           {"as released"}, std::move(values));
  chart.spec["series"][0].update({{"band", "its interval"}, {"ends", {2, 3}}});
  chart.spec["diagonal"] = diagonal;
  return chart;
}

Chart calibration_chart(const JsonFields& metrics) {
  CurvePoints points;
  for (const JsonFields& bin : metrics.objects("calibration")) {
    points.push_back({0.5 * (bin.number_within("from", 0.0, 1.0) + bin.number_within("to", 0.0, 1.0)), bin});
  }
  return curve_chart(
      "Calibration",
      "Share of correctly classified rows, by predicted probability. For a calibrated model both are equal.",
      "largest probability, middle of its bin", "share of right rows", "a calibrated model", points);
}

Chart roc_chart(const JsonFields& metrics) {
  CurvePoints points;
  for (const JsonFields& point : metrics.object("roc").objects("points")) {
    const JsonFields false_positives = point.object("false_positive_rate");
    if (!false_positives.has("value")) continue;
    points.push_back({false_positives.number_within("value", 0.0, 1.0), point.object("true_positive_rate")});
  }
  std::ranges::stable_sort(points, {}, &CurvePoints::value_type::first);
  return curve_chart("ROC curve", "Each mark is a threshold of the score. Intervals are those of the found share.",
                     "share of the other classes predicted as it", "share of the class found", "blind guessing",
                     points);
}

// Confusion chart; with many classes the table alone. `noise` is what the caption says of it.
Block confusion_block(Table values, const std::string& noise) {
  if (values.rows.size() > kMostDrawn) {
    values.summary = "All counts of the confusion";
    return values;
  }
  return Chart{.title = "Confusion",
               .caption =
                   "Rows of each true class, by predicted class. The larger its share of its row, the stronger the "
                   "color of a cell." +
                   noise,
               .spec = {{"chart", "matrix"}, {"x", {{"label", "predicted class"}}}, {"y", {{"label", "true class"}}}},
               .values = std::move(values)};
}

Block noised_confusion(const JsonFields& metrics, const std::vector<std::string>& class_names) {
  if (!metrics.has("confusion")) return Facts{};
  const JsonFields confusion = metrics.object("confusion");
  std::vector<std::string> names;
  for (std::size_t k = 0; k < confusion.with("counts").json()["counts"].size(); ++k) {
    names.push_back(confusion.has("class_groups") ? fmt::format("group {}", k) : name_of_class(class_names, k));
  }
  return confusion_block(
      confusion_table(confusion, "counts", names, false),
      fmt::format(" Each number has noise of standard deviation {:.3g}; its interval is in the report.",
                  confusion.number_within("noise", 0.0, std::numeric_limits<double>::max())));
}

// The first figure of each class, drawn, and all of them.
Chart classes_chart(const JsonFields& test, const std::vector<std::string>& names) {
  const bool is_recall = test.has("per_class");
  Table values = class_figures(test, names, true, names.size());
  return {.title = is_recall ? "Recall of each class" : "Average precision of each class",
          .caption = is_recall ? "Share of the test rows of a class that the model assigns to that class."
                               : "Ranking quality of the class: how far its rows are ahead of the others by score.",
          .spec = {{"chart", "columns"},
                   {"x", {{"label", "class"}}},
                   {"y", {{"label", is_recall ? "recall" : "average precision"}}},
                   {"column", 1}},
          .values = std::move(values)};
}

std::string why_exact(const JsonFields& test) {
  return test.flag("rows_are_training_rows")
             ? "these are exact figures about training rows; remove them before you publish"
             : "these are exact figures about the test rows";
}

Section reported_section(const ReportedMetrics& told, const JsonFields& report) {
  const JsonFields metrics = reported_part_of(report)->object("metrics");
  std::vector<std::string> sentences{"each figure has noise, so it reveals little about any one test row",
                                     interval_sentence(told)};
  if (const JsonFields difference = metrics.object("difference"); difference.has("b_is_better")) {
    const std::vector<std::string> pair = compared_models(report);
    sentences.push_back(
        fmt::format("With probability {2:.1f} % {1} is better than {0}. Figures that name no model are those of {0}",
                    pair.front(), pair.back(), 100.0 * difference.number_within("b_is_better", 0.0, 1.0)));
  }
  Section section{"How good the model is",
                  {Words{{}, std::move(sentences)}},
                  told.is_private ? "" : "they have noise, but are not private"};
  for (const ReportedList& list : told.lists) section.blocks.emplace_back(table_of(list));
  section.blocks.emplace_back(calibration_chart(metrics));
  section.blocks.emplace_back(roc_chart(metrics));
  section.blocks.push_back(noised_confusion(metrics, report.texts("class_names")));
  return section;
}

// Coefficients of a regression on numbers.

std::string shown_of_all(const JsonFields& report, const JsonFields& told) {
  const std::uint64_t all = report.count("targets") * told.count("columns");
  const std::size_t shown = told.objects("largest").size();
  if (shown == all) {
    return fmt::format(
        "a prediction is the intercept plus each coefficient times its column, for rows whose length, as prepared, is "
        "at most {:.3g}; longer ones are clipped to it",
        report.number_within("clip_norm", 0.0, std::numeric_limits<double>::max()));
  }
  return fmt::format(
      "{} of {} coefficients are listed, those with the largest effect on predictions; the model file has all", shown,
      all);
}

std::string about_intervals(const JsonFields& told) {
  if (!told.has("level")) return "no intervals: " + told.text("why");
  const double percent = 100.0 * told.number_within("level", 0.0, 1.0);
  return fmt::format("each interval holds with probability {:g} % for {}", percent,
                     told.text("about") == "population"
                         ? "least squares in the population, rows clipped as here, if numbers have one variance about "
                           "their regression; it accounts for the noise and for sampling of the rows"
                         : "least squares on these rows as they are clipped; it accounts for the noise alone");
}

std::vector<std::string> all_class_names(const JsonFields& report) {
  const std::size_t count = report.has("classes") ? report.count("classes", 0) : 0;
  std::vector<std::string> names = report.texts("class_names");
  if (!names.empty() && names.size() != count) report.refuse("class_names", "must be as many as there are classes");
  for (std::size_t label = names.size(); label < count; ++label) names.push_back(fmt::format("{}", label));
  return names;
}

}  // namespace

Section meaning_section(const ReportedRun& run) {
  const std::vector<Words> words = words_of(run);
  if (!run.guarantee) {
    return {"No guarantee", {Alarm{"This run is not private."}, Words{{}, sentences_of(words, "guarantee")}}};
  }
  const ReportedGuarantee& promise = *run.guarantee;
  return {
      "Epsilon, and what it means",
      {Alarm{weakness_of(promise.epsilon, promise.delta, promise.unit)},
       promise_facts(JsonFields(run.content, run.path).object("privacy")), Words{{}, sentences_of(words, "attacker")}}};
}

Section promise_section(const ReportedRun& run, const std::vector<Words>& said) {
  Section section{"The guarantee, and against whom it holds", {}};
  for (Words& words : public_words_of(run)) {
    const std::vector<std::string> before = sentences_of(said, words.key);
    std::erase_if(words.sentences, [&](const std::string& one) { return std::ranges::count(before, one) > 0; });
    if (!words.sentences.empty() && words.key != "attacker") section.blocks.emplace_back(std::move(words));
  }
  return section;
}

Section test_section(const ReportedRun& run, const JsonFields& report, bool has_counts) {
  if (run.figures) return reported_section(*run.figures, report);
  const JsonFields test = report.object("test");
  Facts facts = exact_figures(test);
  if (has_counts) std::ranges::move(facts_of(test, {figure_in("rows", "test rows")}), std::back_inserter(facts));
  return {"How well the model does",
          {std::move(facts), Words{{}, {has_counts ? uncalled_classes_text(report) : ""}}},
          why_exact(test)};
}

Section class_section(const JsonFields& report, bool has_counts) {
  Section section{.title = "How well it does, class by class", .blocks = {}};
  if (!report.has("test") || reported_part_of(report)) return section;
  const JsonFields test = report.object("test");
  const std::vector<std::string> names = all_class_names(report);
  section.owner_only = why_exact(test);
  if (has_counts) {
    section.blocks.emplace_back(classes_chart(test, names));
    if (test.has("confusion_matrix")) {
      section.blocks.push_back(confusion_block(confusion_table(test, "confusion_matrix", names, true), ""));
    }
  } else if (!test.flag("rows_are_training_rows")) {
    section.blocks.emplace_back(class_figures(test, names, false, kMostClassesInCard));
  }
  return section;
}

Section coefficients_section(const JsonFields& report) {
  Section section{"The coefficients", {}, report.flag("private") ? "" : "this run is not private"};
  if (!report.has("coefficients")) return section;
  const JsonFields told = report.object("coefficients");
  if (!told.has("largest")) {
    section.blocks.emplace_back(Words{{}, {"no coefficients of columns: " + told.text("why")}});
    return section;
  }
  section.blocks.emplace_back(
      Words{{},
            {shown_of_all(report, told), about_intervals(told),
             told.has("level") ? "least squares neither shrinks nor clips residuals, as the model does, so a "
                                 "coefficient may be outside of its interval"
                               : ""}});
  std::vector<Column> columns{text_in("name", "column"),
                              figure_in("coefficient"),
                              figure_in("low", "from"),
                              figure_in("high", "to"),
                              figure_in("over_range", "over the column's range"),
                              figure_in("range_low", "range from"),
                              figure_in("range_high", "range to")};
  if (report.count("targets") > 1) columns.push_back(figure_in("target"));
  Table table =
      table_of("Coefficients, in units of the target per unit of the column", told.objects("largest"), columns);
  if (told.has("level")) table.intervals = "of several kinds";
  section.blocks.emplace_back(std::move(table));
  section.blocks.emplace_back(table_of("Targets", told.objects("targets"),
                                       {figure_in("target"), figure_in("intercept"),
                                        figure_in("range_low", "range from"), figure_in("range_high", "range to")}));
  return section;
}

Chart line_chart(const std::string& title, const std::string& caption, nlohmann::json x, nlohmann::json y,
                 const std::vector<std::string>& series, Table values) {
  for (nlohmann::json* axis : {&x, &y}) axis->emplace("scale", "linear");
  nlohmann::json spec{
      {"chart", "lines"}, {"x", std::move(x)}, {"y", std::move(y)}, {"series", nlohmann::json::array()}};
  for (const std::string& name : series) {
    spec["series"].push_back({{"name", name}, {"column", spec["series"].size() + 1}, {"draw", "line"}});
  }
  return {title, caption, std::move(spec), std::move(values)};
}

std::vector<Section> fit_sections(const ReportedRun& run, const std::string& name, const std::vector<Words>& said) {
  const JsonFields report(run.content, name);
  const JsonFields silos = report.object("silos");
  return {meaning_section(run),
          test_section(run, report, true),
          coefficients_section(report),
          spent_section(report),
          {"An attacker at best", {run.guarantee ? attacker_chart(*run.guarantee) : Chart{}}},
          promise_section(run, said),
          class_section(report, true),
          budget_section(run, report),
          released_section(run, report),
          silos_section(silos),
          messages_section(silos.object("messages")),
          settings_section(report)};
}

}  // namespace dpreduce
