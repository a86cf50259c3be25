#include "dpreduce/methods/row_preparation.hpp"

#include "dpreduce/aggregator/mean_classifier.hpp"

namespace dpreduce {
namespace {

void center_rows(TrainingRun& run, const FitOptions& options) {
  const Lattice lattice = run.lattice();
  const Release sums = options.center == Centering::kPublic ? run.sum_public("center") : run.release("center");
  std::vector<double> center(lattice.dim);
  if (run.ranks().is_coordinator()) center = solve_center(sums, lattice);
  run.ranks().broadcast(center);
  run.set_center(std::move(center));
  run.end_phase("center");
}

}  // namespace

std::vector<ReleaseRequest> preparation_requests(const FitOptions& options, ReleaseTerms& terms) {
  std::vector<ReleaseRequest> requests;
  if (options.center == Centering::kDp) {
    requests.push_back(registered_statistic("center").request(terms, options.center_share));
  }
  return requests;
}

void prepare_rows(TrainingRun& run, const FitOptions& options) {
  if (options.center != Centering::kNone) center_rows(run, options);
}

}  // namespace dpreduce
