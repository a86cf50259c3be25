// What a statistic costs, in public numbers and for one row: the run's cost is made of it (forecast/run_cost.hpp).
//
// Every statistic has rows read, transformed and rounded, its blocks summed up over ranks and noised; what is said here
// comes on top. Multiply-adds are those of exact integer products.
#pragma once

#include <cstddef>

#include "common/plan/noise_plan.hpp"

namespace dpreduce {

/// What a method may make of a release that later rows are prepared with.
enum class RowChange {
  kNone,
  kCenter,      ///< their mean, d words to each rank; of rows before any projection
  kComponents,  ///< the matrix that rows are projected by, to each rank; of rows before any projection
  kWhitening    ///< the same, by G^(-1/2); of rows that may be projected already
};

/// What costs depend on beside the request.
struct CostTerms {
  std::size_t labels_per_row = 1;  ///< k, the most classes of a row
  bool has_prior = false;          ///< rounds have a second head
};

struct StatisticCost {
  double product_macs = 0.0;  ///< a row: of Gram matrices and digests
  double round_macs = 0.0;    ///< a row: of scores, residuals and gradients, or of distances from a center
  double words_down = 0.0;    ///< of 8 bytes, to each rank, a round: its point, or what every rank gets of it
  double passes = 1.0;        ///< over the rows, a round
  RowChange row_change = RowChange::kNone;
};

/// Of a statistic that adds up what rows are made of, n d additions or less: nothing on top.
inline StatisticCost cost_of_sums(const ReleaseRequest&, const CostTerms&) {
  return {};
}

inline double elements_of(const BlockRequest& block) {
  return static_cast<double>(block.elements);
}

}  // namespace dpreduce
