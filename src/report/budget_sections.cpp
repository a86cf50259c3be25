// Charts of the budget: where it went, and norms and spectra of released numbers beside those of their noise.
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "report/document_sections.hpp"
#include "report/run_facts.hpp"

namespace dpreduce {
namespace {

// Rounds that differ in nothing but their number and what came out.
struct AlikeRounds {
  std::string block;
  std::vector<JsonFields> releases;
};

std::vector<AlikeRounds> alike_rounds(const JsonFields& privacy) {
  std::vector<AlikeRounds> all;
  for (const JsonFields& release : privacy.objects("releases")) {
    const std::string block = release.text("name");
    const bool goes_on = !all.empty() && all.back().block == block &&
                         all.back().releases.back().number("sigma") == release.number("sigma") &&
                         all.back().releases.back().number("coordinates") == release.number("coordinates");
    if (!goes_on) all.push_back({block, {}});
    all.back().releases.push_back(release);
  }
  return all;
}

// mu^2 adds up over releases and selections: shares of it are shares of the budget. Not where rounds are on samples.
struct SpentPart {
  std::string heading;
  double squared_mu = 0.0;

  bool add(const JsonFields& release) {
    if (!release.number("mu").is_number() || release.has("sampling_rate")) return false;
    squared_mu += std::pow(release.number("mu").get<double>(), 2);
    return true;
  }
};

std::optional<std::vector<SpentPart>> spent_by(const JsonFields& privacy) {
  std::vector<SpentPart> spent;
  for (const AlikeRounds& rounds : alike_rounds(privacy)) {
    const std::size_t count = rounds.releases.size();
    std::string name = rounds.releases.front().text("release");
    if (count > 1) name = fmt::format("{}, {} rounds", name.substr(0, name.rfind('/')), count);
    if (!name.starts_with(rounds.block)) name += fmt::format(" ({})", rounds.block);
    spent.push_back({std::move(name)});
    for (const JsonFields& one : rounds.releases) {
      if (!spent.back().add(one)) return std::nullopt;
    }
  }
  for (const JsonFields& selection : privacy.objects("selections")) {
    spent.push_back({selection.text("name")});
    if (!spent.back().add(selection)) return std::nullopt;
  }
  return spent;
}

Block shares_block(const JsonFields& privacy) {
  const std::optional<std::vector<SpentPart>> spent = spent_by(privacy);
  if (!spent) {
    return Words{{}, {"Rounds on samples of the rows have no mu of their own, so shares cannot be drawn"}};
  }
  double sum = 0.0;
  for (const SpentPart& part : *spent) sum += part.squared_mu;
  Table values{.caption = "Shares of the budget",
               .columns = {"release", "mu of all its rounds", "share of mu squared"}};
  for (const SpentPart& part : *spent) {
    if (sum > 0.0) values.add({part.heading, at_most(std::sqrt(part.squared_mu)), percent(part.squared_mu / sum)});
  }
  return Chart{.title = "The budget by release",
               .caption = "Squares of mu add up: each bar is the share of one release in the spending of the run.",
               .spec = {{"chart", "rows"}, {"x", {{"label", "share of mu squared"}}}, {"column", 2}},
               .values = std::move(values)};
}

constexpr std::size_t kFewestDrawn = 4;  // rounds: of fewer the table of norms says as much

// The norms of rounds over that of their noise, where the report has them; the first is round 1.
Chart norms_chart(const AlikeRounds& rounds) {
  Table values{.caption = "Norms of " + rounds.block + " over that of their noise",
               .columns = {"round", "as released", "noise alone"}};
  std::size_t round = 0;
  for (const JsonFields& release : rounds.releases) {
    ++round;
    const nlohmann::json& norm = release.number("norm");
    const nlohmann::json& noise = release.number("noise_norm");
    if (!norm.is_number() || !noise.is_number()) continue;
    if (!(noise.get<double>() > 0.0)) release.refuse("noise_norm", "must be above 0");
    values.add({fmt::format("{}", round), figure(norm.get<double>() / noise.get<double>()), figure(1.0)});
  }
  if (values.rows.size() < kFewestDrawn) values.rows.clear();
  return line_chart(fmt::format("Norm of each round's {}, beside its noise", rounds.block),
                    "The released vector is the exact sum plus noise. Where the lines meet, a round is noise alone.",
                    {"round", "count"}, {"norm over the expected norm of noise alone"},
                    {rounds.block + ", as released", "its noise alone, expected"}, std::move(values));
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
      {"eigenvalue, from the largest", "count"},
      {"eigenvalue, in squares of the clip norm", is_logarithmic ? "symlog" : "linear"}, {"eigenvalues as released"},
      std::move(values));
  chart.spec["zone"] = {{"name", "what noise alone would be"}};
  chart.spec["series"][0]["draw"] = "dots";
  return chart;
}

}  // namespace

Section budget_section(const JsonFields& report) {
  const JsonFields privacy = report.object("privacy");
  const std::vector<JsonFields> releases = privacy.objects("releases");
  if (releases.empty() && privacy.objects("selections").empty()) return {};
  return {"Where the budget went",
          {shares_block(privacy),
           table_of("All releases; sensitivity and noise in integer units", releases,
                    {{"release", "", Written::kText},
                     {"name", "block", Written::kText},
                     {"coordinates", "numbers"},
                     {"sensitivity", "", Written::kAtMost},
                     {"sigma", "noise, standard deviation", Written::kAtLeast},
                     {"sigma_off_diagonal", "beside the diagonal", Written::kAtLeast},
                     {"mu", "", Written::kAtMost},
                     {"sampling_rate"}},
                    "All releases"),
           selections_table(privacy)}};
}

Section released_section(const JsonFields& report) {
  Section section{"What came out, beside its noise", {}, report.flag("private") ? "" : "this run is not private"};
  const JsonFields privacy = report.object("privacy");
  for (const AlikeRounds& rounds : alike_rounds(privacy)) section.blocks.emplace_back(norms_chart(rounds));
  std::vector<JsonFields> shown = privacy.objects("releases");
  std::erase_if(shown, [](const JsonFields& one) { return !one.has("norm") || !one.has("noise_norm"); });
  section.blocks.emplace_back(table_of("Norms of all releases, in integer units", shown,
                                       {{"release", "", Written::kText},
                                        {"name", "block", Written::kText},
                                        {"norm", "norm of what came out"},
                                        {"noise_norm", "norm of noise, expected"}},
                                       "Norms of all releases"));
  for (const JsonFields& spectrum : report.objects("spectra")) section.blocks.emplace_back(spectrum_chart(spectrum));
  return section;
}

}  // namespace dpreduce
