// Release "feature_sums": the class sums of the release "class_means" (class_means.hpp, Metric::kCosine), with its
// sensitivity, under a name of its own, to select features by before the method's own releases.
// Persons: clipped.
#include "common/plan/metric.hpp"
#include "worker/statistics/class_means.hpp"

namespace dpreduce {
namespace feature_sums_entry {

ReleaseRequest request_of(const ReleaseTerms& terms, double share) {
  ReleaseTerms of_sums = terms;
  of_sums.metric = Metric::kCosine;
  ReleaseRequest request = class_means_release(of_sums, share);
  request.name = "feature_sums";
  return request;
}

}  // namespace feature_sums_entry

namespace statistics {
extern constinit const StatisticEntry feature_sums{
    "feature_sums",        TakenAt::kRows, feature_sums_entry::request_of,
    class_means_statistic, cost_of_sums,   UnitForm::kClipped};
}  // namespace statistics

}  // namespace dpreduce
