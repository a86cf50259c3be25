#include "dpreduce/methods/training_run.hpp"

#include <numeric>
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

Statistic TrainingRun::local_statistic(const ReleaseRequest& request, WorkerRows& rows, const GradientPoint* point,
                                       const RowSample* sample) {
  std::optional<Statistic> local;
  ranks_.together([&] {
    const OnChunk show = progress_(request.name);
    const OnChunk on_chunk = [&](double share) {
      ranks_.check_peers();
      show(share);
    };
    const KeptChunks* kept = kept_ && &rows == &rows_ ? &*kept_ : nullptr;
    local.emplace(registered_statistic(request.name)
                      .compute(request, {rows, transform_, stream_, on_chunk, point, kept, sample}));
  });
  return std::move(*local);
}

Release TrainingRun::release(std::string_view name, const GradientPoint* point) {
  const ReleaseRequest& request = plan_.request(name);
  Release release = request.sampling_rate == 1.0
                        ? releaser_.release(name, local_statistic(request, rows_, point))
                        : releaser_.release_of_sample(name, [&](const SecretVector<std::byte>& secret) {
                            const RowSample sample{secret, request.sampling_rate, first_row()};
                            return local_statistic(request, rows_, point, &sample);
                          });
  if (watcher_) watcher_(release);
  return release;
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
  DPREDUCE_ASSERT(public_rows_ != nullptr);
  ReleaseTerms terms;
  terms.classes = classes();
  terms.dim = lattice().dim;
  const ReleaseRequest request = registered_statistic(name).request(terms, 1.0);
  return Releaser(ranks_).release(name, local_statistic(request, *public_rows_, nullptr));
}

void TrainingRun::keep_rows() {
  ranks_.together([&] {
    const OnChunk show = progress_("rows");
    kept_ = keep_lattice_chunks(rows_, transform_, stream_, [&](double share) {
      ranks_.check_peers();
      show(share);
    });
  });
  end_phase("rows");
}

void TrainingRun::prepare(Preprocessing changed) {
  kept_.reset();
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
  Preprocessing changed = preprocessing();
  changed.intercept = share;
  prepare(std::move(changed));
}

}  // namespace dpreduce
