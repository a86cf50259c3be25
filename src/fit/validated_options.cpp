#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "common/accounting/budget.hpp"
#include "common/base/error.hpp"
#include "common/base/option_table.hpp"
#include "common/base/public_names.hpp"
#include "common/base/text.hpp"
#include "common/lattice/row_transform.hpp"
#include "fit/resolved_fit.hpp"
#include "methods/fit_table.hpp"
#include "methods/registry.hpp"

namespace dpreduce {
namespace {

constexpr double kMostShareOfSmallest = 1.001;  // times K: 0.333 and 0.3334 are a third

// LO, HI of all, or of each.
void require_pairs(const char* option, const std::vector<double>& ends, const char* whose, std::size_t most) {
  if (ends.size() % 2 == 0 && ends.size() / 2 <= most) return;
  throw UsageError("{}: {} numbers; give LO,HI for all {}, or a pair for each", option, ends.size(), whose);
}

void require_valid_smallest_share(const FitOptions& options) {
  if (!options.method.smallest_share) return;
  const double share = *options.method.smallest_share;
  const std::size_t classes = options.data.classes;
  if (share > 0.0 && share * static_cast<double>(classes) <= kMostShareOfSmallest) return;
  throw UsageError("--smallest-share {}: must be greater than 0, and at most 1 / {} for the smallest of {} classes",
                   share, classes, classes);
}

// Refuses, among silos, what would show the coordinator rows of one silo, or the exact number of all rows.
void require_fit_for_silos(const FitOptions& options) {
  const SiloOptions& silos = options.silos;
  if (!silos.secure_aggregation) return;
  if (!silos.rows_are_own && (!has_rank(options.data.train.x) || !has_rank(options.data.train.y))) {
    throw UsageError(
        "--secure-aggregation: each silo has files of its own; write {{rank}} in {} and {}, e.g. "
        "'silo{{rank}}/x.npy', or name them in --silo-config",
        options.data.train.option("x"), options.data.train.option("y"));
  }
  if (silos.consent && silos.roster.empty()) {
    throw UsageError(
        "[consent] in --silo-config: goes with --roster and --identity; without them the other parties are unknown, "
        "and planning would have to open rows");
  }
}

// Sets what the coordinator of silos lacks, which has no rows: that there are targets, as all parties declare by naming
// no classes; and persons, as they declare by a bound on a person's rows.
void take_rows_of_silos(FitOptions& options) {
  DataOptions& data = options.data;
  if (!options.silos.secure_aggregation || !options.silos.rows_are_own || !data.train.x.empty()) return;
  if (data.classes == 0) data.train.has_targets = true;
  if (data.rows_per_person) data.train.person = {"identifiers at the silos"};
}

void require_valid_data(const DataOptions& data) {
  if (!data.has_targets()) {
    require_classes(data.classes);
    require_class_names(data.train.class_names, data.classes);
  }
  if (data.max_labels && (*data.max_labels < 1 || *data.max_labels > data.classes)) {
    throw UsageError("--max-labels {}: must be from 1 to {}, the number of classes", *data.max_labels, data.classes);
  }
  if (data.target_range.empty()) return;
  require_pairs("--target-range", data.target_range, "targets", kMostTargets);
  ranges_of("--target-range", data.target_range, data.target_range.size() / 2);
}

// Endings of other forms of models and tables, which whoever loads such a file would take it for.
constexpr std::array kForeignEndings{".pkl",   ".pickle", ".joblib", ".pt",  ".pth",  ".h5",
                                     ".keras", ".onnx",   ".npz",    ".csv", ".json", ".html"};

void require_name_of_model(const std::string& out) {
  if (out.empty()) throw UsageError("--out: a file name is needed");
  const std::filesystem::path path(out);
  if (std::ranges::find(kForeignEndings, path.extension().string()) == kForeignEndings.end()) return;
  throw UsageError("--out {}: a model is a safetensors file; name it {}{}", out,
                   std::filesystem::path(path).replace_extension(".safetensors").string(),
                   path.extension() == ".onnx" ? ", and make the graph of it with `python3 -m dpreduce onnx`" : "");
}

}  // namespace

bool may_choose_public_rows(const FitOptions& options) {
  return method_entry(options.method).chooses_public_rows ||
         (options.method.objective == Objective::kBalanced && !options.data.public_x.empty());
}

FitOptions validated(FitOptions options) {
  DataOptions& data = options.data;
  if (data.classes == 0) data.classes = data.train.class_names.size();
  if (options.method.batch == 1.0) options.method.batch.reset();  // all rows are in each round, as without it
  take_rows_of_silos(options);
  check_options(options);
  data.test.has_targets = data.train.has_targets;
  require_valid_data(data);
  require_pairs("--feature-range", options.rows.feature_range, "columns", options.rows.feature_range.size());
  require_valid_smallest_share(options);
  require_ranges(options.privacy.budget);
  if (options.privacy.ledger.empty()) throw UsageError("--ledger: a file name is needed");
  require_name_of_model(options.output.out);
  require_fit_for_silos(options);
  if (options.evaluation.share) {
    options.evaluation.terms.metrics = usual_metrics({});
    options.evaluation.terms.classes = data.classes;
  }
  data.test.bad_rows = data.train.bad_rows;
  for (RowFiles* rows : {&data.test, &data.validation}) rows->class_names = data.train.class_names;
  return options;
}

}  // namespace dpreduce
