// Release "pca": the release "gram" (gram.hpp), with its sensitivity, under a name of its own, for the principal
// components of rows whose method releases a Gram matrix too.
// Persons: clipped.
#include "worker/statistics/gram.hpp"

namespace dpreduce {
namespace pca_entry {

ReleaseRequest request_of(const ReleaseTerms& terms, double share) {
  ReleaseRequest request = gram_release(terms, share);
  request.name = "pca";
  return request;
}

StatisticCost cost_of(const ReleaseRequest&) {
  return {.row_change = RowChange::kComponents};
}

}  // namespace pca_entry

namespace statistics {
extern constinit const StatisticEntry pca{"pca",          TakenAt::kRows,     pca_entry::request_of,
                                          gram_statistic, pca_entry::cost_of, UnitForm::kClipped};
}  // namespace statistics

}  // namespace dpreduce
