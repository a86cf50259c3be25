#include "methods/training_run.hpp"

#include <algorithm>
#include <utility>

#include "aggregator/release/selection_sampler.hpp"
#include "common/base/error.hpp"
#include "common/ranks/rank_archive.hpp"
#include "worker/person_rows.hpp"
#include "worker/utilities.hpp"

namespace dpreduce {

void Timings::end_phase(const std::string& phase) {
  const auto now = std::chrono::steady_clock::now();
  const double seconds = std::chrono::duration<double>(now - last_).count();
  last_ = now;
  const auto known = std::ranges::find(phases_, phase, &std::pair<std::string, double>::first);
  if (known != phases_.end()) {
    known->second += seconds;
  } else {
    phases_.emplace_back(phase, seconds);
  }
  if (on_phase_) on_phase_(phase, seconds);
}

std::vector<RankTimings> gather_timings(const Timings& timings, Communicator& ranks) {
  std::string own;
  ranks.together([&] { own = archived(timings.phases()); });
  const std::vector<std::string> archives = ranks.trusted().gather(own);
  std::vector<RankTimings> all;
  ranks.together([&] {
    for (const std::string& archive : archives) all.push_back(unarchived<RankTimings>(archive));
  });
  return all;
}

PreparedRows::PreparedRows(Communicator& ranks, WorkerRows& rows, const FitPlan& plan, const StreamPlan& stream,
                           ProgressOf progress, Timings& timings, StatisticSource* source)
    : ranks_(ranks),
      rows_(rows),
      plan_(plan),
      stream_(stream),
      progress_(std::move(progress)),
      timings_(timings),
      source_(source),
      transform_(plan.preprocessing) {
  DPREDUCE_ASSERT(source == nullptr || ranks.size() == 1);
}

void PreparedRows::in_pass(std::string_view name, const std::function<void(const OnChunk&)>& work) {
  ranks_.together([&] {
    const OnChunk show = progress_(name);
    work([&](double share) {
      ranks_.check_peers();
      show(share);
    });
  });
}

void PreparedRows::visit(std::string_view name, WorkerRows& rows, const PublicPoint& point,
                         std::optional<RowSample> sample, const std::function<void(const StatisticInputs&)>& visit) {
  const bool are_training = &rows == &rows_;
  DPREDUCE_ASSERT(source_ == nullptr || !are_training);
  if (keeps_for_ && are_training) keep_now(*std::exchange(keeps_for_, std::nullopt));
  in_pass(name, [&](const OnChunk& on_chunk) {
    const StreamPlan stream = stream_of(rows);
    StatisticInputs inputs{{rows, transform_, stream, on_chunk}, point, std::move(sample)};
    if (kept_ && are_training) inputs.kept = *kept_;
    if (are_training) inputs.are_checked = are_checked_;
    visit(inputs);
    if (are_training) are_checked_ = true;  // those of a sample as well, which touches all until they are
  });
}

Statistic PreparedRows::statistic(std::string_view name, WorkerRows& rows,
                                  const std::function<Statistic(const StatisticInputs&)>& compute) {
  std::optional<Statistic> local;
  visit(name, rows, {}, {}, [&](const StatisticInputs& inputs) { local.emplace(compute(inputs)); });
  return std::move(*local);
}

Statistic PreparedRows::statistic(const ReleaseRequest& request, WorkerRows& rows, const PublicPoint& point,
                                  std::optional<RowSample> sample) {
  std::optional<Statistic> local;
  if (source_ != nullptr && &rows == &rows_) {
    DPREDUCE_ASSERT(!sample);
    const StatisticTask task = task_of(request.name, preprocessing(), point);
    ranks_.together([&] {
      local.emplace(source_->sum(task));
      DPREDUCE_ASSERT(local->shape() == shape_of(task, plan_));
    });
  } else {
    visit(request.name, rows, point, std::move(sample), [&](const StatisticInputs& inputs) {
      local.emplace(registered_statistic(request.name).compute(request, inputs));
    });
  }
  return std::move(*local);
}

std::uint64_t PreparedRows::first() {
  if (!first_) first_ = first_row_of(rows_, ranks_);
  return *first_;
}

// Public rows, of which validation rows alone have labels, may have any number of classes: no noise is made for them.
StreamPlan PreparedRows::stream_of(const WorkerRows& rows) const {
  StreamPlan stream = stream_;
  if (&rows != &rows_ && rows.has_labels()) stream.labels_per_row = rows.has_label_sets() ? stream.classes : 1;
  return stream;
}

void PreparedRows::keep_now(KeptFor use) {
  in_pass("rows", [&](const OnChunk& on_chunk) {
    const RowPass pass{rows_, transform_, stream_, on_chunk};
    if (use == KeptFor::kRounds && unprojected_) {
      kept_ = project_kept_chunks(std::move(unprojected_->chunks), pass);
    } else {
      kept_ = keep_lattice_chunks(pass, use);
    }
    unprojected_.reset();
  });
  timings_.end_phase("rows");
}

void PreparedRows::prepare(Preprocessing changed) {
  keeps_for_.reset();
  if (kept_ && is_projection_of(changed, preprocessing())) {
    unprojected_ = UnprojectedRows{std::move(*kept_), preprocessing()};
  }
  kept_.reset();
  if (unprojected_ && !is_projection_of(changed, unprojected_->as)) unprojected_.reset();
  transform_ = RowTransform(std::move(changed));
}

void PreparedRows::set_center(std::vector<double> center) {
  Preprocessing changed = preprocessing();
  changed.center_factor = center_factor_of(center, changed.normalize, changed.clip_norm);
  changed.center = std::move(center);
  prepare(std::move(changed));
}

void PreparedRows::project(std::vector<double> matrix) {
  prepare(with_projection(preprocessing(), std::move(matrix)));
}

void PreparedRows::set_selected(std::vector<std::size_t> selected) {
  Preprocessing changed = preprocessing();
  changed.selected = std::move(selected);
  prepare(std::move(changed));
}

void PreparedRows::set_columns(FeatureColumns columns, Normalize normalize) {
  Preprocessing changed = preprocessing();
  changed.columns = std::move(columns);
  changed.normalize = normalize;
  prepare(std::move(changed));
}

void PreparedRows::set_clip(double clip_norm) {
  Preprocessing changed = preprocessing();
  changed.clip_norm = clip_norm;
  changed.normalize = Normalize::kNone;
  prepare(std::move(changed));
}

void PreparedRows::set_targets(TargetColumns targets) {
  kept_.reset();
  transform_.set_targets(std::move(targets));
}

void PreparedRows::set_intercept(double share) {
  keeps_for_.reset();
  kept_.reset();
  transform_.set_intercept(share);
}

TrainingRun::TrainingRun(Communicator& ranks, WorkerRows& rows, Releaser& releaser, const FitPlan& plan,
                         const StreamPlan& stream, ProgressOf progress, Timings& timings, const PublicRows& public_rows,
                         RunSides sides)
    : ranks_(ranks),
      releaser_(releaser),
      plan_(plan),
      timings_(timings),
      rows_(ranks, rows, plan, stream, std::move(progress), timings, sides.source),
      public_rows_(public_rows),
      sides_(std::move(sides)) {}

std::size_t TrainingRun::index_to_go_with(std::span<const LatticeWeights> candidates, const Prior& prior) {
  if (plan_.choice) {
    if (const std::optional<Selection> saved = releaser_.saved(*plan_.choice)) return saved->of_group(0).front();
  }
  WorkerRows& rows = public_rows_.validation != nullptr ? *public_rows_.validation : rows_.training();
  Statistic counts = rows_.statistic(
      "choose", rows, [&](const StatisticInputs& inputs) { return correct_counts(candidates, inputs, prior); });
  if (plan_.choice) return releaser_.select(*plan_.choice, std::move(counts)).of_group(0).front();
  ranks_.sum_everywhere(counts.words());
  return best_candidates(counts.block(0), 1).front();
}

Candidate TrainingRun::choose(std::vector<Candidate> candidates, const Prior& prior) {
  std::vector<LatticeWeights> on_lattice;
  for (Candidate& candidate : candidates) {
    candidate.weights.resize(rows_.classes() * rows_.lattice().dim);
    ranks_.broadcast(candidate.weights);
    if (candidates.size() > 1) on_lattice.emplace_back(candidate.weights, rows_.lattice());
  }
  std::size_t index = 0;
  if (candidates.size() > 1) {
    index = index_to_go_with(on_lattice, prior);
    chosen_setting_ = candidates[index].setting;
    timings_.end_phase("choose");
  }
  return std::move(candidates[index]);
}

const Selection& TrainingRun::select_public_rows(const CosineClip& clip) {
  DPREDUCE_ASSERT(plan_.public_selection && public_rows_.candidates != nullptr);
  if (std::optional<Selection> saved = releaser_.saved(*plan_.public_selection)) {
    return chosen_public_rows_.emplace(std::move(*saved));
  }
  const bool sums_may_be_shared = ranks_.owners() == ranks_.size();
  if (!clip.is_active() && sums_may_be_shared) return select_by_class_sums();
  const PlannedSelection& planned = *plan_.public_selection;
  public_rows_.candidates->keep_all();
  Statistic utilities = rows_.statistic(planned.name, rows_.training(), [&](const StatisticInputs& inputs) {
    const StatisticInputs candidates{{*public_rows_.candidates, inputs.transform, inputs.plan, inputs.on_chunk}};
    return prototype_utilities(planned, clip, inputs, candidates);
  });
  timings_.end_phase("utilities");
  chosen_public_rows_.emplace(releaser_.select(planned, std::move(utilities)));
  timings_.end_phase("select");
  return *chosen_public_rows_;
}

// Class sums of all rows on every rank, then each rank's part of the public rows.
const Selection& TrainingRun::select_by_class_sums() {
  const PlannedSelection& planned = *plan_.public_selection;
  WorkerRows& candidates = *public_rows_.candidates;
  SecretVector<std::int64_t> sums;
  rows_.visit(planned.name, rows_.training(), {}, {},
              [&](const StatisticInputs& inputs) { sums = exact_class_sums(inputs); });
  ranks_.sum_everywhere(std::span(reinterpret_cast<std::uint64_t*>(sums.data()), sums.size()));
  candidates.keep_share(static_cast<std::size_t>(ranks_.rank()), static_cast<std::size_t>(ranks_.size()));
  SecretVector<std::int64_t> utilities;
  rows_.visit(planned.name, candidates, {}, {},
              [&](const StatisticInputs& inputs) { utilities = utilities_by_class_sums(std::move(sums), inputs); });
  timings_.end_phase("utilities");
  chosen_public_rows_.emplace(releaser_.select_from_parts(planned, candidates.range().first, std::move(utilities)));
  timings_.end_phase("select");
  return *chosen_public_rows_;
}

std::vector<double> TrainingRun::candidate_row(std::uint64_t index) const {
  std::vector<float> features(rows_.transform().input_dim());
  public_rows_.candidates->features().read_features(index, 1, features);
  std::vector<double> row(rows_.transform().output_dim());
  rows_.transform()(features, row);
  return row;
}

WorkerRows& TrainingRun::public_candidates() const {
  DPREDUCE_ASSERT(public_rows_.candidates != nullptr);
  return *public_rows_.candidates;
}

Release TrainingRun::release_of_rows(const ReleaseRequest& request, const PublicPoint& point) {
  std::optional<RowSample> sample;
  if (request.sampling_rate < 1.0) {
    sample.emplace(RowSample{releaser_.sample_secret(request.name), request.sampling_rate, rows_.first()});
  }
  return releaser_.release(request.name, rows_.statistic(request, rows_.training(), point, std::move(sample)));
}

Release TrainingRun::release(std::string_view name, const PublicPoint& point) {
  std::optional<NamedIntegers> saved = releaser_.saved(name);
  Release release = saved ? releaser_.release_of(name, std::move(*saved)) : release_of_rows(plan_.request(name), point);
  ranks_.together([&] { show_observer(name, release, point); });
  if (sides_.watcher) sides_.watcher({name, release, rows_.preprocessing(), point});
  return release;
}

void TrainingRun::show_observer(std::string_view name, const Release& release, const PublicPoint& point) const {
  if (sides_.observer) sides_.observer({name, release, rows_.preprocessing(), point});
}

Release TrainingRun::release_of_own_rows(std::string_view name, const PublicPoint& point) {
  DPREDUCE_ASSERT(sides_.source == nullptr && (!sides_.watcher || ranks_.size() == 1));
  Release release = releaser_.release_of_each_rank(name, rows_.statistic(plan_.request(name), rows_.training(), point));
  if (sides_.watcher) sides_.watcher({name, release, rows_.preprocessing(), point});
  return release;
}

Release TrainingRun::sum_public(std::string_view name) {
  DPREDUCE_ASSERT(public_rows_.features != nullptr);
  ReleaseTerms terms;
  terms.classes = rows_.classes();
  terms.dim = rows_.lattice().dim;
  const ReleaseRequest request = registered_statistic(name).request(terms, 1.0);
  return Releaser(ranks_).release(name, rows_.statistic(request, *public_rows_.features, {}));
}

}  // namespace dpreduce
