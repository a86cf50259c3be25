#include "fit/open_fit.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/rank_pattern.hpp"
#include "common/files/paths.hpp"
#include "common/ranks/lifetime.hpp"
#include "common/ranks/silo_job.hpp"
#include "common/simulation/long_tail.hpp"
#include "fit/files_once.hpp"
#include "fit/planned_fit.hpp"
#include "fit/silo_plan.hpp"
#include "forecast/machine_memory.hpp"
#include "forecast/run_cost.hpp"
#include "methods/registry.hpp"
#include "persons/person_rows.hpp"
#include "persons/silo_persons.hpp"

namespace dpreduce {
namespace {

// Where rows are cut evenly, one row more or less moves others from rank to rank, and so changes what several silos
// release: the noise is made for one.
void check_own_rows(const FitOptions& options, const Communicator& ranks) {
  const MethodEntry& method = method_entry(options.method);
  if (!method.each_rank_is_a_silo || ranks.size() == 1 || paths_are_per_worker(options.data.train.x)) return;
  throw UsageError(
      fmt::format("--method {} on {} ranks: each is a silo with rows of its own; name them with {{rank}}, as in "
                  "--train-x 'silo{{rank}}/x.npy' (dpreduce synth partition --first-silo 0 makes such files)",
                  method.name, ranks.size()));
}

// Where the rows of a person are counted, or may be. Collective. Throws UsageError where a person would have rows in
// more silos than there are.
PersonCount person_count_of(const FitOptions& options, Communicator& ranks) {
  const SiloOptions& stated = options.silos;
  if (stated.counted_persons) {
    return count_over_silos(*stated.counted_persons,
                            with_rank(stated.person_key, static_cast<std::size_t>(ranks.rank())));
  }
  const bool are_silos = ranks.silos() != nullptr || method_entry(options.method).each_rank_is_a_silo;
  if (!are_silos) return count_over_ranks;
  const std::uint64_t silos =
      ranks.silos() != nullptr ? ranks.silos()->terms().silos : static_cast<std::uint64_t>(ranks.size());
  ranks.together([&] {
    if (stated.silos_per_person.value_or(1) <= silos) return;
    throw UsageError(fmt::format("--silos-per-person {}: there are {} silos; a person has rows in 1 to {} of them",
                                 *stated.silos_per_person, silos, silos));
  });
  return count_in_silo(stated.silos_per_person.value_or(silos));
}

// The training rows' identifiers, after which rows are weighed; of a dry run no row is looked at. None where the unit
// is a row, or there are no rows. Collective.
std::optional<ShardedArray> weigh_training(const FitOptions& stated, WorkerRows& training, Communicator& ranks,
                                           const RowsInMemory* memory) {
  if (!stated.data.has_persons()) return std::nullopt;
  std::optional<ShardedArray> persons =
      open_persons(stated.data.train, training, ranks, memory != nullptr ? memory->train_person : std::nullopt);
  if (stated.output.dry_run) return persons;
  weigh(training, persons ? &*persons : nullptr, stated.data.bounded_rows(), person_count_of(stated, ranks), ranks,
        {.coins = stated.method.batch.has_value(),
         .whole = stated.data.clips_persons(),
         .classes = stated.data.classes,
         .most_labels = stated.data.most_labels(),
         .bad_rows = stated.data.train.bad_rows});
  return persons;
}

// This rank's training rows, with labels that fit, and some on any rank. Collective.
WorkerRows open_own_rows(const FitOptions& stated, Communicator& ranks, const RowsInMemory* memory) {
  ranks.together([&] {
    if (memory == nullptr) check_own_rows(stated, ranks);
  });
  WorkerRows training = open_training_rows(stated, ranks, memory);
  ranks.together([&] { check_labels(training, stated.data); });
  require_rows(training, stated.data.train.x.front(), ranks);
  return training;
}

std::unique_ptr<FileClaims> claim_silo_files(const WorkerRows& training, Communicator& ranks) {
  std::unique_ptr<FileClaims> claims;
  ranks.together([&] {
    if (ranks.silos() != nullptr && !ranks.is_coordinator()) claims = claim_files(training, ranks);
  });
  return claims;
}

void keep_tail(const FitOptions& stated, WorkerRows& training, Communicator& ranks) {
  const auto tail = long_tail_of(stated.data);
  if (!tail || stated.output.dry_run) return;
  ranks.together([&] {
    if (!training.is_none()) keep_long_tail(training, stated.data.classes, *tail);
  });
}

// Throws where the plan does not fit into this rank's memory. Collective.
void require_room(const PlannedFit& fit, const WorkerRows& training, const MachineShare& machine, Communicator& ranks) {
  ranks.together([&] {
    machine.require(
        memory_of_rank(fit.options(), fit.plan(), training.range().count, ranks.size()) + training.bytes_of_others(),
        training.mapped_bytes());
  });
  if (!fit.options().data.clips_persons()) return;
  ranks.together([&] { require_room_for_persons(fit.plan().preprocessing, fit.stream_over(training, 1)); });
}

}  // namespace

PublicRows OpenFit::public_rows() {
  return {.features = public_sums ? &*public_sums : nullptr,
          .validation = validation ? &*validation : nullptr,
          .candidates = candidates ? &*candidates : nullptr};
}

OpenFit open_fit(const FitOptions& stated, Communicator& ranks, const RowsInMemory* memory) {
  WorkerRows training = open_own_rows(stated, ranks, memory);
  const std::size_t dim = training.dim();
  std::unique_ptr<FileClaims> claims = claim_silo_files(training, ranks);
  std::optional<WorkerRows> candidates = open_candidates(stated, dim, ranks, memory);
  const MachineShare machine = machine_share(ranks);
  std::shared_ptr<const PlannedFit> fit =
      fit_planned_for_job(stated, dim, candidates ? candidates->range().count : 0, machine.bytes_for_rank(), ranks);
  agree_on_noise(*fit, ranks);  // silos count persons by a sum that is masked as well
  std::optional<ShardedArray> persons = weigh_training(stated, training, ranks, memory);
  keep_tail(stated, training, ranks);
  const auto require_apart = [&](const char* name, std::optional<WorkerRows>& rows) {
    if (rows) require_public({name, &*rows}, training, persons ? &*persons : nullptr, ranks);
  };
  require_apart("public", candidates);
  require_room(*fit, training, machine, ranks);
  std::optional<WorkerRows> public_sums = open_public_rows(fit->options(), dim, ranks, memory);
  require_apart("public", public_sums);
  std::optional<WorkerRows> validation;
  if (!stated.output.dry_run) validation = open_validation_rows(stated, dim, ranks, memory);
  require_apart("validation", validation);
  const unsigned threads = stated.machine.threads;
  return {.fit = std::move(fit),
          .training = std::move(training),
          .public_sums = std::move(public_sums),
          .validation = std::move(validation),
          .candidates = std::move(candidates),
          .claims = std::move(claims),
          .threads = threads == 0 ? default_threads() : threads};
}

}  // namespace dpreduce
