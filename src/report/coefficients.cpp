// Coefficients of a regression on numbers, as terminals, cards and pages show them.

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "report/run_facts.hpp"

namespace dpreduce {
namespace {

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
  if (!told.has("level")) {
    return "no intervals: " + told.text("why");
  }
  const double percent = 100.0 * told.number_within("level", 0.0, 1.0);
  return fmt::format("each interval holds with probability {:g} % for {}", percent,
                     told.text("about") == "population"
                         ? "least squares in the population, rows clipped as here, if numbers have one variance about "
                           "their regression; it accounts for the noise and for sampling of the rows"
                         : "least squares on these rows as they are clipped; it accounts for the noise alone");
}

}  // namespace

Section coefficients_section(const JsonFields& report) {
  Section section{"The coefficients", {}, report.flag("private") ? "" : "this run is not private"};
  if (!report.has("coefficients")) return section;
  const JsonFields told = report.object("coefficients");
  if (!told.has("largest")) {
    section.blocks.emplace_back(Words{{}, {"no coefficients of columns: " + told.text("why")}});
    return section;
  }
  std::vector<std::string> sentences{shown_of_all(report, told), about_intervals(told)};
  if (told.has("level")) {
    sentences.emplace_back(
        "least squares neither shrinks nor clips residuals, as the model does, so a coefficient may be outside of its "
        "interval");
  }
  section.blocks.emplace_back(Words{{}, std::move(sentences)});
  std::vector<Column> columns{{"name", "column", Written::kText},
                              {"coefficient"},
                              {"low", "from"},
                              {"high", "to"},
                              {"over_range", "over the column's range"},
                              {"range_low", "range from"},
                              {"range_high", "range to"}};
  if (report.count("targets") > 1) columns.push_back({"target"});
  Table table =
      table_of("Coefficients, in units of the target per unit of the column", told.objects("largest"), columns);
  if (told.has("level")) table.intervals = "of several kinds";
  section.blocks.emplace_back(std::move(table));
  section.blocks.emplace_back(
      table_of("Targets", told.objects("targets"),
               {{"target"}, {"intercept"}, {"range_low", "range from"}, {"range_high", "range to"}}));
  return section;
}

}  // namespace dpreduce
