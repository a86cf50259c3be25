#include "run/training_run.hpp"

#include <array>
#include <optional>
#include <span>
#include <utility>

#include "run/release_log.hpp"

namespace dpreduce {

TrainingRun::TrainingRun(Communicator& ranks, WorkerRows& rows, Releaser& releaser, const FitPlan& plan,
                         const StreamPlan& stream, ProgressOf progress, Timings& timings, const PublicRows& public_rows,
                         RunSides sides)
    : ranks_(ranks),
      releaser_(releaser),
      plan_(plan),
      timings_(timings),
      rows_(ranks, rows, plan, stream, std::move(progress), timings, sides.source),
      choices_(ranks, rows_, releaser, plan, timings, public_rows),
      public_features_(public_rows.features),
      sides_(std::move(sides)) {}

Release TrainingRun::release_of_rows(const ReleaseRequest& request, const PublicPoint& point) {
  if (request.sampling_rate == 1.0)
    return releaser_.release(request.name, rows_.statistic(request, rows_.training(), point));
  return releaser_.release_of_sample(request.name, [&](const SecretVector<std::byte>& secret) {
    return rows_.statistic(request, rows_.training(), point, RowSample{secret, request.sampling_rate, rows_.first()});
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
  if (sides_.watcher) sides_.watcher({name, *release, rows_.preprocessing(), point});
  return std::move(*release);
}

void TrainingRun::show_observer(std::string_view name, const Release& release, const PublicPoint& point) const {
  if (sides_.observer) sides_.observer({name, release, rows_.preprocessing(), point});
}

Release TrainingRun::release_of_own_rows(std::string_view name, const PublicPoint& point) {
  DPREDUCE_ASSERT(sides_.source == nullptr && log_ == nullptr && recorded_ == 0 &&
                  (!sides_.watcher || ranks_.size() == 1));
  Release release = releaser_.release_of_each_rank(name, rows_.statistic(plan_.request(name), rows_.training(), point));
  if (sides_.watcher) sides_.watcher({name, release, rows_.preprocessing(), point});
  return release;
}

// Whether the next release is on disk already; counts it.
bool TrainingRun::takes_recorded() {
  if (recorded_ == 0) return false;
  --recorded_;
  return true;
}

Release TrainingRun::sum_public(std::string_view name) {
  DPREDUCE_ASSERT(public_features_ != nullptr);
  ReleaseTerms terms;
  terms.classes = rows_.classes();
  terms.dim = rows_.lattice().dim;
  const ReleaseRequest request = registered_statistic(name).request(terms, 1.0);
  Release sum = Releaser(ranks_).release(name, rows_.statistic(request, *public_features_, {}));
  takes_recorded();
  ranks_.together([&] {
    if (log_) log_->public_sum(name, sum);
  });
  return sum;
}

void TrainingRun::record_in(ReleaseLog* log) {
  DPREDUCE_ASSERT(sides_.source == nullptr && plan_.noise.has_value() && (log != nullptr) == ranks_.is_coordinator());
  log_ = log;
  std::array<std::uint64_t, 1> recorded{log != nullptr ? log->recorded() : 0};
  ranks_.broadcast(std::as_writable_bytes(std::span(recorded)));
  recorded_ = recorded[0];
}

}  // namespace dpreduce
