// Class means: nearest direction or nearest center.
#include <nlohmann/json.hpp>

#include "aggregator/solvers/mean_classifier.hpp"
#include "methods/registry.hpp"

namespace dpreduce {
namespace {

class MeanMethod : public TrainingMethod {
 public:
  using TrainingMethod::TrainingMethod;

  std::vector<ReleaseRequest> requests(ReleaseTerms terms) const override {
    terms.metric = options_.method.metric;
    return {registered_statistic("class_means").request(terms, 1.0)};
  }

  nlohmann::json settings() const override { return {{"metric", to_string(options_.method.metric)}}; }

  LinearScores train(TrainingRun& run) const override {
    const Release release = run.release("class_means");
    run.end_phase("sums");
    LinearScores scores;
    if (run.ranks().is_coordinator()) {
      scores = solve_mean_classifier(release, run.rows().lattice(), options_.method.metric, options_.rows.select);
    }
    return shared_scores(std::move(scores), run);
  }
};

}  // namespace

const MethodEntry mean_method{
    .name = "mean",
    .help = "class means: nearest direction, or nearest center",
    .takes = {{"--metric"}},
    .refuses = {{"--select-share", "features are selected from its own release, at no charge"}},
    .make = make_of<MeanMethod>,
    .reads_rows_once = [](const FitOptions&) { return true; },
    .has_constant = [](const FitOptions& options) { return options.method.metric == Metric::kEuclidean; },
    .selects_features = true};

}  // namespace dpreduce
