#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "dpreduce/commands/commands.hpp"
#include "dpreduce/privacy/gaussian_dp.hpp"
#include "dpreduce/privacy/guarantee.hpp"

namespace dpreduce {
namespace {

// sigma = sensitivity / mu, rounded up, with the mu that it realises.
struct Calibration {
  double sigma;
  Guarantee guarantee;
};

Calibration calibrate(const CalibrateOptions& options) {
  const double mu = budget_from(options.budget).mu(options.budget.accountant);
  const double sigma = sigma_for_mu(mu, options.sensitivity);
  return {sigma, guarantee_of(options.budget, mu)};
}

}  // namespace

void run_command(const CalibrateOptions& options, Communicator& ranks) {
  ranks.together([&] {
    const Calibration calibration = calibrate(options);
    if (!ranks.is_coordinator()) return;
    nlohmann::json json = to_json(calibration.guarantee);
    json["sigma"] = calibration.sigma;
    json["sensitivity"] = options.sensitivity;
    if (options.format == OutputFormat::kJson) {
      fmt::print("{}\n", json.dump(2));
      return;
    }
    const Guarantee& g = calibration.guarantee;
    fmt::print("sigma    {:.15g}   Gaussian noise on every coordinate, for L2 sensitivity {:g}\n", calibration.sigma,
               options.sensitivity);
    fmt::print("mu       {:.15g}   Gaussian DP\n", g.mu);
    fmt::print("rho      {:.15g}   zero-concentrated DP\n", g.rho);
    fmt::print("epsilon  {:.15g}   at delta {:g}, exact for Gaussian noise\n", g.epsilon, g.delta);
  });
}

}  // namespace dpreduce
