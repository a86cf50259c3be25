// Statistics that are released to be kept: what refits are made of. Trains nothing.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "methods/class_balance.hpp"
#include "methods/least_squares_terms.hpp"
#include "methods/registry.hpp"
#include "methods/target_regression.hpp"

namespace dpreduce {
namespace {

// One release, or two, of those that methods make: statistics that are made together in one pass are one release of
// theirs. Of rows with numbers it is the Gram matrix, which holds them.
class ReleaseMethod : public TrainingMethod {
 public:
  explicit ReleaseMethod(const FitOptions& options)
      : TrainingMethod(options),
        has_targets_(options.data.has_targets()),
        gram_share_(least_squares_gram_share(options)),
        intercept_(has_matrices() ? least_squares_intercept(options) : 0.0),
        alpha_(has(StatisticKind::kGram) && !has_targets_ ? usual_alpha(options) : 0.0) {}

  std::vector<ReleaseRequest> requests(ReleaseTerms terms) const override {
    if (has_targets_) return {target_gram_request(terms, 1.0)};
    terms.gram_share = gram_share_;
    terms.alpha = alpha_;
    terms.metric =
        main_release() == "class_means" && has(StatisticKind::kClassSizes) ? Metric::kEuclidean : Metric::kCosine;
    // Refits divide sums by sizes: these are then of one form.
    if (has(StatisticKind::kClassSizes)) terms.clips_units = false;
    if (intercept_ > 0.0) ++terms.dim;
    const double sizes = releases_sizes_apart() ? kSizesShare : 0.0;
    std::vector<ReleaseRequest> requests;
    if (releases_sizes_apart()) {
      requests.push_back(registered_statistic("class_sizes").request(terms, main_release().empty() ? 1.0 : sizes));
    }
    if (!main_release().empty()) {
      requests.push_back(registered_statistic(main_release()).request(terms, 1.0 - sizes));
    }
    return requests;
  }

  nlohmann::json settings() const override {
    nlohmann::json settings = has_targets_ ? row_shares() : nlohmann::json{{"intercept", intercept_}};
    settings["statistics"] = nlohmann::json::array();
    for (const StatisticKind kind : options_.statistics) settings["statistics"].push_back(to_string(kind));
    if (has_targets_) return settings;
    if (has_matrices()) settings["gram_share"] = gram_share_;
    if (has(StatisticKind::kClassGrams)) settings["alpha"] = alpha_;
    return settings;
  }

  /// Makes the releases of the rows, which the run's observer is shown. All scores are 0.
  LinearScores train(TrainingRun& run) const override {
    has_targets_ ? set_rows_with_targets(run) : run.rows().set_intercept(intercept_);
    if (releases_sizes_apart()) run.release("class_sizes");  // what is made in parts comes last
    const std::string_view name = main_release();
    if (name == "class_least_squares") {
      run.keep_class_grams();
    } else if (!name.empty()) {
      run.release(name);
    }
    run.end_phase("sums");
    const std::size_t classes = run.rows().classes();
    return {std::vector<double>(classes * run.rows().preprocessing().dim()), std::vector<double>(classes)};
  }

 private:
  bool has(StatisticKind kind) const {
    return std::ranges::find(options_.statistics, kind) != options_.statistics.end();
  }
  bool has_matrices() const { return has(StatisticKind::kGram) || has(StatisticKind::kClassGrams); }
  bool releases_sizes_apart() const { return has(StatisticKind::kClassSizes) && main_release() != "class_means"; }

  // The release that holds all but class sizes, and these too beside class sums alone; empty: there is none.
  std::string_view main_release() const {
    if (has(StatisticKind::kClassGrams)) return "class_least_squares";
    if (has(StatisticKind::kGram)) return has(StatisticKind::kClassSums) ? "least_squares" : "gram";
    return has(StatisticKind::kClassSums) ? "class_means" : "";
  }

  bool has_targets_;
  double gram_share_;
  double intercept_;
  double alpha_;
};

std::unique_ptr<TrainingMethod> make_release(const FitOptions& options) {
  if (options.data.has_targets() && options.statistics != std::vector{StatisticKind::kGram}) {
    throw UsageError("--targets: the only statistic is gram, which holds rows and targets; name no other");
  }
  return std::make_unique<ReleaseMethod>(options);
}

}  // namespace

const MethodEntry release_method{.name = "release",
                                 .help = "statistics for refits",
                                 .takes = {{"--gram-share"}, {"--center moments"}, {"--targets"}},
                                 .make = make_release,
                                 .reads_rows_once = [](const FitOptions&) { return false; },
                                 .trains = false};

}  // namespace dpreduce
