// A sweep: figures over epsilon, with their spread over seeds, against those without noise.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "report/page/html.hpp"
#include "report/page/sections.hpp"
#include "report/reported_run.hpp"
#include "report/sweep_results.hpp"

namespace dpreduce {
namespace {

constexpr const char* kOwnerOnly =
    "an experiment with seeded noise, which is not private, and exact figures about the test rows";

// Runs on the same rows by one method, by epsilon; those without noise apart.
struct Series {
  std::map<double, std::vector<double>> by_epsilon;
  std::vector<double> without_noise;
};

// In the order in which the sweep was asked for its methods.
using Figures = std::vector<std::pair<std::string, Series>>;

Figures figures_of(const JsonFields& sweep, double ratio, const std::string& member) {
  Figures figures;
  for (const std::string& method : sweep.texts("methods")) figures.emplace_back(method, Series{});
  for (const JsonFields& run : sweep.objects("runs")) {
    const nlohmann::json& of_run = run.number("imbalance_ratio");
    const nlohmann::json figure = run.object("test").number(member);
    if (!of_run.is_number() || of_run.get<double>() != ratio || figure.is_null()) continue;
    const auto series =
        std::find_if(figures.begin(), figures.end(), [&](const auto& one) { return one.first == run.text("method"); });
    if (series == figures.end()) run.refuse("method", "is none of the methods of the sweep");
    const nlohmann::json& epsilon = run.number("epsilon");
    if (epsilon.is_null()) {
      series->second.without_noise.push_back(figure.get<double>());
      continue;
    }
    if (!(epsilon.get<double>() > 0.0)) run.refuse("epsilon", "must be above 0");
    series->second.by_epsilon[epsilon.get<double>()].push_back(figure.get<double>());
  }
  return figures;
}

void add_row(Table& values, const std::string& method, const std::string& epsilon, const std::vector<double>& figures) {
  const auto [low, high] = std::minmax_element(figures.begin(), figures.end());
  values.add(
      {name(method), epsilon, figure(figures.size()), percent(median_of(figures)), percent(*low), percent(*high)});
}

// The methods that trained for this one: one, but where the choice hangs on epsilon.
std::string trained_by(const JsonFields& sweep, const std::string& asked) {
  std::vector<std::string> names;
  for (const JsonFields& run : sweep.objects("runs")) {
    const std::string trained = run.text("trained_by");
    if (run.text("method") == asked && std::ranges::find(names, trained) == names.end()) names.push_back(trained);
  }
  return fmt::format("{}", fmt::join(names, " or "));
}

std::string chart_of(const JsonFields& sweep, double ratio, const std::string& member, const std::string& what) {
  const Figures figures = figures_of(sweep, ratio, member);
  const std::string rows = ratio > 1.0 ? fmt::format(", long tail of ratio {:g}", ratio) : "";
  const std::string title = what + " over epsilon" + rows;
  Table values(title, {"method", "epsilon", "seeds", "median", "least", "most"});
  for (const auto& [asked, of_method] : figures) {
    const std::string method = method_text_of(asked, trained_by(sweep, asked));
    for (const auto& [epsilon, of_seeds] : of_method.by_epsilon) add_row(values, method, figure(epsilon), of_seeds);
    if (of_method.without_noise.empty() || of_method.by_epsilon.empty()) continue;
    add_row(values, method, "without noise", of_method.without_noise);
  }
  if (values.is_empty()) return {};
  return chart_html(
      {.title = title,
       .caption =
           fmt::format("Medians over seeds at delta {:g}; shades reach from the least to the most of a method's seeds.",
                       sweep.number("delta").is_number() ? sweep.number("delta").get<double>() : 0.0),
       .spec = {{"chart", "groups"},
                {"x", {{"label", "epsilon, logarithmic"}, {"scale", "log"}}},
                {"y", {{"label", what + " on test rows"}, {"scale", "linear"}, {"unit", "share"}}},
                {"levels_name", "without noise, in the color of its method"}},
       .values = std::move(values)});
}

std::string runs_table(const JsonFields& sweep) {
  Table table("All runs", {"method", "epsilon", "imbalance", "seed", "accuracy", "balanced accuracy",
                           "minority accuracy", "seconds"});
  for (const JsonFields& run : sweep.objects("runs")) {
    const JsonFields test = run.object("test");
    table.add({name(method_text_of(run.text("method"), run.text("trained_by"))),
               run.has("epsilon") ? figure(run.number("epsilon")) : "without noise",
               figure(run.number("imbalance_ratio")), figure(run.number("seed")), percent(test.number("accuracy")),
               percent(test.number("balanced_accuracy")), percent(test.number("minority_accuracy")),
               figure(run.number("seconds"))});
  }
  return folded("All runs", table.html());
}

}  // namespace

std::vector<Section> sweep_sections(const PageDocument& document) {
  const JsonFields sweep(document.content, document.name);
  std::string promise = "<p class=\"alarm\">None of these runs is private.</p>\n" +
                        paragraph(
                            "A sweep is an experiment. Its noise has a seed, so that anyone can compute it, and "
                            "nothing is charged to a ledger. It tells what a budget would cost in accuracy.");
  if (sweep.has("warning")) promise += "<p class=\"alarm\">" + escaped(sweep.text("warning")) + "</p>\n";
  std::vector<Section> sections{{"What is promised, and to whom", promise}};
  std::string charts;
  for (const nlohmann::json& ratio : sweep.numbers("imbalance_ratios")) {
    if (ratio.is_null()) sweep.refuse("imbalance_ratios", "must hold numbers");
    const double value = ratio.get<double>();
    charts += chart_of(sweep, value, "accuracy", "Accuracy");
    if (value > 1.0) charts += chart_of(sweep, value, "balanced_accuracy", "Balanced accuracy");
    if (value > 1.0) charts += chart_of(sweep, value, "minority_accuracy", "Minority accuracy");
  }
  sections.push_back({"Accuracy over epsilon", charts, kOwnerOnly});
  sections.push_back({"Runs", runs_table(sweep), kOwnerOnly});
  return sections;
}

}  // namespace dpreduce
