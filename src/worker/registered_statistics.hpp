// Every statistic that a method computes from rows, beside the release that it is declared for. What is not listed here
// has no pass over the rows; what is listed is compared with its declared sensitivity, on neighbouring data sets, by a
// test that goes through this list.
#pragma once

#include <span>
#include <string_view>

#include "common/base/choices.hpp"
#include "common/plan/declared_releases.hpp"
#include "worker/statistic_inputs.hpp"

namespace dpreduce {

/// What the declared releases depend on; all public.
struct ReleaseTerms {
  std::size_t classes = 0;
  std::size_t most_labels = 1;  ///< k: classes of a row
  std::size_t dim = 0;
  Metric metric = Metric::kCosine;
  Adjacency adjacency = Adjacency::kAddRemove;
  double gram_share = 0.5;     ///< of a least_squares release's mu^2
  double alpha = 1.0;          ///< weight of G beside class Gram matrices
  double hessian_share = 0.5;  ///< of a newton release's mu^2
  Loss loss = Loss::kSoftmax;  ///< of a newton release
  std::uint64_t rounds = 1;    ///< of gradients
};

struct RegisteredStatistic {
  std::string_view release;
  /// The declaration, with its share of mu^2.
  ReleaseRequest (*request)(const ReleaseTerms& terms, double share);
  /// The blocks of `request` from a worker's rows. Errors: as for_each_lattice_chunk.
  Statistic (*compute)(const ReleaseRequest& request, const StatisticInputs& inputs);
};

std::span<const RegisteredStatistic> registered_statistics();

/// The entry of that release. Throws std::logic_error where there is none.
const RegisteredStatistic& registered_statistic(std::string_view release);

}  // namespace dpreduce
