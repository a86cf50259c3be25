// Progress of runs for monitoring programs (--metrics): one JSON line for every release when it becomes public, and one
// line for the end of each run.
//
//     {"phase": "gradient", "round": 3, "rounds": 20, "private": true, "bytes": 40960,
//      "blocks": [{"name": "gradient", "norm": 812.4, "noise_norm": 655.1}],
//      "spent": {"mu": 0.09, "epsilon": 0.31, "delta": 1e-6, "unit": "record"}}
//
// Lines are functions of released numbers and of the plan: they cost no privacy. In a run with a seed, whose noise
// anyone can compute, "private" is false, and norms are for the data's owner.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "common/base/output_file.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/ledger/spending.hpp"
#include "fit/release_figures.hpp"
#include "methods/fit_plan.hpp"

namespace dpreduce {

/// Writer of the JSON lines of one run.
class RunMetrics {
 public:
  /// Writes the lines of a run with that plan into `file`; file and plan outlive the object. Epsilons hold for `unit`
  /// and are reported at `delta`.
  RunMetrics(LineFile& file, const FitPlan& plan, PrivacyUnit unit, double delta);

  /// Writes the line of a release. Call it with every release in turn (TrainingTerms::observer) and its figures.
  /// Precondition: the plan has noise. Throws as LineFile::write.
  void add(std::string_view release, std::span<const BlockFigures> figures);
  /// Writes that the run is done, and that all of its plan is spent, selections included. Throws as LineFile::write.
  void end();

 private:
  Spending spent() const;
  void write(nlohmann::json line);

  LineFile& file_;
  const FitPlan& plan_;
  PrivacyUnit unit_;
  double delta_;
  std::map<std::string, std::uint64_t, std::less<>> rounds_;  // of each release so far
};

}  // namespace dpreduce
