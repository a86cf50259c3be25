// Prototypes chosen among public rows: the only thing released is which.
//
//     classes' utilities of all public rows  ->  K private choices  ->  W_c = mean of the chosen rows, each of length 1
//
// so that <W_c, x> is the mean cosine of x to the prototypes of class c, and 1 less that its mean distance. Source:
// [wahdany2025], DPPL-Public and DPPL-PublicK (C.3).
#include <nlohmann/json.hpp>

#include "common/lattice/lattice_rows.hpp"
#include "methods/prototypes.hpp"
#include "methods/registry.hpp"
#include "worker/utilities.hpp"

namespace dpreduce {
namespace {

class PublicRowsMethod : public TrainingMethod {
 public:
  explicit PublicRowsMethod(const FitOptions& options)
      : TrainingMethod(options),
        per_class_(options.method.top_k.value_or(1)),
        d_min_(options.method.d_min.value_or(0.0)),
        d_max_(options.method.d_max.value_or(2.0)),
        clip_(cosine_clip(d_min_, d_max_)) {}

  std::vector<ReleaseRequest> requests(ReleaseTerms) const override { return {}; }

  std::optional<PlannedSelection> selection(const ReleaseTerms& terms, std::uint64_t public_rows) const override {
    return prototype_selection(terms.classes, public_rows, per_class_, clip_, 0.0);
  }

  nlohmann::json settings() const override { return {{"top_k", per_class_}, {"d_min", d_min_}, {"d_max", d_max_}}; }

  LinearScores train(TrainingRun& run) const override {
    const Selection& chosen = run.select_public_rows(clip_);
    LinearScores scores;
    run.ranks().at_coordinator([&] {
      scores = {mean_rows(chosen, run), std::vector<double>(run.rows().classes(), 0.0)};
    });
    return shared_scores(std::move(scores), run);
  }

 private:
  static std::vector<double> mean_rows(const Selection& chosen, TrainingRun& run) {
    const std::size_t dim = run.rows().preprocessing().dim();
    std::vector<double> weights(run.rows().classes() * dim, 0.0);
    for (std::size_t c = 0; c < run.rows().classes(); ++c) {
      const auto prototypes = chosen.of_group(c);
      const double share = 1.0 / (run.rows().preprocessing().clip_norm * static_cast<double>(prototypes.size()));
      for (const std::uint64_t index : prototypes) {
        const std::vector<double> row = run.candidate_row(index);
        for (std::size_t a = 0; a < dim; ++a) weights[c * dim + a] += share * row[a];
      }
    }
    return weights;
  }

  std::size_t per_class_;
  double d_min_;
  double d_max_;
  CosineClip clip_;
};

}  // namespace

const MethodEntry public_method{
    .name = "public",
    .help = "public rows as prototypes: only the choice is released, with pure DP",
    .takes = {{"--top-k", "1"}, {"--d-min", "0"}, {"--d-max", "2"}},
    .refuses = refused_by_public_choice(),
    .make = make_of<PublicRowsMethod>,
    .reads_rows_once = [](const FitOptions& options) { return !options.method.d_min && !options.method.d_max; },
    .chooses_public_rows = true};

}  // namespace dpreduce
