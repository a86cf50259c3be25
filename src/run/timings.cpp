#include "run/timings.hpp"

#include <algorithm>

namespace dpreduce {

void Timings::end_phase(const std::string& phase) {
  const auto now = std::chrono::steady_clock::now();
  const double seconds = std::chrono::duration<double>(now - last_).count();
  last_ = now;
  const auto known = std::find_if(phases_.begin(), phases_.end(), [&](const auto& p) { return p.first == phase; });
  if (known != phases_.end()) {
    known->second += seconds;
  } else {
    phases_.emplace_back(phase, seconds);
  }
  if (on_phase_) on_phase_(phase, seconds);
}

}  // namespace dpreduce
