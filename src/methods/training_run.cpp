#include "methods/training_run.hpp"

#include "aggregator/release/selection_sampler.hpp"
#include "common/base/error.hpp"
#include "worker/utilities.hpp"

namespace dpreduce {

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
