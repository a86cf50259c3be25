// One run as every accountant states it: what `privacy convert` and `privacy compose` print.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace dpreduce {

/// Figures that an accountant cannot give are empty, and the reason says why.
struct AccountedGuarantee {
  double delta = 0.0;
  std::optional<double> epsilon;  ///< as stated, else the least that holds
  std::optional<double> mu;
  std::optional<double> rho;
  std::optional<double> sigma;  ///< of one Gaussian release with this mu
  std::optional<double> gdp;
  std::optional<double> zcdp_simple;
  std::optional<double> zcdp_tight;
  std::optional<double> rdp;
  std::optional<double> pld;
  std::optional<double> pld_lower;
  std::string no_gdp;     ///< why mu, sigma and epsilon_gdp are absent
  std::string no_zcdp;    ///< why rho and epsilon_zcdp_* are absent
  std::string no_search;  ///< why epsilon_rdp and epsilon_pld are absent
  std::string why;        ///< why the figures differ, in one line
};

/// Absent figures are null, and `not_computed` has the reason under the same key.
nlohmann::json to_json(const AccountedGuarantee& guarantee);

/// One line a figure, then why they differ.
void print_text(const AccountedGuarantee& guarantee);

}  // namespace dpreduce
