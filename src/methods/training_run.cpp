#include "dpreduce/methods/training_run.hpp"

#include <optional>
#include <utility>

namespace dpreduce {

TrainingRun::TrainingRun(Communicator& ranks, WorkerRows& rows, Releaser& releaser, const FitPlan& plan,
                         const StreamPlan& stream, ProgressOf progress, Timings& timings)
    : ranks_(ranks),
      rows_(rows),
      releaser_(releaser),
      plan_(plan),
      stream_(stream),
      progress_(std::move(progress)),
      timings_(timings),
      transform_(plan.preprocessing) {}

Release TrainingRun::release(std::string_view name, const GradientPoint* point) {
  std::optional<Statistic> local;
  ranks_.together([&] {
    const OnChunk show = progress_(name);
    const OnChunk on_chunk = [&](double share) {
      ranks_.check_peers();
      show(share);
    };
    local.emplace(
        registered_statistic(name).compute(plan_.request(name), {rows_, transform_, stream_, on_chunk, point}));
  });
  Release release = releaser_.release(name, std::move(*local));
  if (watcher_) watcher_(release);
  return release;
}

void TrainingRun::set_center(std::vector<double> center) {
  Preprocessing changed = preprocessing();
  changed.center = std::move(center);
  transform_ = RowTransform(std::move(changed));
}

void TrainingRun::set_intercept(double share) {
  Preprocessing changed = preprocessing();
  changed.intercept = share;
  transform_ = RowTransform(std::move(changed));
}

}  // namespace dpreduce
