#include "run/training_run.hpp"

#include <array>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "aggregator/release/selection_sampler.hpp"
#include "run/release_log.hpp"
#include "worker/correct_counts.hpp"
#include "worker/prototype_utilities.hpp"
#include "worker/row_digest.hpp"

namespace dpreduce {

TrainingRun::TrainingRun(Communicator& ranks, WorkerRows& rows, Releaser& releaser, const FitPlan& plan,
                         const StreamPlan& stream, ProgressOf progress, Timings& timings, PublicRows public_rows)
    : ranks_(ranks),
      rows_(rows),
      releaser_(releaser),
      plan_(plan),
      stream_(stream),
      progress_(std::move(progress)),
      timings_(timings),
      transform_(plan.preprocessing),
      public_rows_(public_rows) {}

void TrainingRun::visit_rows(std::string_view name, WorkerRows& rows, const PublicPoint& point,
                             std::optional<RowSample> sample,
                             const std::function<void(const StatisticInputs&)>& visit) {
  DPREDUCE_ASSERT(source_ == nullptr || &rows != &rows_);
  if (keeps_rows_for_ && &rows == &rows_) keep_rows_now(*std::exchange(keeps_rows_for_, std::nullopt));
  ranks_.together([&] {
    const OnChunk show = progress_(name);
    const OnChunk on_chunk = [&](double share) {
      ranks_.check_peers();
      show(share);
    };
    const StreamPlan stream = stream_of(rows);
    StatisticInputs inputs{rows, transform_, stream, on_chunk, point, std::move(sample)};
    if (kept_ && &rows == &rows_) inputs.kept = *kept_;
    if (&rows == &rows_) inputs.are_checked = rows_are_checked_;
    visit(inputs);
    if (&rows == &rows_) rows_are_checked_ = true;  // those of a sample as well, which touches all until they are
  });
}

Statistic TrainingRun::local_statistic(std::string_view name, WorkerRows& rows, const PublicPoint& point,
                                       std::optional<RowSample> sample,
                                       const std::function<Statistic(const StatisticInputs&)>& compute) {
  std::optional<Statistic> local;
  visit_rows(name, rows, point, std::move(sample),
             [&](const StatisticInputs& inputs) { local.emplace(compute(inputs)); });
  return std::move(*local);
}

Statistic TrainingRun::local_statistic(const ReleaseRequest& request, WorkerRows& rows, const PublicPoint& point,
                                       std::optional<RowSample> sample) {
  if (source_ != nullptr && &rows == &rows_) {
    DPREDUCE_ASSERT(!sample);
    return sum_from_source(task_of(request.name, preprocessing(), point));
  }
  return local_statistic(request.name, rows, point, std::move(sample), [&](const StatisticInputs& inputs) {
    return registered_statistic(request.name).compute(request, inputs);
  });
}

Release TrainingRun::release_of_rows(const ReleaseRequest& request, const PublicPoint& point) {
  if (request.sampling_rate == 1.0) return releaser_.release(request.name, local_statistic(request, rows_, point));
  return releaser_.release_of_sample(request.name, [&](const SecretVector<std::byte>& secret) {
    return local_statistic(request, rows_, point, RowSample{secret, request.sampling_rate, first_row()});
  });
}

Release TrainingRun::release(std::string_view name, const PublicPoint& point) {
  std::optional<Release> release;
  if (takes_recorded()) {
    releaser_.skip_release(name);
    ranks_.together([&] {
      release = log_ ? log_->next(plan_.noise->release(name)) : Release({});
      show_observer(name, *release, point);
    });
  } else {
    release = release_of_rows(plan_.request(name), point);
    ranks_.together([&] {
      if (log_) log_->record(plan_.noise->release(name), *release);
      show_observer(name, *release, point);
    });
  }
  if (watcher_) watcher_({name, *release, preprocessing(), point});
  return std::move(*release);
}

void TrainingRun::show_observer(std::string_view name, const Release& release, const PublicPoint& point) const {
  if (observer_) observer_({name, release, preprocessing(), point});
}

Release TrainingRun::release_of_own_rows(std::string_view name, const PublicPoint& point) {
  DPREDUCE_ASSERT(source_ == nullptr && log_ == nullptr && recorded_ == 0 && (!watcher_ || ranks_.size() == 1));
  Release release = releaser_.release_of_each_rank(name, local_statistic(plan_.request(name), rows_, point));
  if (watcher_) watcher_({name, release, preprocessing(), point});
  return release;
}

void TrainingRun::take_sums_from(StatisticSource& source) {
  DPREDUCE_ASSERT(ranks_.size() == 1 && log_ == nullptr);
  source_ = &source;
}

Statistic TrainingRun::sum_from_source(const StatisticTask& task) {
  std::optional<Statistic> sum;
  ranks_.together([&] {
    sum.emplace(source_->sum(task));
    DPREDUCE_ASSERT(sum->shape() == shape_of(task, plan_));
  });
  return std::move(*sum);
}

// Whether the next release is on disk already; counts it.
bool TrainingRun::takes_recorded() {
  if (recorded_ == 0) return false;
  --recorded_;
  return true;
}

// Place of this rank's first row among the rows of all ranks, in rank order.
std::uint64_t TrainingRun::first_row() {
  if (!first_row_) {
    std::vector<std::uint64_t> counts(static_cast<std::size_t>(ranks_.size()), 0);
    counts[static_cast<std::size_t>(ranks_.rank())] = rows_.range().count;
    ranks_.sum_everywhere(counts);
    first_row_ = std::accumulate(counts.begin(), counts.begin() + ranks_.rank(), std::uint64_t{0});
  }
  return *first_row_;
}

Release TrainingRun::sum_public(std::string_view name) {
  DPREDUCE_ASSERT(public_rows_.features != nullptr);
  ReleaseTerms terms;
  terms.classes = classes();
  terms.dim = lattice().dim;
  const ReleaseRequest request = registered_statistic(name).request(terms, 1.0);
  Release sum = Releaser(ranks_).release(name, local_statistic(request, *public_rows_.features, {}));
  takes_recorded();
  ranks_.together([&] {
    if (log_) log_->public_sum(name, sum);
  });
  return sum;
}

// Public rows may have any number of classes: no noise is made for them.
StreamPlan TrainingRun::stream_of(const WorkerRows& rows) const {
  StreamPlan stream = stream_;
  if (&rows == public_rows_.validation) stream.labels_per_row = rows.has_label_sets() ? stream.classes : 1;
  return stream;
}

std::size_t TrainingRun::index_to_go_with(std::span<const LatticeWeights> candidates, const Prior* prior) {
  WorkerRows& rows = public_rows_.validation != nullptr ? *public_rows_.validation : rows_;
  Statistic counts = local_statistic(
      "choose", rows, {}, {}, [&](const StatisticInputs& inputs) { return correct_counts(candidates, inputs, prior); });
  if (plan_.choice) return releaser_.select(*plan_.choice, std::move(counts)).of_group(0).front();
  ranks_.sum_everywhere(counts.words());
  return best_candidates(counts.block(0), 1).front();
}

Candidate TrainingRun::choose(std::vector<Candidate> candidates, const Prior* prior) {
  std::vector<LatticeWeights> on_lattice;
  for (Candidate& candidate : candidates) {
    candidate.weights.resize(classes() * lattice().dim);
    ranks_.broadcast(candidate.weights);
    if (candidates.size() > 1) on_lattice.emplace_back(candidate.weights, lattice());
  }
  std::size_t index = 0;
  if (candidates.size() > 1) {
    index = index_to_go_with(on_lattice, prior);
    chosen_setting_ = candidates[index].setting;
    end_phase("choose");
  }
  return std::move(candidates[index]);
}

const Selection& TrainingRun::select_public_rows(const CosineClip& clip) {
  DPREDUCE_ASSERT(plan_.public_selection && public_rows_.candidates != nullptr);
  const bool sums_may_be_shared = ranks_.owners() == ranks_.size();
  if (!clip.is_active() && sums_may_be_shared) return select_by_class_sums();
  const PlannedSelection& planned = *plan_.public_selection;
  public_rows_.candidates->keep_all();
  Statistic utilities = local_statistic(planned.name, rows_, {}, {}, [&](const StatisticInputs& inputs) {
    const StatisticInputs candidates{*public_rows_.candidates, transform_, stream_, inputs.on_chunk};
    return prototype_utilities(planned, clip, inputs, candidates);
  });
  end_phase("utilities");
  chosen_public_rows_.emplace(releaser_.select(planned, std::move(utilities)));
  end_phase("select");
  return *chosen_public_rows_;
}

// Class sums of all rows on every rank, then each rank's part of the public rows.
const Selection& TrainingRun::select_by_class_sums() {
  const PlannedSelection& planned = *plan_.public_selection;
  WorkerRows& candidates = *public_rows_.candidates;
  SecretVector<std::int64_t> sums;
  visit_rows(planned.name, rows_, {}, {}, [&](const StatisticInputs& inputs) { sums = exact_class_sums(inputs); });
  ranks_.sum_everywhere(std::span(reinterpret_cast<std::uint64_t*>(sums.data()), sums.size()));
  candidates.keep_share(static_cast<std::size_t>(ranks_.rank()), static_cast<std::size_t>(ranks_.size()));
  SecretVector<std::int64_t> utilities;
  visit_rows(planned.name, candidates, {}, {},
             [&](const StatisticInputs& inputs) { utilities = utilities_by_class_sums(std::move(sums), inputs); });
  end_phase("utilities");
  chosen_public_rows_.emplace(releaser_.select_from_parts(planned, candidates.range().first, std::move(utilities)));
  end_phase("select");
  return *chosen_public_rows_;
}

std::vector<double> TrainingRun::candidate_row(std::uint64_t index) const {
  std::vector<float> features(transform_.input_dim());
  public_rows_.candidates->features().read_features(index, 1, features);
  std::vector<double> row(transform_.output_dim());
  transform_(features, row);
  return row;
}

WorkerRows& TrainingRun::candidates() const {
  DPREDUCE_ASSERT(public_rows_.candidates != nullptr);
  return *public_rows_.candidates;
}

void TrainingRun::require_same_rows() {
  const SecretVector<std::byte> secret = releaser_.row_secret("rows of a checkpoint");
  RowDigest digest{};
  ranks_.together([&] {
    const OnChunk show = progress_("checkpoint");
    const OnChunk on_chunk = [&](double share) {
      ranks_.check_peers();
      show(share);
    };
    const RowHasher hasher(std::span<const std::byte, 32>(secret), lattice().dim);
    digest = digest_of_rows({rows_, transform_, stream_, on_chunk}, hasher);
  });
  ranks_.sum_to_coordinator(digest);
  ranks_.together([&] {
    if (ranks_.is_coordinator()) releaser_.require_same_rows(digest);
  });
}

void TrainingRun::record_in(ReleaseLog* log) {
  DPREDUCE_ASSERT(plan_.noise.has_value() && (log != nullptr) == ranks_.is_coordinator());
  log_ = log;
  std::array<std::uint64_t, 1> recorded{log != nullptr ? log->recorded() : 0};
  ranks_.broadcast(std::as_writable_bytes(std::span(recorded)));
  recorded_ = recorded[0];
}

void TrainingRun::keep_rows_now(KeptFor use) {
  ranks_.together([&] {
    const OnChunk show = progress_("rows");
    const OnChunk on_chunk = [&](double share) {
      ranks_.check_peers();
      show(share);
    };
    if (use == KeptFor::kRounds && unprojected_) {
      kept_ = project_kept_chunks(std::move(unprojected_->chunks), rows_, transform_, stream_, on_chunk);
    } else {
      kept_ = keep_lattice_chunks(rows_, transform_, stream_, use, on_chunk);
    }
    unprojected_.reset();
  });
  end_phase("rows");
}

void TrainingRun::prepare(Preprocessing changed) {
  keeps_rows_for_.reset();
  if (kept_ && is_projection_of(changed, preprocessing())) {
    unprojected_ = UnprojectedRows{std::move(*kept_), preprocessing()};
  }
  kept_.reset();
  if (unprojected_ && !is_projection_of(changed, unprojected_->as)) unprojected_.reset();
  transform_ = RowTransform(std::move(changed));
}

void TrainingRun::set_center(std::vector<double> center) {
  Preprocessing changed = preprocessing();
  changed.center = std::move(center);
  prepare(std::move(changed));
}

void TrainingRun::project(std::vector<double> matrix) {
  prepare(with_projection(preprocessing(), std::move(matrix)));
}

void TrainingRun::set_selected(std::vector<std::size_t> selected) {
  Preprocessing changed = preprocessing();
  changed.selected = std::move(selected);
  prepare(std::move(changed));
}

void TrainingRun::set_intercept(double share) {
  keeps_rows_for_.reset();
  kept_.reset();
  transform_.set_intercept(share);
}

}  // namespace dpreduce
