#include "methods/data_options.hpp"

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/option_table.hpp"
#include "common/base/public_names.hpp"
#include "common/lattice/row_transform.hpp"

namespace dpreduce {
namespace {

// A float holds these with all bits.
constexpr double kLeastWeightBound = 1e-30;
constexpr double kMostWeightBound = 1e30;

// Beyond, the last class of any data set keeps no row.
void require_valid_imbalance(const DataOptions& data) {
  const double ratio = data.imbalance_ratio;
  if (!(ratio >= 1.0 && ratio <= kLargestImbalance)) {
    throw UsageError(fmt::format("--imbalance-ratio {}: must be from 1 to {}", ratio, kLargestImbalance));
  }
  if (data.imbalance_seed && ratio == 1.0) {
    throw UsageError("--imbalance-seed goes with --imbalance-ratio above 1");
  }
  if (ratio > 1.0 && data.max_labels) {
    throw UsageError(
        fmt::format("--imbalance-ratio {} with --max-labels: shares are of rows of one class; leave one out", ratio));
  }
}

void check_persons(const DataOptions& data) {
  if (!data.rows_per_person) return;
  const std::uint64_t rows = *data.rows_per_person;
  if (!data.has_units()) {
    throw UsageError(fmt::format("--rows-per-person {}: goes with {}, which says whose each row is", rows,
                                 data.train.option("person")));
  }
  if (rows < 1 || rows > kMostRowsPerPerson) {
    throw UsageError(fmt::format("--rows-per-person {}: must be from 1 to {}", rows, kMostRowsPerPerson));
  }
}

// The bound is the user's word that it is public: noise is made for a row that weighs so much.
void check_weights(const DataOptions& data) {
  if (data.train.weight.empty() && !data.weight_bound) return;
  if (!data.weight_bound) {
    throw UsageError(
        "--train-weight: say with --weight-bound W how much a row weighs at most; noise is made for a row of weight W. "
        "W "
        "is public, and each weight may depend on its own row alone; --objective balanced weighs classes");
  }
  const double bound = *data.weight_bound;
  if (data.train.weight.empty()) {
    throw UsageError(
        fmt::format("--weight-bound {}: goes with --train-weight, which says what each row weighs", bound));
  }
  if (!(bound >= kLeastWeightBound && bound <= kMostWeightBound)) {
    throw UsageError(
        fmt::format("--weight-bound {}: must be from {} to {}", bound, kLeastWeightBound, kMostWeightBound));
  }
  if (data.has_units()) {
    throw UsageError(
        "--train-weight with --train-person: a person's rows weigh by their number, and by nothing else; leave one "
        "out");
  }
}

// What is about classes says nothing of numbers.
void check_targets(const DataOptions& data) {
  const auto refuse = [](bool is_given, const char* option) {
    if (!is_given) return;
    throw UsageError(
        fmt::format("--targets with {}: it is about classes, and targets are numbers; leave it out", option));
  };
  refuse(!data.train.class_names.empty(), "--class-names");
  refuse(data.max_labels.has_value(), "--max-labels");
  refuse(data.imbalance_ratio != 1.0, "--imbalance-ratio");
  refuse(!data.validation.x.empty(), "--validation-x");
  if (data.target_range.empty()) return;
  if (data.target_range.size() > 2 * kMostTargets || data.target_range.size() % 2 != 0) {
    throw UsageError(fmt::format("--target-range: {} numbers; give LO,HI for all targets, or a pair for each",
                                 data.target_range.size()));
  }
  ranges_of("--target-range", data.target_range, data.target_range.size() / 2);
}

}  // namespace

void check(const DataOptions& data) {
  if (data.has_targets()) {
    check_targets(data);
  } else {
    require_classes(data.classes);
    require_class_names(data.train.class_names, data.classes);
    if (!data.target_range.empty()) throw UsageError("--target-range goes with --targets");
  }
  require_both_or_none("--test-x", !data.test.x.empty(), data.has_targets() ? "--test-targets" : "--test-y",
                       !data.test.y.empty());
  require_both_or_none("--validation-x", !data.validation.x.empty(), "--validation-y", !data.validation.y.empty());
  if (data.max_labels && (*data.max_labels < 1 || *data.max_labels > data.classes)) {
    throw UsageError(
        fmt::format("--max-labels {}: must be from 1 to {}, the number of classes", *data.max_labels, data.classes));
  }
  require_valid_imbalance(data);
  check_persons(data);
  check_weights(data);
}

}  // namespace dpreduce
