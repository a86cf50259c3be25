#include "fit/rank_timings.hpp"

#include <boost/serialization/utility.hpp>

#include "common/ranks/rank_archive.hpp"

namespace dpreduce {

std::vector<RankTimings> gather_timings(const Timings& timings, Communicator& ranks) {
  std::string own;
  ranks.together([&] { own = archived(timings.phases()); });
  const std::vector<std::string> archives = ranks.gather_messages(own);
  std::vector<RankTimings> all;
  ranks.together([&] {
    for (const std::string& archive : archives) all.push_back(unarchived<RankTimings>(archive));
  });
  return all;
}

}  // namespace dpreduce
