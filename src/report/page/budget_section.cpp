// Where the budget went, and what came out for it: norms and spectra of released numbers beside those of their noise.
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "report/page/html.hpp"
#include "report/page/sections.hpp"

namespace dpreduce {
namespace {

// Rounds that differ in nothing but their number and what came out.
struct Rounds {
  std::string block;
  std::vector<JsonFields> releases;

  std::string heading() const {
    return releases.size() == 1 ? block : fmt::format("{}, {} rounds", block, releases.size());
  }
};

std::vector<Rounds> rounds_of(const JsonFields& privacy) {
  std::vector<Rounds> all;
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

std::optional<double> squared_mu(const JsonFields& release) {
  if (!release.number("mu").is_number() || release.has("sampling_rate")) return std::nullopt;
  return std::pow(release.number("mu").get<double>(), 2);
}

// mu^2 adds up over releases and selections: shares of it are shares of the budget. Not where rounds are on samples.
struct Spent {
  std::string heading;
  double squared_mu;
};

std::optional<std::vector<Spent>> spent_by(const std::vector<Rounds>& rounds, const JsonFields& privacy) {
  std::vector<Spent> spent;
  for (const Rounds& one : rounds) {
    spent.push_back({one.heading(), 0.0});
    for (const JsonFields& release : one.releases) {
      const std::optional<double> of_release = squared_mu(release);
      if (!of_release) return std::nullopt;
      spent.back().squared_mu += *of_release;
    }
  }
  for (const JsonFields& selection : privacy.objects("selections")) {
    const std::optional<double> of_selection = squared_mu(selection);
    if (!of_selection) return std::nullopt;
    spent.push_back({selection.text("name"), *of_selection});
  }
  return spent;
}

std::string shares_chart(const std::vector<Spent>& spent) {
  double sum = 0.0;
  for (const Spent& one : spent) sum += one.squared_mu;
  if (!(sum > 0.0)) return {};
  Table values("Shares of the budget", {"release", "mu of all its rounds", "share of mu squared"});
  for (const Spent& one : spent) {
    const double share = one.squared_mu / sum;
    values.add({name(one.heading), at_most(std::sqrt(one.squared_mu)), percent(share)});
  }
  return chart_html(
      {.title = "The budget by release",
       .caption = "Squares of mu add up, so each bar is a release's share of what the run spends.",
       .spec = {{"chart", "rows"}, {"x", {{"label", "share of mu squared"}, {"unit", "share"}}}, {"column", 2}},
       .values = std::move(values)});
}

std::string releases_table(const JsonFields& privacy) {
  Table table("All releases; sensitivity and noise in integer units",
              {"release", "block", "numbers", "sensitivity", "noise, standard deviation", "beside the diagonal", "mu",
               "sampling rate"});
  for (const JsonFields& release : privacy.objects("releases")) {
    table.add({name(release.text("release")), name(release.text("name")), figure(release.number("coordinates")),
               at_most(release.number("sensitivity")), at_least(release.number("sigma")),
               at_least(release.number("sigma_off_diagonal")), at_most(release.number("mu")),
               figure(release.number("sampling_rate"))});
  }
  return folded("All releases", table.html());
}

std::string selections_table(const JsonFields& privacy) {
  Table table("Private selections",
              {"selection", "mechanism", "epsilon", "mu", "candidates", "chosen of each group", "groups"});
  for (const JsonFields& selection : privacy.objects("selections")) {
    table.add({name(selection.text("name")), escaped(selection.text("mechanism")), at_most(selection.number("epsilon")),
               at_most(selection.number("mu")), figure(selection.number("candidates")),
               figure(selection.number("chosen")), figure(selection.number("groups"))});
  }
  return table.html();
}

std::string norms_table(const JsonFields& privacy) {
  Table table("Norms of all releases, in integer units",
              {"release", "block", "norm of what came out", "norm of noise, expected"});
  for (const JsonFields& release : privacy.objects("releases")) {
    if (!release.has("norm") || !release.has("noise_norm")) continue;
    table.add({name(release.text("release")), name(release.text("name")), figure(release.number("norm")),
               figure(release.number("noise_norm"))});
  }
  return folded("Norms of all releases", table.html());
}

// The norms of rounds over that of their noise, where the report has them; the first is round 1.
std::string norms_chart(const Rounds& rounds) {
  Table values("Norms of " + rounds.block + " over that of their noise", {"round", "as released", "noise alone"});
  std::size_t round = 0;
  std::size_t told = 0;
  for (const JsonFields& release : rounds.releases) {
    ++round;
    const nlohmann::json& norm = release.number("norm");
    const nlohmann::json& noise = release.number("noise_norm");
    if (!norm.is_number() || !noise.is_number()) continue;
    if (!(noise.get<double>() > 0.0)) release.refuse("noise_norm", "must be above 0");
    ++told;
    values.add({fmt::format("{}", round), figure(norm.get<double>() / noise.get<double>()), figure(1.0)});
  }
  if (told < 2) return {};
  return chart_html(
      {.title = fmt::format("Norm of each round's {}, beside its noise", rounds.block),
       .caption =
           "What came out is the exact sum and its noise together. Where both lines meet, a round is noise alone.",
       .spec = {{"chart", "lines"},
                {"x", {{"label", "round"}, {"scale", "count"}}},
                {"y", {{"label", "norm, over that which noise alone is expected to have"}, {"scale", "linear"}}},
                {"series",
                 {{{"name", rounds.block + ", as released"}, {"column", 1}, {"draw", "line"}},
                  {{"name", "its noise alone, expected"}, {"column", 2}, {"draw", "line"}}}}},
       .values = std::move(values)});
}

std::string spectrum_chart(const JsonFields& spectrum) {
  const std::vector<nlohmann::json> eigenvalues = spectrum.numbers("eigenvalues");
  const nlohmann::json& radius = spectrum.number("noise_radius");
  if (eigenvalues.empty() || !radius.is_number()) return {};
  if (!(radius.get<double>() > 0.0)) spectrum.refuse("noise_radius", "must be above 0");
  Table values("Eigenvalues of " + spectrum.text("release"), {"number", "eigenvalue"});
  values.add({"radius of the noise", figure(radius)});
  std::size_t number = 0;
  for (const nlohmann::json& eigenvalue : eigenvalues) {
    if (eigenvalue.is_null()) spectrum.refuse("eigenvalues", "must hold numbers");
    values.add({fmt::format("{}", ++number), figure(eigenvalue)});
  }
  // Where little stands out of the noise, a logarithm would hide how little it is.
  constexpr double kRadiiOfLogarithm = 20.0;
  const double largest = std::abs(eigenvalues.front().get<double>());
  const bool is_logarithmic = largest > kRadiiOfLogarithm * radius.get<double>();
  return chart_html({.title = fmt::format("Spectrum of the noised Gram matrix ({})", spectrum.text("release")),
                     .caption = fmt::format(
                         "An eigenvalue counts rows of full length along one direction. Noise alone would lie within "
                         "{:.4g} of 0, the shaded band.{}",
                         radius.get<double>(),
                         is_logarithmic ? " The scale is linear near 0, and logarithmic far outside the band." : ""),
                     .spec = {{"chart", "lines"},
                              {"x", {{"label", "eigenvalue, from the largest"}, {"scale", "count"}}},
                              {"y",
                               {{"label", "eigenvalue, in squares of the clip norm"},
                                {"scale", is_logarithmic ? "symlog" : "linear"}}},
                              {"zone", {{"name", "what noise alone would be"}}},
                              {"series", {{{"name", "eigenvalues as released"}, {"column", 1}, {"draw", "dots"}}}}},
                     .values = std::move(values)});
}

}  // namespace

void add_budget(std::vector<Section>& sections, const JsonFields& report) {
  const JsonFields privacy = report.object("privacy");
  const std::vector<Rounds> rounds = rounds_of(privacy);
  std::string body;
  if (const auto spent = spent_by(rounds, privacy)) {
    body += shares_chart(*spent);
  } else {
    body += paragraph("Rounds on samples of the rows have no mu of their own, so that no shares can be drawn.");
  }
  body += releases_table(privacy) + selections_table(privacy);
  const bool has_none = privacy.objects("releases").empty() && privacy.objects("selections").empty();
  if (!has_none) sections.push_back({"Where the budget went", body});
}

void add_released_values(std::vector<Section>& sections, const JsonFields& report) {
  std::string body;
  const JsonFields privacy = report.object("privacy");
  for (const Rounds& rounds : rounds_of(privacy)) body += norms_chart(rounds);
  body += norms_table(privacy);
  for (const JsonFields& spectrum : report.objects("spectra")) body += spectrum_chart(spectrum);
  if (body.empty()) return;
  sections.push_back(
      {"What came out, beside its noise", body, report.flag("private") ? "" : "this run is not private"});
}

}  // namespace dpreduce
