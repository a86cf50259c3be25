#include "dpreduce/worker/registered_statistics.hpp"

#include <algorithm>
#include <array>

#include "dpreduce/config/error.hpp"
#include "dpreduce/worker/class_statistics.hpp"

namespace dpreduce {
namespace {

ReleaseRequest request_center(const ReleaseTerms& terms, double share) {
  return center_release(terms.dim, terms.adjacency, share);
}

ReleaseRequest request_class_means(const ReleaseTerms& terms, double share) {
  return class_means_release(terms.classes, terms.dim, terms.metric, terms.adjacency, share);
}

constexpr std::array kStatistics{RegisteredStatistic{"center", request_center, center_statistic},
                                 RegisteredStatistic{"class_means", request_class_means, class_means_statistic}};

}  // namespace

std::span<const RegisteredStatistic> registered_statistics() {
  return kStatistics;
}

const RegisteredStatistic& registered_statistic(std::string_view release) {
  const auto found = std::find_if(kStatistics.begin(), kStatistics.end(),
                                  [&](const RegisteredStatistic& statistic) { return statistic.release == release; });
  DPREDUCE_ASSERT(found != kStatistics.end());
  return *found;
}

}  // namespace dpreduce
