#include "methods/prepared_rows.hpp"

#include <utility>

#include "common/base/error.hpp"
#include "worker/person_rows.hpp"

namespace dpreduce {

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

}  // namespace dpreduce
