#include "forecast/run_cost.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "aggregator/solvers/row_groups.hpp"
#include "common/lattice/cosine_clip.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "common/ranks/lifetime.hpp"
#include "forecast/prediction_memory.hpp"
#include "methods/gradient_rounds.hpp"
#include "methods/registry.hpp"
#include "persons/identified_rows.hpp"
#include "worker/chunk_residuals.hpp"
#include "worker/kept_chunks.hpp"
#include "worker/row_digest.hpp"
#include "worker/statistics/registered_statistics.hpp"

namespace dpreduce {
namespace {

constexpr std::uint64_t kBytesOfScore = sizeof(std::int64_t) + sizeof(std::int16_t);  // chunk_residuals.hpp
constexpr std::uint64_t kBytesOfPrior = sizeof(double);                               // likewise
constexpr std::uint64_t kProgramBytes = std::uint64_t{48}
                                        << 20;  // code, MPI and OpenBLAS buffers: some 30 MiB, and room

// Rounds of training, not those that prepare rows.
bool is_round(const ReleaseRequest& request) {
  const StatisticEntry& statistic = registered_statistic(request.name);
  return statistic.is_round() && statistic.cost(request, {}).row_change == RowChange::kNone;
}

bool trains_in_rounds(const FitPlan& plan) {
  return !plan.requests.empty() && is_round(plan.requests.back());
}

// The features of rows in rounds, which have an intercept.
std::size_t dim_in_rounds(const FitPlan& plan) {
  return plan.dim + 1;
}

bool keeps_rows(const FitOptions& options, const FitPlan& plan, std::uint64_t rows_here) {
  return rows_here <= most_kept_rows(options.machine.memory_mib.value() << 20, plan.preprocessing.input_dim,
                                     dim_in_rounds(plan), options.data.label_slots(), plan.clips_units());
}

StatisticCost cost_of(const ReleaseRequest& request, const FitOptions& options) {
  return registered_statistic(request.name).cost(request, {options.data.most_labels(), options.method.warm_start});
}

// A method that whitens rows does so by the Gram matrix of this statistic.
bool whitens(const StatisticCost& cost, const FitOptions& options) {
  return method_entry(options.method).whitens_rows && cost.row_change == RowChange::kWhitening;
}

// Whether ridge regressions of all classes have one noised Gram matrix, whose eigenvectors they are solved by.
bool solves_for_all_classes(const ReleaseRequest& request, const FitOptions& options) {
  return request.name == "least_squares" && options.method.name == "ls" && !options.data.has_targets() &&
         !options.privacy.budget.non_private;
}

// Whether rows in rounds are made of those that were kept for the Gram matrix (PreparedRows::keep_to_project).
bool projects_kept_rows(const FitOptions& options) {
  return method_entry(options.method).whitens_rows && options.rows.pca == 0 && options.rows.select == 0;
}

PhaseWork work_of(const ReleaseRequest& request, const TrainingMethod& method, const FitOptions& options,
                  const FitPlan& plan, const JobShape& job, double projection) {
  const StatisticCost cost = cost_of(request, options);
  PhaseWork work{.name = request.name, .rounds = request.rounds};
  const auto rounds = static_cast<double>(request.rounds);
  const auto rows = static_cast<double>(job.rows);
  const double rows_used = rows * request.sampling_rate;
  const bool in_rounds = is_round(request);
  // The steps that a silo takes by itself send nothing.
  const double sums = in_rounds ? rounds / static_cast<double>(method.releases_per_sum()) : rounds;
  const bool passes_once = in_rounds && keeps_rows(options, plan, job.rows_here);
  // A sample costs its drawn rows alone, once all have been looked at.
  const double times_prepared = passes_once ? 1.0 : 1.0 + (rounds - 1.0) * request.sampling_rate;
  work.rows_prepared = rows * cost.passes * times_prepared;
  work.product_macs = rounds * rows_used * cost.product_macs;
  work.round_macs = rounds * rows_used * cost.round_macs;
  work.words_down = sums * cost.words_down;
  const int owners = options.silos.secure_aggregation ? 1 : job.ranks;
  if (whitens(cost, options)) {
    const auto matrix = static_cast<double>(plan.projection_elements);
    const bool is_shared = owners > 1;  // its eigenvectors (fc.cpp)
    work.words_up += is_shared ? 1.5 * matrix : 0.0;
    work.words_down += is_shared ? 2.5 * matrix : matrix;
  }
  if (solves_for_all_classes(request, options) && RowGroups(options.data.classes).are_shared_by(owners)) {
    const auto sums_of_classes = static_cast<double>(options.data.classes * plan.dim);
    const double solutions = sums_of_classes * static_cast<double>(method.candidates());
    const auto square = static_cast<double>(plan.dim * plan.dim);
    work.words_up += solutions + square / 2.0;
    work.words_down += sums_of_classes + solutions + 1.5 * square;
  }
  for (const BlockRequest& block : request.blocks) {
    work.words_up += sums * static_cast<double>(block.elements);
  }
  // Silos that take steps of their own get each other's weights summed, as long as they are.
  if (in_rounds && method_entry(options.method).each_rank_is_a_silo) work.words_down = work.words_up;
  work.product_macs += work.rows_prepared * projection;
  if (passes_once && projects_kept_rows(options)) work.rows_prepared = 0.0;
  return work;
}

// The work of n rows: their digest, and how many of them each candidate gets right.
PhaseWork checkpoint_work(const FitPlan& plan, const JobShape& job) {
  const auto rows = static_cast<double>(job.rows);
  return {.name = "checkpoint",
          .rows_prepared = rows,
          .product_macs = static_cast<double>(kDigestLanes) * rows * static_cast<double>(plan.preprocessing.dim())};
}

PhaseWork choice_work(const TrainingMethod& method, const FitOptions& options, const FitPlan& plan, const JobShape& job,
                      double projection) {
  const auto rows = static_cast<double>(job.rows);
  const auto candidates = static_cast<double>(method.candidates());
  const auto head = static_cast<double>(options.data.classes * dim_in_rounds(plan));
  const double weights = candidates * head;
  const bool kept = trains_in_rounds(plan) && keeps_rows(options, plan, job.rows_here);
  return {.name = "choose",
          .rows_prepared = kept ? 0.0 : rows,
          .product_macs = kept ? 0.0 : rows * projection,
          .round_macs = rows * (weights + (options.method.warm_start ? head : 0.0)),
          .words_up = candidates,
          .words_down = weights};
}

bool compares_all_pairs(const FitOptions& options) {
  return cosine_clip(options.method.d_min.value_or(0.0), options.method.d_max.value_or(2.0)).is_active();
}

// Bytes of a private row while it is paired with public ones, and how many are (utilities.hpp).
std::uint64_t bytes_of_paired_row(const FitPlan& plan) {
  return sizeof(std::int16_t) * plan.dim + sizeof(std::int32_t);
}

std::uint64_t rows_paired_at_once(const FitOptions& options, const FitPlan& plan) {
  return std::max<std::uint64_t>(1,
                                 (std::uint64_t{options.machine.memory_mib.value()} << 19) / bytes_of_paired_row(plan));
}

// Digits of a class sum of so many rows: the least L with 65535^L > 2 n 32767.
double digits_of_sums(std::uint64_t rows) {
  const double base = 2.0 * kLatticeNorm + 1.0;
  return std::max(1.0, std::ceil(std::log(2.0 * kLatticeNorm * static_cast<double>(rows) + 1.0) / std::log(base)));
}

// Whether ranks share the public rows, once class sums are summed; else each goes through all of them
// (training_run.hpp).
bool shares_public_rows(const FitOptions& options) {
  return !compares_all_pairs(options) && !options.silos.secure_aggregation;
}

PhaseWork selection_work(const FitOptions& options, const FitPlan& plan, const JobShape& job, double projection) {
  const SelectionTerms& terms = plan.public_selection->terms;
  const auto candidates = static_cast<double>(terms.candidates);
  const auto dim = static_cast<double>(plan.dim);
  const auto rows = static_cast<double>(job.rows);
  PhaseWork work{.name = plan.public_selection->name};
  const auto classes = static_cast<double>(terms.groups);
  double passes = job.ranks;  // of all ranks
  if (compares_all_pairs(options)) {
    work.product_macs = rows * candidates * dim;
    const auto at_once = static_cast<double>(rows_paired_at_once(options, plan));
    passes *= std::max(1.0, std::ceil(static_cast<double>(job.rows_here) / at_once));
  } else if (shares_public_rows(options)) {
    passes = 1.0;
    work.product_macs = digits_of_sums(job.rows) * classes * candidates * dim;
    work.words_down = classes * dim;
  } else {
    work.product_macs = passes * digits_of_sums(job.rows_here) * classes * candidates * dim;
  }
  work.rows_prepared = rows + passes * candidates;
  work.product_macs += work.rows_prepared * projection;
  work.words_up = classes * candidates + work.words_down;
  return work;
}

// What the coordinator need not hold of the utilities: the other ranks' parts, but those of one class.
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
  std::uint64_t row = bytes_per_row(plan.preprocessing.input_dim, dim, labels);
  const std::uint64_t chunk = std::min<std::uint64_t>(rows_here, rows_of_chunk(allowed, row)) * row;
  if (plan.public_selection) {
    const std::uint64_t widest = std::max<std::uint64_t>(rows_here, plan.public_selection->terms.candidates);
    if (!compares_all_pairs(options)) return std::min<std::uint64_t>(widest, rows_of_chunk(allowed, row)) * row;
    const std::uint64_t streams = 2 * std::min<std::uint64_t>(widest, rows_of_chunk(allowed / 4, row)) * row;
    return streams + std::min(rows_here, rows_paired_at_once(options, plan)) * bytes_of_paired_row(plan);
  }
  if (plan.makes_class_grams()) {
    return std::min(allowed, 2 * chunk + rows_here * labels * sizeof(std::int16_t) * dim);
  }
  if (!trains_in_rounds(plan) || !keeps_rows(options, plan, rows_here)) return chunk;
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

std::vector<PhaseWork> phases_of(const FitOptions& options, const FitPlan& plan, const JobShape& job) {
  const auto pooled = static_cast<double>(plan.preprocessing.dim());
  const double components = static_cast<double>(options.rows.pca) * pooled;
  const std::unique_ptr<TrainingMethod> method = make_method(options);
  std::vector<PhaseWork> phases;
  double projection = 0.0;  // multiply-adds a row
  if (!options.output.checkpoint.empty()) phases.push_back(checkpoint_work(plan, job));
  for (const ReleaseRequest& request : plan.requests) {
    const StatisticCost cost = cost_of(request, options);
    const RowChange change = cost.row_change;
    const bool is_before_projection = change == RowChange::kCenter || change == RowChange::kComponents;
    if (!is_before_projection && options.rows.pca > 0) projection = std::max(projection, components);
    phases.push_back(work_of(request, *method, options, plan, job, projection));
    if (change == RowChange::kComponents) phases.back().words_down += components;
    if (whitens(cost, options)) projection = static_cast<double>(plan.projection_elements);
  }
  if (plan.public_selection) {
    if (options.rows.pca > 0) projection = components;
    phases.push_back(selection_work(options, plan, job, projection));
  }
  if (!trains_in_rounds(plan)) {
    phases.back().words_down += static_cast<double>(options.data.classes * (plan.dim + 1));  // the model
  }
  const bool chooses = options.method.choose && options.data.validation.x.empty();
  if (chooses) phases.push_back(choice_work(*method, options, plan, job, projection));
  return phases;
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

namespace {

// Work in multiply-adds of a Gram matrix: those of rounds take about four times as long as those, and a row that is
// read, transformed and rounded about as long as so many.
constexpr double kOfRoundMac = 4.0;
constexpr double kOfPreparedRow = 1e5;

double work_of(const PhaseWork& phase) {
  // Each round is something, also where no rows lie here.
  return static_cast<double>(phase.rounds) + phase.product_macs + kOfRoundMac * phase.round_macs +
         kOfPreparedRow * phase.rows_prepared;
}

}  // namespace

RunPace::RunPace(const std::vector<PhaseWork>& phases) {
  for (const PhaseWork& phase : phases) work_ += work_of(phase);
  double before = 0.0;
  for (const PhaseWork& phase : phases) {
    const double share = work_of(phase) / work_;
    phases_.push_back({phase.name, before, share, static_cast<double>(phase.rounds), 0.0});
    before += share;
  }
}

void RunPace::begin(std::string_view pass) {
  pass_ = pass;
  const auto phase = std::ranges::find(phases_, pass, &Phase::name);
  current_.reset();
  if (phase == phases_.end()) return;
  current_ = static_cast<std::size_t>(phase - phases_.begin());
  phase->started += 1.0;
  advance(0.0);
}

void RunPace::advance(double share) {
  if (!current_) return;
  const Phase& phase = phases_[*current_];
  const double rounds = std::max(phase.rounds, phase.started);
  const double done = (phase.started - 1.0 + std::clamp(share, 0.0, 1.0)) / rounds;
  share_ = std::max(share_, std::min(1.0, phase.begins + phase.share * done));
}

std::string RunPace::doing() const {
  if (!current_ || phases_[*current_].rounds < 2.0) return pass_;
  const Phase& phase = phases_[*current_];
  return fmt::format("{}, round {} of {}", pass_, phase.started, std::max(phase.rounds, phase.started));
}

double seconds_left(double share, double elapsed) {
  return elapsed * (1.0 - share) / share;
}

std::string print_duration(double seconds) {
  const double rounded = std::round(seconds);
  if (rounded < 60.0) return fmt::format("{:.0f} s", rounded);
  const double minutes = std::round(seconds / 60.0);
  if (minutes < 60.0) return fmt::format("{:.0f} min", minutes);
  const double hours = std::floor(minutes / 60.0);
  return fmt::format("{:.0f} h {:.0f} min", hours, minutes - 60.0 * hours);
}

}  // namespace dpreduce
