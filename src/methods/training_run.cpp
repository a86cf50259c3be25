#include "dpreduce/methods/training_run.hpp"

#include <optional>
#include <utility>

namespace dpreduce {

TrainingRun::TrainingRun(Communicator& ranks, WorkerRows& rows, Releaser& releaser, const FitPlan& plan,
                         const StreamPlan& stream, ProgressOf progress, Timings& timings, WorkerRows* public_rows)
    : ranks_(ranks),
      rows_(rows),
      releaser_(releaser),
      plan_(plan),
      stream_(stream),
      progress_(std::move(progress)),
      timings_(timings),
      transform_(plan.preprocessing),
      public_rows_(public_rows) {}

Statistic TrainingRun::local_statistic(const ReleaseRequest& request, WorkerRows& rows, const GradientPoint* point) {
  std::optional<Statistic> local;
  ranks_.together([&] {
    const OnChunk show = progress_(request.name);
    const OnChunk on_chunk = [&](double share) {
      ranks_.check_peers();
      show(share);
    };
    local.emplace(registered_statistic(request.name).compute(request, {rows, transform_, stream_, on_chunk, point}));
  });
  return std::move(*local);
}

Release TrainingRun::release(std::string_view name, const GradientPoint* point) {
  Release release = releaser_.release(name, local_statistic(plan_.request(name), rows_, point));
  if (watcher_) watcher_(release);
  return release;
}

Release TrainingRun::sum_public(std::string_view name) {
  DPREDUCE_ASSERT(public_rows_ != nullptr);
  ReleaseTerms terms;
  terms.classes = classes();
  terms.dim = lattice().dim;
  const ReleaseRequest request = registered_statistic(name).request(terms, 1.0);
  return Releaser(ranks_).release(name, local_statistic(request, *public_rows_, nullptr));
}

void TrainingRun::set_center(std::vector<double> center) {
  Preprocessing changed = preprocessing();
  changed.center = std::move(center);
  transform_ = RowTransform(std::move(changed));
}

void TrainingRun::project(std::vector<double> matrix) {
  transform_ = RowTransform(with_projection(preprocessing(), std::move(matrix)));
}

void TrainingRun::set_selected(std::vector<std::size_t> selected) {
  Preprocessing changed = preprocessing();
  changed.selected = std::move(selected);
  transform_ = RowTransform(std::move(changed));
}

void TrainingRun::set_intercept(double share) {
  Preprocessing changed = preprocessing();
  changed.intercept = share;
  transform_ = RowTransform(std::move(changed));
}

}  // namespace dpreduce
