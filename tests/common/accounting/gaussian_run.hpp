// Runs of one mechanism, and of the Gaussians that the oracle tables name.
#pragma once

#include "common/accounting/mechanism.hpp"
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

}  // namespace dpreduce
