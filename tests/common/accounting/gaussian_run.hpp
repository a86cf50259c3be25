// Runs of one mechanism, and of the Gaussians that the oracle tables name.
#pragma once

#include "common/accounting/mechanism.hpp"
#include "tests/common/accounting/vector_table.hpp"
#include "tests/testing.hpp"

namespace dpreduce {

inline std::vector<RepeatedMechanism> repeated(const Mechanism& mechanism, double count = 1) {
  return {{mechanism, static_cast<std::uint64_t>(count)}};
}

/// "1x3+10x5" is one Gaussian of noise multiplier 3 and ten of 5.
inline std::vector<RepeatedMechanism> gaussian_run(const std::string& text) {
  std::vector<RepeatedMechanism> run;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, '+');) {
    const std::size_t cross = part.find('x');
    run.push_back({GaussianMechanism{std::stod(part.substr(cross + 1))}, std::stoull(part.substr(0, cross))});
  }
  return run;
}

/// Rows of both tables of Gaussian compositions, equal and mixed, each with its run.
template <typename Check>
void for_each_gaussian_run(const Check& check) {
  for_each_row("gaussian_composition.csv", [&](const VectorRow& row) {
    check(row, repeated(GaussianMechanism{row.number("noise_multiplier_z")}, row.number("k")));
  });
  for_each_row("gaussian_composition_hetero.csv",
               [&](const VectorRow& row) { check(row, gaussian_run(row.text("noise_multipliers_z(counts)"))); });
}

}  // namespace dpreduce
