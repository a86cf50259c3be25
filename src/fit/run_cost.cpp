#include "fit/run_cost.hpp"

#include <algorithm>
#include <utility>

#include "aggregator/solvers/least_squares.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "common/model/classifier.hpp"
#include "common/model/metrics.hpp"
#include "common/ranks/lifetime.hpp"
#include "methods/gradient_rounds.hpp"
#include "methods/registry.hpp"
#include "worker/chunk_residuals.hpp"
#include "worker/identified_rows.hpp"
#include "worker/lattice_stream.hpp"
#include "worker/statistics/registered_statistics.hpp"

namespace dpreduce {

std::uint64_t memory_of_test(const TestedModel& model) {
  constexpr std::uint64_t kReportOfClass = 256;  // four figures, as JSON values and as text
  const std::size_t classes = model.classes;
  const std::uint64_t chunk = rows_predicted_at_once(model.input_dim, classes, model.labels_per_row) *
                              bytes_of_predicted_row(model.input_dim, classes, model.labels_per_row);
  const std::uint64_t weights =
      2 * model.heads * sizeof(double) * classes * (model.dim + 1);  // as they are, and in tiles
  const std::uint64_t blocks = model.threads * kRowsScoredAtOnce * sizeof(double) * (model.dim + model.heads * classes);
  return chunk + weights + blocks + ClassCounts::bytes(classes) + kReportOfClass * classes;
}

std::uint64_t memory_of_test(const FitOptions& options, const FitPlan& plan) {
  return memory_of_test(
      {.input_dim = plan.preprocessing.input_dim,
       .dim = plan.dim,
       .classes = options.data.classes,
       .labels_per_row = options.data.most_labels() > 1 ? options.data.classes : options.data.label_slots(),
       .heads = options.method.warm_start ? std::size_t{2} : std::size_t{1},
       .threads = options.machine.threads > 0 ? options.machine.threads : default_threads()});
}

namespace {

constexpr std::uint64_t kBytesOfScore = sizeof(std::int64_t) + sizeof(std::int16_t);  // chunk_residuals.hpp
constexpr std::uint64_t kBytesOfPrior = sizeof(double);                               // likewise
// Code, MPI and OpenBLAS buffers: some 30 MiB, and room.
constexpr std::uint64_t kProgramBytes = std::uint64_t{48} << 20;

// Rounds of training, not those that prepare rows.
bool is_round(const ReleaseRequest& request) {
  const StatisticEntry& statistic = registered_statistic(request.name);
  return statistic.is_round() && statistic.row_change == RowChange::kNone;
}

bool trains_in_rounds(const FitPlan& plan) {
  return !plan.requests.empty() && is_round(plan.requests.back());
}

// The features of rows in rounds, which have an intercept.
std::size_t dim_in_rounds(const FitPlan& plan) {
  return plan.dim + 1;
}

// Words of 8 bytes of one rank, up into sums and down again.
double words_of(const ReleaseRequest& request, const TrainingMethod& method, const FitOptions& options,
                const FitPlan& plan, int ranks) {
  const StatisticEntry& statistic = registered_statistic(request.name);
  const auto rounds = static_cast<double>(request.rounds);
  // The steps that a silo takes by itself send nothing.
  const double sums = is_round(request) ? rounds / static_cast<double>(method.releases_per_sum()) : rounds;
  double up = 0.0;
  for (const BlockRequest& block : request.blocks) up += sums * static_cast<double>(block.elements);
  // Silos that take steps of their own get each other's weights summed, as long as they are.
  if (is_round(request) && method_entry(options.method).each_rank_is_a_silo) return 2.0 * up;
  double words = up + sums * statistic.words_down(request);
  const int owners = options.silos.secure_aggregation ? 1 : ranks;
  if (statistic.row_change == RowChange::kComponents) {
    words += static_cast<double>(options.rows.pca) * static_cast<double>(plan.preprocessing.dim());
  }
  if (method_entry(options.method).whitens_rows && statistic.row_change == RowChange::kWhitening) {
    const auto matrix = static_cast<double>(plan.projection_elements);
    words += owners > 1 ? 4.0 * matrix : matrix;  // its eigenvectors, where they are shared (fc.cpp)
  }
  // Ridge regressions of all classes are solved by the eigenvectors of one noised Gram matrix.
  const bool has_one_gram = request.name == "least_squares" && options.method.name == "ls" &&
                            !options.data.has_targets() && !options.privacy.budget.non_private;
  if (has_one_gram && RowGroups(options.data.classes).are_shared_by(owners)) {
    const auto sums_of_classes = static_cast<double>(options.data.classes * plan.dim);
    words += sums_of_classes * (1.0 + 2.0 * static_cast<double>(method.candidates()));
    words += 2.0 * static_cast<double>(plan.dim * plan.dim);
  }
  return words;
}

bool compares_all_pairs(const FitOptions& options) {
  return cosine_clip(options.method.d_min.value_or(0.0), options.method.d_max.value_or(2.0)).is_active();
}

// Returns whether ranks share the public rows, once class sums are summed; else each rank goes through all of them
// (training_run.hpp).
bool shares_public_rows(const FitOptions& options) {
  return !compares_all_pairs(options) && !options.silos.secure_aggregation;
}

double words_of_selection(const FitOptions& options, const FitPlan& plan) {
  const auto classes = static_cast<double>(plan.public_selection->terms.groups);
  const double sums = shares_public_rows(options) ? classes * static_cast<double>(plan.dim) : 0.0;
  return classes * static_cast<double>(plan.public_selection->terms.candidates) + 2.0 * sums;
}

// Bytes of the utilities that the coordinator need not hold: the other ranks' parts, but those of one class.
std::uint64_t bytes_of_others(const SelectionTerms& terms, int ranks) {
  if (ranks == 1) return 0;
  const std::uint64_t own = terms.candidates / static_cast<std::uint64_t>(ranks) + 1;
  const std::uint64_t held = terms.groups * own + terms.candidates;
  const std::uint64_t all = terms.groups * terms.candidates;
  return all > held ? (all - held) * sizeof(std::int64_t) : 0;
}

std::uint64_t row_bytes_of(const FitOptions& options, const FitPlan& plan, std::uint64_t rows_here) {
  const std::size_t labels = options.data.label_slots();
  const std::size_t dim = dim_in_rounds(plan);
  const std::uint64_t allowed = std::uint64_t{options.machine.memory_mib.value()} << 20;
  const std::uint64_t row = bytes_per_row(plan.preprocessing.input_dim, dim, labels);
  const std::uint64_t chunk = std::min<std::uint64_t>(rows_here, rows_of_chunk(allowed, row)) * row;
  if (plan.public_selection) {
    const std::uint64_t widest = std::max<std::uint64_t>(rows_here, plan.public_selection->terms.candidates);
    if (!compares_all_pairs(options)) return std::min<std::uint64_t>(widest, rows_of_chunk(allowed, row)) * row;
    const std::uint64_t streams = 2 * std::min<std::uint64_t>(widest, rows_of_chunk(allowed / 4, row)) * row;
    const std::uint64_t paired = sizeof(std::int16_t) * plan.dim + sizeof(std::int32_t);  // a row (utilities.hpp)
    return streams + std::min(rows_here, std::max<std::uint64_t>(1, allowed / 2 / paired)) * paired;
  }
  if (plan.makes_class_grams()) {
    return std::min(allowed, 2 * chunk + rows_here * labels * sizeof(std::int16_t) * dim);
  }
  const bool keeps_rows = trains_in_rounds(plan) && rows_here <= most_kept_rows(allowed, plan.preprocessing.input_dim,
                                                                                dim, labels, plan.clips_units());
  if (!keeps_rows) return chunk;
  return chunk + rows_here * bytes_per_kept_row(dim, labels, plan.clips_units());
}

// While identifiers or weights are read, before any row is; and from then on.
std::pair<std::uint64_t, std::uint64_t> person_bytes_of(const DataOptions& data, const FitPlan& plan,
                                                        std::uint64_t rows_here) {
  if (!data.weighs_rows()) return {0, 0};
  if (!data.has_units()) return {rows_here * (sizeof(float) + kBytesOfRowWeight), rows_here * kBytesOfRowWeight};
  const std::size_t kept = kBytesOfRowWeight + (plan.clips_units() ? kBytesOfRowPerson : 0);
  return {rows_here * kMostBytesToIdentify, rows_here * kept};
}

}  // namespace

double words_of_rank(const FitOptions& options, const FitPlan& plan, int ranks) {
  const std::unique_ptr<TrainingMethod> method = make_method(options);
  const auto model = static_cast<double>(options.data.classes * dim_in_rounds(plan));
  double words = 0.0;
  for (const ReleaseRequest& request : plan.requests) words += words_of(request, *method, options, plan, ranks);
  if (plan.public_selection) words += words_of_selection(options, plan);
  if (!trains_in_rounds(plan)) words += model;
  const bool chooses = options.method.choose && options.data.validation.x.empty();
  if (chooses) words += static_cast<double>(method->candidates()) * (1.0 + model);
  return words;
}

std::uint64_t memory_of_rank(const FitOptions& options, const FitPlan& plan, std::uint64_t rows_here, int ranks) {
  std::uint64_t beside_rows = plan.memory_bytes - (std::uint64_t{options.machine.memory_mib.value()} << 20);
  if (plan.public_selection && shares_public_rows(options))
    beside_rows -= bytes_of_others(plan.public_selection->terms, ranks);
  std::uint64_t residuals = 0;
  if (trains_in_rounds(plan)) {
    const std::uint64_t scores = std::min(rows_here, kMostRowsPerChunk) * options.data.classes;
    const std::uint64_t packed = sizeof(std::int16_t) * options.data.classes * dim_in_rounds(plan);
    residuals = packed * (options.method.warm_start ? 2 : 1);
    residuals += scores * (kBytesOfScore + (options.method.warm_start ? kBytesOfPrior : 0));
    const unsigned threads = options.machine.threads > 0 ? options.machine.threads : default_threads();
    if (threads > 1 && options.data.classes <= kFewClasses) {
      residuals += sizeof(std::int64_t) * threads * options.data.classes * dim_in_rounds(plan);
    }
  }
  const std::uint64_t while_training = row_bytes_of(options, plan, rows_here) + residuals;
  const auto [to_identify, of_persons] = person_bytes_of(options.data, plan, rows_here);
  const std::uint64_t training = std::max(to_identify, while_training + of_persons) + beside_rows;
  const std::uint64_t testing = options.data.test.x.empty() ? 0 : memory_of_test(options, plan);
  return std::max(training, testing) + kProgramBytes;
}

}  // namespace dpreduce
