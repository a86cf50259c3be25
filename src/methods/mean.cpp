// Class means: nearest direction or nearest center.
#include <nlohmann/json.hpp>

#include "aggregator/solvers/mean_classifier.hpp"
#include "methods/registry.hpp"

namespace dpreduce {
namespace {

class MeanMethod : public TrainingMethod {
 public:
  explicit MeanMethod(const FitOptions& options) : metric_(options.method.metric), select_(options.rows.select) {}

  std::vector<ReleaseRequest> requests(ReleaseTerms terms) const override {
    terms.metric = metric_;
    return {registered_statistic("class_means").request(terms, 1.0)};
  }

  nlohmann::json settings() const override { return {{"metric", to_string(metric_)}}; }

  LinearScores train(TrainingRun& run) const override {
    const Release release = run.release("class_means");
    run.end_phase("sums");
    LinearScores scores;
    if (run.ranks().is_coordinator()) scores = solve_mean_classifier(release, run.rows().lattice(), metric_, select_);
    return shared_scores(std::move(scores), run);
  }

 private:
  Metric metric_;
  std::size_t select_;
};

}  // namespace

const MethodEntry& mean_method() {
  static const MethodEntry entry{
      .name = "mean",
      .help = "class means: nearest direction, or nearest center",
      .takes = {{"--metric"}},
      .refuses = {{"--select-share", "features are selected from its own release, at no charge"}},
      .make = make_of<MeanMethod>,
      .reads_rows_once = [](const FitOptions&) { return true; },
      .has_constant = [](const FitOptions& options) { return options.method.metric == Metric::kEuclidean; },
      .selects_features = true};
  return entry;
}

}  // namespace dpreduce
