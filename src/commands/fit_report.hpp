// What a fit says when it is done. Public constants, released values, and figures about test rows; never an exact count
// or sum of training rows.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "dpreduce/commands/fit_plan.hpp"
#include "dpreduce/model/classifier.hpp"
#include "dpreduce/model/metrics.hpp"

namespace dpreduce {

/// Seconds of each phase of a command.
class Timings {
 public:
  /// Gives the time since the last call, or since construction, to `phase`.
  void end_phase(const std::string& phase);
  const std::vector<std::pair<std::string, double>>& phases() const { return phases_; }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::vector<std::pair<std::string, double>> phases_;
};

/// The report; keys are part of the command-line contract.
nlohmann::json fit_report(const FitOptions& options, const FitPlan& plan, const Classifier& classifier,
                          const std::optional<ConfusionMatrix>& test, const Timings& timings, int ranks,
                          unsigned threads);

/// The same, in a few lines, or as JSON with --format json.
void print_fit(const FitOptions& options, const FitPlan& plan, const nlohmann::json& report, const Timings& timings);

}  // namespace dpreduce
