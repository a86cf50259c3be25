#include "evaluate/private_evaluation.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/version.hpp"
#include "common/model/classifier_file.hpp"
#include "fit/validated_options.hpp"
#include "methods/registry.hpp"
#include "report/plan_report.hpp"

namespace dpreduce {

FitOptions evaluation_of(FitOptions options) {
  EvaluationOptions& asked = options.evaluation;
  const Classifier model = load_classifier(asked.files.front());
  const std::vector<std::byte> bytes = to_bytes(model);
  asked.models = {std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())};
  asked.input_dim = model.input_dim();
  asked.terms.classes = model.classes();
  asked.terms.has_probabilities = model.parts().link.has_value();
  if (!options.method.top_k) asked.terms.top_k = std::min(asked.terms.top_k, asked.terms.classes);
  require_valid(asked.terms);
  options.method = MethodOptions{.name = std::string(evaluate_method().name)};
  options.rows.normalize = Normalize::kNone;  // the model prepares rows
  options.rows.center = Centering::kNone;
  options.data.classes = model.classes();
  options.data.train.role = "test";
  options.data.train.class_names = model.parts().class_names;
  return validated(std::move(options));
}

ReleaseWatcher EvaluationObserver::watcher() {
  return [this](const WatchedRelease& watched) {
    const double rows_alike = static_cast<double>(options_.data.bounded_rows());
    figures_ = private_figures(watched.release, options_.evaluation.terms, options_.evaluation.level, rows_alike);
  };
}

nlohmann::json private_report(const FittedRun& run, const PrivateFigures& figures, int ranks) {
  const FitOptions& options = run.fit->options();
  const FitPlan& plan = run.fit->plan();
  nlohmann::json report{{"private", plan.is_private},
                        {"metrics", to_json(figures, options.evaluation.terms)},
                        {"level", options.evaluation.level},
                        {"privacy", privacy_json(plan, options)},
                        {"ledger", {{"run", run.releaser->run_id()}}},
                        {"ranks", ranks},
                        {"version", version()}};
  report["privacy"].erase("selections");
  report["note"] = plan.is_private ? fmt::format("figures with noise: the promise is about each {} of the test rows",
                                                 options.data.has_units() ? "person" : "record")
                                   : "a run with a seed: its noise is known, and nothing is promised";
  if (!options.data.train.class_names.empty()) report["class_names"] = options.data.train.class_names;
  return report;
}

}  // namespace dpreduce
