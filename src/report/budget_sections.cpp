// Charts of the budget: where it went, and norms and spectra of released numbers beside those of their noise.
#include <cmath>

#include <fmt/format.h>

#include "report/document_sections.hpp"
#include "report/run_facts.hpp"

namespace dpreduce {
namespace {

// Releases and selections by name, each with its mu^2. These squares add up: shares of them are shares of the budget.
using SpentParts = std::vector<std::pair<std::string, double>>;

// Nothing where rounds are on samples.
std::optional<SpentParts> spent_by(const ReportedRun& run, const JsonFields& privacy) {
  SpentParts spent;
  for (const std::vector<ReportedBlock>& rounds : rounds_of(run.blocks)) {
    std::string name = rounds.front().release;
    if (rounds.size() > 1) name = fmt::format("{}, {} rounds", name.substr(0, name.rfind('/')), rounds.size());
    if (!name.starts_with(rounds.front().name)) name += fmt::format(" ({})", rounds.front().name);
    spent.emplace_back(std::move(name), 0.0);
    for (const ReportedBlock& one : rounds) {
      if (!one.mu || one.sampling_rate < 1.0) return std::nullopt;
      spent.back().second += std::pow(*one.mu, 2);
    }
  }
  for (const JsonFields& selection : privacy.objects("selections")) {
    const std::optional<double> mu = selection.optional_number("mu");
    if (!mu) return std::nullopt;
    spent.emplace_back(selection.text("name"), std::pow(*mu, 2));
  }
  return spent;
}

Block shares_block(const ReportedRun& run, const JsonFields& privacy) {
  const std::optional<SpentParts> spent = spent_by(run, privacy);
  if (!spent) {
    return Words{{}, {"Rounds on samples of the rows have no mu of their own, so shares cannot be drawn"}};
  }
  double sum = 0.0;
  for (const auto& [name, squared_mu] : *spent) sum += squared_mu;
  Table values{.caption = "Shares of the budget",
               .columns = {"release", "mu of all its rounds", "share of mu squared"}};
  for (const auto& [name, squared_mu] : *spent) {
    if (sum > 0.0) values.add({name, at_most(std::sqrt(squared_mu)), percent(squared_mu / sum)});
  }
  return Chart{.title = "The budget by release",
               .caption = "Squares of mu add up: each bar is the share of one release in the spending of the run.",
               .spec = {{"chart", "rows"}, {"x", {{"label", "share of mu squared"}}}, {"column", 2}},
               .values = std::move(values)};
}

constexpr std::size_t kFewestDrawn = 4;  // rounds: of fewer the table of norms says as much

// The norms of rounds over that of their noise, where the report has them; the first is round 1.
Chart norms_chart(const std::vector<ReportedBlock>& rounds) {
  const std::string& name = rounds.front().name;
  Table values{.caption = "Norms of " + name + " over that of their noise",
               .columns = {"round", "as released", "noise alone"}};
  std::size_t round = 0;
  for (const ReportedBlock& one : rounds) {
    ++round;
    if (!one.norm || !one.noise_norm) continue;
    values.add({fmt::format("{}", round), figure(*one.norm / *one.noise_norm), figure(1.0)});
  }
  if (values.rows.size() < kFewestDrawn) values.rows.clear();
  return line_chart(fmt::format("Norm of each round's {}, beside its noise", name),
                    "The released vector is the exact sum plus noise. Where the lines meet, a round is noise alone.",
                    {{"label", "round"}, {"scale", "count"}}, {{"label", "norm over the expected norm of noise alone"}},
                    {name + ", as released", "its noise alone, expected"}, std::move(values));
}

Chart spectrum_chart(const JsonFields& spectrum) {
  const std::vector<nlohmann::json> eigenvalues = spectrum.numbers("eigenvalues");
  const nlohmann::json& radius = spectrum.number("noise_radius");
  if (eigenvalues.empty() || !radius.is_number()) return {};
  if (!(radius.get<double>() > 0.0)) spectrum.refuse("noise_radius", "must be above 0");
  Table values{.caption = "Eigenvalues of " + spectrum.text("release"), .columns = {"number", "eigenvalue"}};
  values.add({"radius of the noise", figure(radius)});
  for (const nlohmann::json& eigenvalue : eigenvalues) {
    if (eigenvalue.is_null()) spectrum.refuse("eigenvalues", "must hold numbers");
    values.add({fmt::format("{}", values.rows.size()), figure(eigenvalue)});
  }
  // A logarithm would hide how little stands out of the noise, so it is used only above this many radii.
  constexpr double kRadiiOfLogarithm = 20.0;
  const double largest = std::abs(eigenvalues.front().get<double>());
  const bool is_logarithmic = largest > kRadiiOfLogarithm * radius.get<double>();
  Chart chart = line_chart(
      fmt::format("Spectrum of the noised Gram matrix ({})", spectrum.text("release")),
      fmt::format("An eigenvalue counts rows of full length along one direction. The eigenvalues of noise alone would "
                  "be within {:.4g} of 0, the shaded band.{}",
                  radius.get<double>(),
                  is_logarithmic ? " The scale is linear near 0, and logarithmic far outside the band." : ""),
      {{"label", "eigenvalue, from the largest"}, {"scale", "count"}},
      {{"label", "eigenvalue, in squares of the clip norm"}, {"scale", is_logarithmic ? "symlog" : "linear"}},
      {"eigenvalues as released"}, std::move(values));
  chart.spec["zone"] = {{"name", "what noise alone would be"}};
  chart.spec["series"][0]["draw"] = "dots";
  return chart;
}

}  // namespace

Section budget_section(const ReportedRun& run, const JsonFields& report) {
  if (!run.has_noise()) return {};
  const JsonFields privacy = report.object("privacy");
  return {"Where the budget went",
          {shares_block(run, privacy),
           table_of("All releases; sensitivity and noise in integer units", privacy.objects("releases"),
                    {text_in("release"), text_in("name", "block"), figure_in("coordinates", "numbers"),
                     cost_in("sensitivity"), noise_in("sigma", "noise, standard deviation"),
                     noise_in("sigma_off_diagonal", "beside the diagonal"), cost_in("mu"), figure_in("sampling_rate")},
                    "All releases"),
           selections_table(privacy)}};
}

Section released_section(const ReportedRun& run, const JsonFields& report) {
  Section section{"What came out, beside its noise", {}, run.is_private ? "" : "this run is not private"};
  for (const std::vector<ReportedBlock>& rounds : rounds_of(run.blocks)) {
    section.blocks.emplace_back(norms_chart(rounds));
  }
  std::vector<JsonFields> shown = report.object("privacy").objects("releases");
  std::erase_if(shown, [](const JsonFields& one) { return !one.has("norm") || !one.has("noise_norm"); });
  section.blocks.emplace_back(
      table_of("Norms of all releases, in integer units", shown,
               {text_in("release"), text_in("name", "block"), figure_in("norm", "norm of what came out"),
                figure_in("noise_norm", "norm of noise, expected")},
               "Norms of all releases"));
  for (const JsonFields& spectrum : report.objects("spectra")) section.blocks.emplace_back(spectrum_chart(spectrum));
  return section;
}

}  // namespace dpreduce
