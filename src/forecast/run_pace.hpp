// How far a run has come, and how long it will still take.
//
// Each phase has its part of the run by the work that it is (run_cost.hpp). A run of which a share f is done after t
// seconds takes t / f in all.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "forecast/run_cost.hpp"

namespace dpreduce {

class RunPace {
 public:
  /// A run without phases is done at once.
  explicit RunPace(const std::vector<PhaseWork>& phases);

  /// A pass over rows begins, for the phase of that name: its next round. Passes of other names are shown, and have no
  /// part of the run.
  void begin(std::string_view pass);
  /// `share` of the rows of that pass are done, in [0, 1].
  void advance(double share);

  /// What the run does: "gradient, round 3 of 20"; empty before the first pass.
  std::string doing() const;
  /// Of the whole run, in [0, 1]; never falls.
  double share() const { return share_; }
  /// Of the whole run, to compare it with others.
  double work() const { return work_; }

 private:
  struct Phase {
    std::string name;
    double begins;   // share of the run before it
    double share;    // of the run
    double rounds;   // that are planned
    double started;  // of them
  };

  std::vector<Phase> phases_;
  double work_ = 0.0;
  std::string pass_;
  std::optional<std::size_t> current_;  // place of the phase of that pass, where it has one
  double share_ = 0.0;
};

/// Seconds that a run will still take, `share` of it being done after `elapsed` seconds. Precondition: 0 < share <= 1.
double seconds_left(double share, double elapsed);

/// "40 s", "7 min", "2 h 10 min".
std::string print_duration(double seconds);

}  // namespace dpreduce
