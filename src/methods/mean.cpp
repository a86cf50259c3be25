// Class means: nearest direction or nearest centre.
#include <nlohmann/json.hpp>

#include "dpreduce/aggregator/mean_classifier.hpp"
#include "dpreduce/methods/training_method.hpp"

namespace dpreduce {
namespace {

class MeanMethod : public TrainingMethod {
 public:
  MeanMethod(Metric metric, std::size_t select) : metric_(metric), select_(select) {}

  std::string_view name() const override { return "mean"; }

  std::vector<ReleaseRequest> requests(ReleaseTerms terms) const override {
    terms.metric = metric_;
    return {registered_statistic("class_means").request(terms, 1.0)};
  }

  nlohmann::json settings() const override { return {{"metric", to_string(metric_)}}; }

  LinearScores train(TrainingRun& run) const override {
    const Release release = run.release("class_means");
    run.end_phase("sums");
    LinearScores scores;
    if (run.ranks().is_coordinator()) scores = solve_mean_classifier(release, run.lattice(), metric_, select_);
    return shared_scores(std::move(scores), run);
  }

 private:
  Metric metric_;
  std::size_t select_;
};

}  // namespace

std::unique_ptr<TrainingMethod> make_mean_method(const FitOptions& options) {
  return std::make_unique<MeanMethod>(options.metric, options.select);
}

}  // namespace dpreduce
