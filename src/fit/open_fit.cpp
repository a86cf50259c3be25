#include "fit/open_fit.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/paths.hpp"
#include "common/data/long_tail.hpp"
#include "common/data/row_files.hpp"
#include "common/ranks/lifetime.hpp"
#include "common/ranks/silo_job.hpp"
#include "fit/files_once.hpp"
#include "fit/machine_memory.hpp"
#include "fit/ranked_rows.hpp"
#include "fit/run_cost.hpp"
#include "fit/silo_terms.hpp"
#include "methods/registry.hpp"
#include "worker/lattice_stream.hpp"
#include "worker/person_rows.hpp"

namespace dpreduce {
namespace {

// Throws BadInput unless all ranks have as many rows. Collective.
void require_as_many_everywhere(const WorkerRows& rows, const std::string& name, Communicator& ranks) {
  const double count = static_cast<double>(rows.range().count);
  const double most = ranks.max_everywhere(count);
  ranks.together([&] {
    if (count == most) return;
    throw BadInput("{}: fewer rows on rank {} than on another; give all ranks the same rows", name, ranks.rank());
  });
}

void require_public_columns(const WorkerRows& rows, const std::string& files, const WorkerRows& training) {
  if (rows.dim() == training.dim()) return require_columns_of(rows, training);
  throw BadInput("--public-x {}: rows have {} features, but training rows have {}; both need the same", files,
                 rows.dim(), training.dim());
}

// Rows that every rank holds, of which it reads an even share.
WorkerRows shared_rows(const ArrayView& x, const std::optional<ArrayView>& y, const std::string& x_name,
                       const std::string& y_name, Communicator& ranks) {
  std::optional<WorkerRows> rows;
  ranks.together([&] { rows.emplace(WorkerRows::in_memory(x, y, x_name, y_name)); });
  require_as_many_everywhere(*rows, x_name, ranks);
  rows->keep_share(static_cast<std::size_t>(ranks.rank()), static_cast<std::size_t>(ranks.size()));
  return std::move(*rows);
}

}  // namespace

FitOptions with_rows_in_memory(FitOptions options, const RowsInMemory& rows) {
  DataOptions& data = options.data;
  // Puts the name of rows in memory in place of files.
  const auto take_place = [](bool is_given, std::vector<std::string>& files, const char* option, const char* name) {
    if (!files.empty()) {
      throw UsageError("{} {}: rows are given in memory; leave their files out", option, files.front());
    }
    if (is_given) files = {name};
  };
  take_place(true, data.train.x, "--train-x", "training features in memory");
  take_place(true, data.train.y, data.train.has_targets ? "--targets" : "--train-y",
             data.train.has_targets ? "targets in memory" : "training labels in memory");
  take_place(rows.train_person.has_value(), data.train.person, "--train-person", "identifiers of persons in memory");
  take_place(rows.train_weight.has_value(), data.train.weight, "--train-weight", "weights of rows in memory");
  take_place(rows.public_x.has_value(), data.public_x, "--public-x", "public rows in memory");
  take_place(rows.validation_x.has_value(), data.validation.x, "--validation-x", "validation features in memory");
  take_place(rows.validation_y.has_value(), data.validation.y, "--validation-y", "validation labels in memory");
  return options;
}

void require_fitting_labels(WorkerRows& rows, const DataOptions& data) {
  if (rows.is_none() || data.has_targets()) return;
  const std::string& files = data.train.y.front();
  const std::string option = data.train.option("y");
  const std::size_t columns = rows.labels().columns();
  if (columns == 1 && data.max_labels) {
    throw UsageError(
        "--max-labels {}: {} {} has one class index a row; leave the option out, or give zeros and ones, n x K",
        *data.max_labels, option, files);
  }
  if (columns > 1 && columns != data.classes) {
    throw BadInput("{} {}: labels have {} columns of zeros and ones for --classes {}; give one column a class", option,
                   files, columns, data.classes);
  }
  if (columns > 1 && !data.max_labels) {
    throw UsageError(
        "{} {}: rows may have several labels; give the largest number per row with --max-labels (1 to {}), "
        "for which the noise is sized",
        option, files, data.classes);
  }
}

void look_at_rows(WorkerRows& rows, std::size_t classes, BadRows bad_rows, Communicator& ranks) {
  for_each_feature_chunk(
      rows, classes, bad_rows, [](const RowChunk&, std::span<const float>) {}, [&](double) { ranks.check_peers(); });
}

namespace {

// This rank's share of public rows, for sums of them. Collective.
WorkerRows open_public_rows(const DataOptions& data, const WorkerRows& training, Communicator& ranks,
                            const RowsInMemory* memory) {
  const std::string& name = data.public_x.front();
  WorkerRows rows = memory != nullptr
                        ? shared_rows(*memory->public_x, {}, name, {}, ranks)
                        : open_ranked_rows({data.public_x, {}, data.train.bad_rows}, ranks, RowsOfSilos::kCoordinator);
  ranks.together([&] { require_public_columns(rows, name, training); });
  return rows;
}

// All public rows, at every rank, to choose a class's prototypes from. Collective. Throws UsageError where ranks name
// files of their own; BadInput where rows are fewer than prototypes, or not the same on every rank.
WorkerRows open_candidates(const std::vector<std::string>& files, const MethodOptions& method,
                           const WorkerRows& training, Communicator& ranks, const RowsInMemory* memory) {
  const std::string& name = files.front();
  std::optional<WorkerRows> rows;
  ranks.together([&] {
    if (paths_are_per_worker(files)) {
      throw UsageError(
          "--public-x {}: with --method {} every rank opens all public rows; give the same files to all, "
          "without {{rank}}",
          name, method.name);
    }
    rows.emplace(memory != nullptr ? WorkerRows::in_memory(*memory->public_x, std::nullopt, name)
                                   : WorkerRows::open(files, {}, 0, 1));
    require_public_columns(*rows, name, training);
    const std::uint64_t count = rows->range().count;
    const std::size_t wanted = method.top_k.value_or(1);
    if (count >= wanted) return;
    throw BadInput("--public-x {}: {} rows to choose from, fewer than the {} prototypes of a class{}", name, count,
                   wanted, method.top_k ? " (--top-k); give more rows, or lower it" : "; give more rows");
  });
  require_as_many_everywhere(*rows, "--public-x " + name, ranks);
  return std::move(*rows);
}

// This rank's share of validation rows, their labels checked. Collective.
WorkerRows open_validation_rows(const RowFiles& validation, std::size_t classes, const WorkerRows& training,
                                Communicator& ranks, const RowsInMemory* memory) {
  const std::string& name = validation.x.front();
  std::optional<WorkerRows> rows;
  if (memory != nullptr) {
    rows.emplace(shared_rows(*memory->validation_x, memory->validation_y, name, validation.y.front(), ranks));
  }
  ranks.together([&] {
    if (memory == nullptr) rows.emplace(open_rows_of_rank(validation, training, ranks));
    require_features_of(*rows, training.dim(), name);
    label_counts(rows->labels(), rows->range(), classes, ranks);  // before it costs
  });
  agree_on_columns(*rows, ranks);
  return std::move(*rows);
}

// Puts rows in the unit of the fit: weighed by declared weights, or by persons, whose identifiers are returned, and
// gathered where units are clipped; of a dry run no row is looked at. Collective. Throws UsageError where a person
// would have rows in more silos than there are.
std::optional<ShardedArray> weigh_rows(const FitOptions& options, bool clips_units, WorkerRows& rows,
                                       Communicator& ranks, const RowsInMemory* memory) {
  const DataOptions& data = options.data;
  if (!data.train.weight.empty()) {
    std::optional<ShardedArray> weights = open_beside(ArrayRole::kWeights, data.train, rows, ranks,
                                                      memory != nullptr ? memory->train_weight : std::nullopt);
    const auto weigh_as_given = [&] {
      weigh(rows, weights ? &*weights : nullptr, static_cast<float>(*data.weight_bound));
    };
    if (!options.output.dry_run) ranks.together(weigh_as_given);
  }
  if (!data.has_units()) return std::nullopt;
  std::optional<ShardedArray> persons = open_beside(ArrayRole::kPersons, data.train, rows, ranks,
                                                    memory != nullptr ? memory->train_person : std::nullopt);
  if (options.output.dry_run) return persons;
  PersonCount count = count_over_ranks;
  if (ranks.silos() != nullptr || method_entry(options.method).each_rank_is_a_silo) {
    const std::uint64_t silos =
        ranks.silos() != nullptr ? ranks.silos()->entry().terms.silos : static_cast<std::uint64_t>(ranks.size());
    ranks.together([&] { require_silos_per_person(options.silos, silos); });
    count = count_in_silo(options.silos.silos_per_person.value_or(silos));
  }
  weigh(rows, persons ? &*persons : nullptr, data.bounded_rows(), count, ranks,
        {.coins = options.method.batch.has_value(),
         .whole = clips_units,
         .classes = data.classes,
         .most_labels = data.most_labels(),
         .bad_rows = data.train.bad_rows});
  return persons;
}

// Opens this rank's training rows, with labels that fit, and some on any rank. Collective.
WorkerRows open_own_rows(const DataOptions& data, const MethodEntry& method, Communicator& ranks,
                         const RowsInMemory* memory) {
  ranks.together([&] {
    // If rows are cut evenly, one row more or less moves others from rank to rank, and so changes what several silos
    // release, while the noise is made for one.
    const bool are_cut = memory == nullptr && ranks.size() > 1 && !paths_are_per_worker(data.train.x);
    if (!method.each_rank_is_a_silo || !are_cut) return;
    throw UsageError(
        "--method {} on {} ranks: each is a silo with rows of its own; name them with {{rank}}, as in "
        "--train-x 'silo{{rank}}/x.npy' (dpreduce synth partition --first-silo 0 makes such files)",
        method.name, ranks.size());
  });
  WorkerRows training = memory == nullptr ? open_ranked_rows(data.train, ranks)
                                          : ranked_rows_in_memory(memory->train_x, memory->train_y, data.train, ranks);
  std::array<std::uint64_t, 1> count{training.range().count};
  if (ranks.silos() == nullptr) ranks.sum_everywhere(count);
  ranks.together([&] {
    require_fitting_labels(training, data);
    // A fit without rows would charge for noise alone. Silos do not reveal to each other whether they have some.
    if (count[0] == 0 && ranks.silos() == nullptr) throw BadInput("{}: no rows; give some", data.train.x.front());
  });
  return training;
}

// Opens this rank's test rows, whose metrics share the budget: in place of training rows, with the same unit, and every
// value and label looked at before anything is reserved. Collective.
WorkerRows open_evaluated_rows(FitOptions options, const WorkerRows& training, Communicator& ranks) {
  options.data.train = options.data.test;
  options.data.train.role = "test";
  WorkerRows rows = open_own_rows(options.data, method_entry(options.method), ranks, nullptr);
  ranks.together([&] {
    require_features_of(rows, training.dim(), options.data.train.x.front());
    require_columns_of(rows, training);
  });
  weigh_rows(options, false, rows, ranks, nullptr);  // evaluations weigh persons
  ranks.together([&] { look_at_rows(rows, options.data.classes, options.data.train.bad_rows, ranks); });
  return rows;
}

// Throws BadInput where the columns of rows that models are evaluated on are named otherwise than those of a model.
void require_columns_of_models(const WorkerRows& rows, const EvaluationOptions& evaluation) {
  const std::vector<Classifier> models = evaluated_models(evaluation);
  for (std::size_t place = 0; place < models.size(); ++place) {
    const std::string name =
        place < evaluation.files.size() ? "in the model " + evaluation.files[place] : "in the model";
    rows.features().require_columns(models[place].parts().feature_names, name);
  }
}

void keep_tail(const DataOptions& data, WorkerRows& training, Communicator& ranks) {
  const auto tail = long_tail_of(data);
  if (!tail) return;
  ranks.together([&] {
    if (!training.is_none()) keep_long_tail(training, data.classes, *tail);
  });
}

// Throws where the plan does not fit into this rank's memory. Collective.
void require_room(const ResolvedFit& fit, const WorkerRows& training, const MachineShare& machine,
                  Communicator& ranks) {
  ranks.together([&] {
    machine.require(memory_of_rank(fit.options(), fit.plan(), training.range().count, ranks.size()) +
                        training.bytes_of_others() + training.held_bytes(),
                    training.mapped_bytes());
  });
  if (!fit.plan().clips_units()) return;
  ranks.together([&] { require_room_for_units(fit.plan().preprocessing, fit.stream_over(training, 1)); });
}

// Returns whether public rows are summed: for a center, for components, or for what rows are whitened about.
bool sums_public_rows(const FitOptions& options) {
  return options.rows.center == Centering::kPublic || (options.rows.pca > 0 && !options.data.public_x.empty()) ||
         whitens_by_public_rows(options);
}

}  // namespace

PublicRows OpenFit::public_rows() {
  return {.features = public_sums ? &*public_sums : nullptr,
          .validation = validation ? &*validation : nullptr,
          .candidates = candidates ? &*candidates : nullptr};
}

void require_silos_per_person(const SiloOptions& options, std::uint64_t silos) {
  if (options.silos_per_person.value_or(1) <= silos) return;
  throw UsageError("--silos-per-person {}: there are {} silos; a person has rows in 1 to {} of them",
                   *options.silos_per_person, silos, silos);
}

OpenFit open_fit(const FitOptions& asked, Communicator& ranks, const RowsInMemory* memory) {
  const bool is_dry_run = asked.output.dry_run;
  const DataOptions& data = asked.data;
  OpenFit open{.training = open_own_rows(data, method_entry(asked.method), ranks, memory)};
  const std::size_t dim = open.training.dim();
  ranks.together([&] {
    if (ranks.silos() != nullptr && !ranks.is_coordinator()) open.claims = claim_files(open.training, ranks);
    require_columns_of_models(open.training, asked.evaluation);
  });
  if (may_choose_public_rows(asked)) {
    open.candidates = open_candidates(data.public_x, asked.method, open.training, ranks, memory);
  }

  const MachineShare machine = machine_share(ranks);
  FitOptions options = asked;
  if (data.has_targets()) options.data.classes = open.training.targets();
  std::vector<std::string>& names = options.data.train.feature_names;
  if (names.empty() && ranks.silos() == nullptr) names = open.training.features().column_names();
  open.fit = resolved_for_job(options, dim, open.candidates ? open.candidates->range().count : 0,
                              machine.bytes_for_rank(), ranks);
  agree_on_noise(*open.fit, ranks);

  const std::optional<ShardedArray> persons =
      weigh_rows(options, open.fit->plan().clips_units(), open.training, ranks, memory);
  if (!is_dry_run) keep_tail(options.data, open.training, ranks);
  const auto require_usable = [&](const char* name, WorkerRows& rows) {
    require_public({name, rows}, open.training, persons ? &*persons : nullptr, ranks);
    if (is_dry_run) return;
    ranks.together([&] { look_at_rows(rows, options.data.classes, data.train.bad_rows, ranks); });
  };
  if (open.candidates) require_usable("public", *open.candidates);
  require_room(*open.fit, open.training, machine, ranks);

  if (sums_public_rows(open.fit->options())) {
    open.public_sums = open_public_rows(data, open.training, ranks, memory);
    require_usable("public", *open.public_sums);
  }
  if (!is_dry_run && !data.validation.x.empty()) {
    open.validation = open_validation_rows(data.validation, options.data.classes, open.training, ranks, memory);
    require_usable("validation", *open.validation);
  }
  if (!is_dry_run && asked.evaluation.share) open.evaluated = open_evaluated_rows(options, open.training, ranks);
  open.threads = asked.machine.threads == 0 ? default_threads() : asked.machine.threads;
  return open;
}

}  // namespace dpreduce
