#include "fit/row_preparation.hpp"

#include <cmath>
#include <optional>
#include <utility>

#include "aggregator/solvers/gram_spectrum.hpp"
#include "aggregator/solvers/mean_classifier.hpp"
#include "aggregator/solvers/released_preparation.hpp"
#include "common/base/error.hpp"
#include "common/ledger/column_bins.hpp"
#include "methods/registry.hpp"

namespace dpreduce {
namespace {

constexpr double kPcaShare = 0.1;
constexpr double kSelectShare = 0.1;
// Share of mu^2; 2 % is nearly as good for targets (docs/experiments/regression.md, sets that constants were chosen
// on).
constexpr double kRangeShare = 0.05;
// Share of a question whose answer may be that columns are alike: that costs as much, and brings nothing.
constexpr double kQuestionShare = 0.03;
constexpr double kLengthShare = 0.02;
constexpr double kZerosShare = 0.01;

// Part of the center's share that its second step gets.
constexpr double kShareOfRest = 0.5;

constexpr const char* kCenterRest = "center_rest";
// The releases that find ranges.
struct RangeReleases {
  const char* sizes;
  const char* places;
  const char* spreads;
  double one_number;  // columns that vary by less of their median are of one number
};
constexpr RangeReleases kOfTargets{"target_sizes", "target_places", "target_spreads", 0.0};
constexpr RangeReleases kOfFeatures{"feature_sizes", "feature_places", "feature_spreads", 1e-5};
// Their parts of what ranges get. Numbers that spread little are all in few places, and seen beside much noise. Each
// round of places tells a median that is up to a hundred times as far from 0 as numbers spread about it.
constexpr double kPartOfSizes = 0.4;
constexpr double kPartOfPlaces = 0.12;
constexpr std::uint64_t kPlaceRounds = 3;
constexpr const char* kRowSizes = "row_sizes";
constexpr const char* kRowZeros = "row_zeros";

bool finds_target_range(const FitOptions& options) {
  return options.data.has_targets() && options.data.target_range.empty() && options.is_of_training_rows();
}

// Returns whether some public range ends at 0, where rows keep their lengths or not.
bool asks_for_zeros(const FitOptions& options, std::size_t input_dim) {
  if (!options.rows.chooses_clip) return false;
  const FeatureColumns columns = known_preprocessing(options.rows, options.data, input_dim).columns;
  for (std::size_t a = 0; a < columns.scale.size(); ++a) {
    if (has_zero_end(columns.center[a], columns.scale[a])) return true;
  }
  return false;
}

bool selects_before_method(const FitOptions& options) {
  return options.rows.select > 0 && !method_entry(options.method).selects_features;
}

// Numbers that the coordinator finds, on every rank. Collective.
template <typename Solve>
std::vector<double> found_by_coordinator(TrainingRun& run, std::size_t count, const Solve& solve) {
  std::vector<double> values(count);
  if (run.ranks().is_coordinator()) values = solve();
  run.ranks().broadcast(values);
  return values;
}

// c and h of columns, as they were seen: h is 0 where noise hides it, and at the coordinator where it is not sure.
struct SeenRanges {
  FeatureColumns columns;
  std::vector<double> sure;
};

// Finds them. `set` makes known to all rows what was found so far. Collective.
template <typename Set>
SeenRanges find_ranges(TrainingRun& run, const RangeReleases& names, std::size_t columns, const Set& set) {
  const auto found = [&](const char* name, const auto& solve) {
    const Release release = run.release(name);
    return found_by_coordinator(run, columns, [&] { return solve(release.block("sizes")); });
  };
  std::vector<double> medians = found(names.sizes, column_medians);
  ColumnWindows windows = windows_about(medians);
  for (std::uint64_t round = 1; round <= kPlaceRounds; ++round) {
    set(windows.centers, windows.halves);
    medians = found(names.places, [&](const ReleasedBlock& places) {
      windows = narrowed(std::move(windows), places);
      return windows.medians;
    });
    run.ranks().broadcast(windows.centers);
    run.ranks().broadcast(windows.halves);
  }
  set(medians, std::vector<double>(columns, 1.0));
  std::vector<double> sure;
  std::vector<double> scales = found(names.spreads, [&](const ReleasedBlock& spreads) {
    std::vector<double> usual = column_scales(spreads, medians);
    sure = column_scales(spreads, medians, Evidence::kSure);
    forget_false_medians(medians, spreads);
    return usual;
  });
  run.ranks().broadcast(medians);
  for (std::size_t column = 0; column < columns; ++column) {
    const double least = names.one_number * std::abs(medians[column]);
    if (scales[column] > 0.0 && scales[column] <= least) scales[column] = upper_edge_of_distance(0);
  }
  set(medians, usable_scales(medians, scales));
  run.end_phase("ranges");
  return {{std::move(medians), std::move(scales)}, std::move(sure)};
}

// Returns the targets whose range is hidden.
std::vector<std::size_t> find_ranges_of_targets(TrainingRun& run, const FitOptions& options) {
  const std::size_t count = options.data.classes;
  const SeenRanges seen =
      find_ranges(run, kOfTargets, count, [&](std::vector<double> center, std::vector<double> scale) {
        for (double& h : scale) h *= std::sqrt(static_cast<double>(count));
        run.rows().set_targets({.count = count, .center = std::move(center), .scale = std::move(scale)});
      });
  std::vector<std::size_t> hidden;
  for (std::size_t target = 0; target < count; ++target) {
    if (seen.columns.scale[target] == 0.0) hidden.push_back(target);
  }
  return hidden;
}

void find_ranges_of_columns(TrainingRun& run, const FitOptions& options) {
  const Normalize normalize = options.rows.normalize;
  const SeenRanges seen = find_ranges(run, kOfFeatures, run.rows().preprocessing().input_dim,
                                      [&](std::vector<double> center, std::vector<double> scale) {
                                        run.rows().set_columns({std::move(center), std::move(scale)}, normalize);
                                      });
  if (options.rows.finds_ranges != FindRanges::kWhereColumnsDiffer) return;
  const bool is_alike = run.decision("columns", [&] {
    return are_alike(seen.columns.center, seen.columns.scale, seen.sure) ? 1.0 : 0.0;
  }) != 0.0;
  // Scaled columns are comparable, so that a row's length says something.
  FeatureColumns found = run.rows().preprocessing().columns;
  run.rows().set_columns(is_alike ? FeatureColumns{} : std::move(found), is_alike ? normalize : Normalize::kNone);
}

// Columns of zeros and ones keep their zeros where most entries are zeros: as -1 these would take up most of a row.
void keep_zeros(TrainingRun& run) {
  const Release zeros = run.release(kRowZeros);
  const bool keeps = run.decision("zeros", [&] { return are_mostly_zeros(zeros.block("sizes")) ? 1.0 : 0.0; }) != 0.0;
  if (!keeps) return;
  const Preprocessing& rows = run.rows().preprocessing();
  run.rows().set_columns(with_zeros_kept(rows.columns), rows.normalize);
}

// C: the end of the bin of lengths behind which few rows are. Rows of about one length are scaled to it, unless the
// options say that rows keep their lengths.
void choose_clip(TrainingRun& run, bool keeps_lengths) {
  const Release sizes = run.release(kRowSizes);
  const Preprocessing& rows = run.rows().preprocessing();
  double clip = found_by_coordinator(run, 1, [&] {
                  return std::vector{usual_length(sizes.block("sizes"), keeps_lengths)};
                }).front();
  if (!rows.columns.scale.empty()) clip = std::min(clip, std::sqrt(static_cast<double>(rows.input_dim)));
  if (clip > 0.0) run.rows().set_clip(clip);
  run.end_phase("lengths");
}

void center_rows(TrainingRun& run, const FitOptions& options) {
  const Lattice lattice = run.rows().lattice();
  const bool is_public = options.rows.center == Centering::kPublic;
  const Release sums = is_public ? run.sum_public("center") : run.release("center");
  std::optional<ReleasedCenter> released;  // at the coordinator
  if (run.ranks().is_coordinator()) released.emplace(sums, lattice);
  if (!is_public) {
    std::vector<double> center = found_by_coordinator(run, lattice.dim, [&] { return released->ball_center(); });
    std::vector<double> radius = found_by_coordinator(run, 1, [&] { return std::vector{released->radius()}; });
    const Release rest = run.release(kCenterRest, ClassBalls{std::move(center), std::move(radius)});
    if (released) released->add_rest(rest);
  }
  run.rows().set_center(found_by_coordinator(run, lattice.dim, [&] { return released->mean(); }));
  run.end_phase("center");
}

void project_rows(TrainingRun& run, const FitOptions& options) {
  const Lattice lattice = run.rows().lattice();
  const Release sums = options.data.public_x.empty() ? run.release("pca") : run.sum_public("pca");
  run.rows().project(found_by_coordinator(run, options.rows.pca * lattice.dim, [&] {
    return GramSpectrum(sums.block("gram"), lattice).top_eigenvectors(options.rows.pca);
  }));
  run.end_phase("pca");
}

void select_features_of_rows(TrainingRun& run, const FitOptions& options) {
  const Release sums = run.release("feature_sums");
  std::vector<std::size_t> selected(options.rows.select);
  if (run.ranks().is_coordinator()) selected = select_features(sums, run.rows().lattice(), options.rows.select);
  run.ranks().broadcast(std::as_writable_bytes(std::span(selected)));
  run.rows().set_selected(std::move(selected));
  run.end_phase("select");
}

void request_ranges(std::vector<ReleaseRequest>& requests, const RangeReleases& names, ReleaseTerms terms,
                    double share) {
  requests.push_back(registered_statistic(names.sizes).request(terms, kPartOfSizes * share));
  requests.push_back(registered_statistic(names.spreads).request(terms, (1.0 - kPartOfSizes - kPartOfPlaces) * share));
  terms.rounds = kPlaceRounds;
  requests.push_back(registered_statistic(names.places).request(terms, kPartOfPlaces * share));
}

void require_kept(const char* option, std::size_t kept, std::size_t dim) {
  if (kept > dim) {
    throw UsageError("{} {}: rows have {} features at this point; keep at most as many", option, kept, dim);
  }
}

}  // namespace

Preprocessing known_preprocessing(const PreparationOptions& rows, const DataOptions& data, std::size_t input_dim) {
  Preprocessing known{.input_dim = input_dim,
                      .pool = rows.pool,
                      .normalize = rows.normalize,
                      .clip_norm = rows.clip_norm,
                      .center = {},
                      .intercept = 0.0};
  if (data.has_targets()) known.targets.count = data.classes;
  if (data.has_targets() && !data.target_range.empty()) {
    known.targets = target_columns(ranges_of("--target-range", data.target_range, data.classes));
  }
  if (!rows.feature_range.empty()) known.columns = ranges_of("--feature-range", rows.feature_range, input_dim);
  return known;
}

double center_share(const FitOptions& options) {
  return options.rows.center_share.value_or(method_entry(options.method).center_share);
}

std::vector<ReleaseRequest> preparation_requests(const FitOptions& options, ReleaseTerms& terms) {
  std::vector<ReleaseRequest> requests;
  if (finds_target_range(options)) request_ranges(requests, kOfTargets, terms, kRangeShare);
  if (options.rows.finds_some()) {
    const bool asks = options.rows.finds_ranges == FindRanges::kWhereColumnsDiffer;
    request_ranges(requests, kOfFeatures, terms, asks ? kQuestionShare : kRangeShare);
  }
  if (asks_for_zeros(options, terms.dim)) {
    requests.push_back(registered_statistic(kRowZeros).request(terms, kZerosShare));
  }
  if (options.rows.chooses_clip) requests.push_back(registered_statistic(kRowSizes).request(terms, kLengthShare));
  if (options.rows.center == Centering::kDp) {
    const double share = center_share(options);
    requests.push_back(registered_statistic("center").request(terms, (1.0 - kShareOfRest) * share));
    requests.push_back(registered_statistic(kCenterRest).request(terms, kShareOfRest * share));
  }
  if (options.rows.pca > 0) {
    require_kept("--pca", options.rows.pca, terms.dim);
    if (options.data.public_x.empty()) {
      requests.push_back(registered_statistic("pca").request(terms, options.rows.pca_share.value_or(kPcaShare)));
    }
    terms.dim = options.rows.pca;
  }
  require_kept("--select", options.rows.select, terms.dim);
  if (selects_before_method(options)) {
    requests.push_back(
        registered_statistic("feature_sums").request(terms, options.rows.select_share.value_or(kSelectShare)));
    terms.dim = options.rows.select;
  }
  double rest = 1.0;
  for (const ReleaseRequest& request : requests) rest -= request.share;
  if (!(rest > 0.0)) {
    throw UsageError("--center-share, --pca-share and --select-share add up to {}: leave some for the method",
                     1.0 - rest);
  }
  return requests;
}

std::vector<std::size_t> prepare_rows(TrainingRun& run, const FitOptions& options) {
  std::vector<std::size_t> hidden;
  if (finds_target_range(options)) hidden = find_ranges_of_targets(run, options);
  if (options.rows.finds_some()) find_ranges_of_columns(run, options);
  if (asks_for_zeros(options, run.rows().preprocessing().input_dim)) keep_zeros(run);
  if (options.rows.chooses_clip) choose_clip(run, options.rows.sets_length);
  const bool moves_rows = options.rows.center == Centering::kDp || options.rows.center == Centering::kPublic;
  if (moves_rows) center_rows(run, options);
  if (options.rows.pca > 0) project_rows(run, options);
  if (selects_before_method(options)) select_features_of_rows(run, options);
  return hidden;
}

}  // namespace dpreduce
