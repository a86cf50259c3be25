// The course of a run for programs that look on (--metrics): a JSON line for every release as it becomes public, and
// one for the end.
//
//     {"phase": "gradient", "round": 3, "rounds": 20, "private": true, "seconds": 1.7, "bytes": 40960,
//      "blocks": [{"name": "gradient", "norm": 812.4, "noise_norm": 655.1}],
//      "spent": {"mu": 0.09, "epsilon": 0.31, "delta": 1e-6}}
//
// Functions of released numbers, of the plan, and of time: they cost nothing. In a run with a seed, whose noise anyone
// can compute, "private" is false, and norms are for the data's owner.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "common/data/line_file.hpp"
#include "common/plan/spending.hpp"
#include "fit/release_figures.hpp"
#include "run/fit_plan.hpp"

namespace dpreduce {

class RunMetrics {
 public:
  /// Of a run with that plan, which has noise and outlives this. Epsilons are told at `delta`. Throws as LineFile.
  RunMetrics(const std::string& path, Existing existing, const FitPlan& plan, double delta);

  /// To be called with every release in turn (TrainingTerms::observer), and its figures. Throws as LineFile::write.
  void add(std::string_view release, std::span<const BlockFigures> figures);
  /// The run is done, and all of its plan is spent, selections too.
  void end();

 private:
  double seconds() const;
  Spending spent() const;

  LineFile file_;
  const NoisePlan& plan_;
  bool is_private_;
  double delta_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::map<std::string, std::uint64_t, std::less<>> rounds_;  // of each release so far
};

}  // namespace dpreduce
