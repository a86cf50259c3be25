// The diagonal Fisher rule: class means, variances and counts from one release.
#include <nlohmann/json.hpp>

#include "aggregator/solvers/mean_classifier.hpp"
#include "methods/registry.hpp"

namespace dpreduce {
namespace {

class FisherMethod : public TrainingMethod {
 public:
  using TrainingMethod::TrainingMethod;

  std::vector<ReleaseRequest> requests(ReleaseTerms terms) const override {
    return {registered_statistic("fisher").request(terms, 1.0)};
  }

  nlohmann::json settings() const override { return {{"select_by", to_string(select_by())}}; }

  LinearScores train(TrainingRun& run) const override {
    const Release release = run.release("fisher");
    run.end_phase("sums");
    LinearScores scores;
    if (run.ranks().is_coordinator()) {
      scores = solve_fisher_rule(release, run.rows().lattice(), options_.rows.select, select_by());
    }
    return shared_scores(std::move(scores), run);
  }

 private:
  SelectBy select_by() const { return options_.rows.select_by.value_or(SelectBy::kDistance); }
};

}  // namespace

const MethodEntry fisher_method{
    .name = "fisher",
    .help = "class means over variances, feature by feature",
    .takes = {{"--select-by t"}},
    .refuses = {{"--max-labels above 1", "variances within classes need rows of one class"},
                {"--select-share", "features are selected from its own release, at no charge"}},
    .make = make_of<FisherMethod>,
    .reads_rows_once = [](const FitOptions&) { return true; },
    .selects_features = true};

}  // namespace dpreduce
