#include "methods/timings.hpp"

#include <algorithm>

#include "common/ranks/rank_archive.hpp"

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

std::vector<RankTimings> gather_timings(const Timings& timings, Communicator& ranks) {
  std::string own;
  ranks.together([&] { own = archived(timings.phases()); });
  const std::vector<std::string> archives = ranks.trusted().gather(own);
  std::vector<RankTimings> all;
  ranks.together([&] {
    for (const std::string& archive : archives) all.push_back(unarchived<RankTimings>(archive));
  });
  return all;
}

}  // namespace dpreduce
