#include "report/accounted_guarantee.hpp"

#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "common/accounting/budget.hpp"
#include "common/base/number_text.hpp"

namespace dpreduce {
namespace {

constexpr int kFigureDigits = 15;

struct Figure {
  std::string key;
  std::optional<double> value;
  std::string meaning;
  std::string reason_if_absent;
};

std::vector<Figure> figures_of(const AccountedGuarantee& g) {
  return {
      {"epsilon_gdp", g.gdp, "exact for Gaussian noise", g.no_gdp},
      {"epsilon_pld", g.pld, "privacy loss distribution: upper end of its grid", g.no_search},
      {"epsilon_pld_lower", g.pld_lower, "and lower end", g.no_search},
      {"epsilon_rdp", g.rdp, "Renyi DP, best order", g.no_search},
      {"epsilon_zcdp_tight", g.zcdp_tight, "zCDP, best order", g.no_zcdp},
      {"epsilon_zcdp_simple", g.zcdp_simple, "zCDP, rho + 2 sqrt(rho ln(1/delta))", g.no_zcdp},
      {"mu", g.mu, "Gaussian DP", g.no_gdp},
      {"rho", g.rho, "zero-concentrated DP", g.no_zcdp},
      {"sigma", g.sigma, "one Gaussian release of the same mu", g.no_gdp},
  };
}

}  // namespace

nlohmann::json to_json(const AccountedGuarantee& guarantee) {
  nlohmann::json json{{"delta", guarantee.delta}, {"epsilon", or_null(guarantee.epsilon)}, {"why", guarantee.why}};
  json["not_computed"] = nlohmann::json::object();
  for (const Figure& figure : figures_of(guarantee)) {
    json[figure.key] = or_null(figure.value);
    if (!figure.value) json["not_computed"][figure.key] = figure.reason_if_absent;
  }
  return json;
}

void print_text(const AccountedGuarantee& guarantee) {
  fmt::print("delta                {}\n", upper_figure(guarantee.delta));
  for (const Figure& figure : figures_of(guarantee)) {
    if (figure.value) {
      const bool is_lower = figure.key == "epsilon_pld_lower" || figure.key == "sigma";
      fmt::print("{:<20} {:<18} {}\n", figure.key,
                 is_lower ? lower_figure(*figure.value, kFigureDigits) : upper_figure(*figure.value, kFigureDigits),
                 figure.meaning);
    } else {
      fmt::print("{:<20} none: {}\n", figure.key, figure.reason_if_absent);
    }
  }
  fmt::print("why                  {}\n", guarantee.why);
}

}  // namespace dpreduce
