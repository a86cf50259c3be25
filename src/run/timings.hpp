// Seconds of each phase of a command.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace dpreduce {

class Timings {
 public:
  using Told = std::function<void(const std::string& phase, double seconds)>;

  /// `told` of every phase when it ends; null: nobody is.
  explicit Timings(Told told = nullptr) : told_(std::move(told)) {}

  /// Gives the time since the last call, or since construction, to `phase`; a phase that comes again adds up.
  void end_phase(const std::string& phase);
  const std::vector<std::pair<std::string, double>>& phases() const { return phases_; }

 private:
  Told told_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::vector<std::pair<std::string, double>> phases_;
};

}  // namespace dpreduce
