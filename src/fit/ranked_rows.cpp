#include "fit/ranked_rows.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/base/error.hpp"
#include "common/base/paths.hpp"
#include "common/base/text.hpp"
#include "common/data/label_slots.hpp"
#include "common/randomness/signing_key.hpp"
#include "common/ranks/rank_archive.hpp"
#include "common/ranks/silo_job.hpp"
#include "fit/files_once.hpp"

namespace dpreduce {
namespace {

// The first rank whose columns have names, and these.
using NamesOfRank = std::pair<std::size_t, std::vector<std::string>>;

constexpr std::size_t kBytesOfNames = 6;  // of a digest: a double holds them
constexpr std::uint64_t kNumbersOfNames = std::uint64_t{1} << (8 * kBytesOfNames);

// The group of each of the worker's rows, where there are groups.
void read_groups(WorkerRows& rows, const RowFiles& options, std::size_t worker) {
  if (options.group.empty()) return;
  require_same_workers(options.x, options.group, "groups");
  ShardedArray column(expand_paths(options.group, worker), ArrayRole::kLabels, named_classes(options.group_names));
  if (column.rows() != rows.features().rows() || column.columns() > 1) {
    throw BadInput("groups ({}) have {} rows of {} but features have {} rows; give one group a row{}",
                   options.group.front(), column.rows(), column.columns(), rows.features().rows(), kForOwnerOnly);
  }
  if (rows.takes_any_number_of_labels()) column.set_unlisted_labels(UnlistedLabels::kTaken);
  std::vector<std::int32_t> groups(rows.range().count);
  column.read_labels(rows.range().first, groups.size(), options.groups, groups);
  rows.set_groups(std::move(groups));
}

bool has_rows(const Communicator& ranks, RowsOfSilos whose) {
  return ranks.silos() == nullptr || ranks.is_coordinator() == (whose == RowsOfSilos::kCoordinator);
}

// Numbers of features and targets, the same for all ranks that have rows. Silos with a roster take them from there:
// none of them can move them.
struct AgreedShape {
  std::size_t features = 0;
  std::size_t targets = 0;
  bool is_of_roster = false;
};

// `rows` is null where this rank has none. Collective.
AgreedShape agreed_shape(const WorkerRows* rows, const RowFiles& options, Communicator& ranks) {
  if (ranks.silos() != nullptr && ranks.silos()->entry().roster) {
    const Roster& roster = *ranks.silos()->entry().roster;
    return {roster.dim, options.has_targets ? roster.classes : 0, true};
  }
  const auto most = [&](std::size_t own) {
    return static_cast<std::size_t>(ranks.max_everywhere(static_cast<double>(own)));
  };
  AgreedShape shape{.features = most(rows ? rows->dim() : 0)};
  if (options.has_targets) shape.targets = most(rows ? rows->targets() : 0);
  return shape;
}

// Throws BadInput where rows have another shape than those of the other ranks.
void require_agreed_shape(const WorkerRows& rows, const AgreedShape& shape, const RowFiles& options) {
  const auto require_agreed = [&](std::size_t own, std::size_t all, const char* what, const std::string& name) {
    if (own == all) return;
    throw BadInput("{}: rows have {} {}, but {}; all files must agree", name, own, what,
                   shape.is_of_roster ? fmt::format("--roster says {} {}", all, what)
                                      : fmt::format("those of another rank have {}", all));
  };
  require_agreed(rows.dim(), shape.features, "features", options.x.front());
  if (rows.targets() != 0) require_agreed(rows.targets(), shape.targets, "targets", options.y.front());
}

// The first six bytes of a digest of names, as a number that a double holds; 0 where there are none.
std::uint64_t digest_number(const std::vector<std::string>& names) {
  if (names.empty()) return 0;
  std::uint64_t number = 0;
  const auto digest = sha256(fmt::format("dpreduce columns v1\n{}", fmt::join(names, "\n")));
  for (std::size_t byte = 0; byte < kBytesOfNames; ++byte)
    number = 256 * number + std::to_integer<std::uint64_t>(digest[byte]);
  return number;
}

std::string listed(const std::vector<std::string>& names) {
  return in_quotes(fmt::format("{}", fmt::join(names, ", ")));
}

// "silo 1 (north), silo 3 (west) against silo 2 (east)": silos whose numbers are the same stand together. Those without
// names are left out.
std::string groups_of(const CoordinatorSession& session) {
  std::map<std::uint64_t, std::string> groups;
  for (const auto& [silo, number] : session.numbers()) {
    std::string& group = groups[number];
    group += (group.empty() ? "" : ", ") + session.name_of(silo);
  }
  groups.erase(0);
  std::vector<std::string> said;
  for (const auto& [number, group] : groups) said.push_back(group);
  return fmt::format("{}", fmt::join(said, " against "));
}

// Silos do not show each other their names: numbers of these go to the coordinator, and all learn the least and the
// largest. No party knows which is wrong: all whose tables have names end where these differ.
void compare_columns_of_silos(ShardedArray& columns, const char* what, Communicator& ranks) {
  const std::uint64_t own = digest_number(columns.column_names());
  const auto largest_of = [&](std::uint64_t number) {
    return static_cast<std::uint64_t>(ranks.max_everywhere(static_cast<double>(number)));
  };
  const std::uint64_t largest = largest_of(own);
  const CoordinatorSession* const coordinator = ranks.silos()->coordinator();
  const std::string groups = coordinator != nullptr ? groups_of(*coordinator) : "";
  const std::uint64_t least = kNumbersOfNames - largest_of(own == 0 ? 0 : kNumbersOfNames - own);
  ranks.together([&] {
    if (largest == 0 || least == largest) return;
    const std::string differ = fmt::format("silos differ in the names of {}, or in their order", what);
    if (coordinator != nullptr) throw BadInput("{}: {}; each tells its owner its own names", differ, groups);
    if (own == 0) return;
    throw BadInput("{}: {}; here they are {}; agree on one list, as in t.csv:a,b{}", columns.named_path(), differ,
                   listed(columns.column_names()), kForOwnerOnly);
  });
  columns.set_number_of_names(largest);
}

// Throws BadInput where tables have other columns on this rank than on the first rank whose tables name theirs, or in
// another order; these are then the names everywhere. Collective.
void compare_columns_of_ranks(ShardedArray& columns, Communicator& ranks) {
  const std::vector<std::string> of_ranks = ranks.trusted().gather(archived(columns.column_names()));
  std::string first;
  ranks.at_coordinator([&] {
    NamesOfRank named;
    for (std::size_t rank = 0; rank < of_ranks.size() && named.second.empty(); ++rank) {
      named = {rank, unarchived<std::vector<std::string>>(of_ranks[rank])};
    }
    first = archived(named);
  });
  first = ranks.trusted().broadcast(std::move(first));
  ranks.together([&] {
    const auto [rank, names] = unarchived<NamesOfRank>(first);
    columns.require_columns(names, fmt::format("on rank {}", rank));
    columns.set_column_names(names);
  });
}

// Compares the names of features, and of targets or columns of labels. Files whose columns have no names are not
// compared. Collective.
void require_agreed_columns(WorkerRows& rows, Communicator& ranks) {
  if (ranks.silos() == nullptr) return agree_on_columns(rows, ranks);
  compare_columns_of_silos(rows.features(), "features", ranks);
  compare_columns_of_silos(rows.labels(), "targets or of columns of labels", ranks);
}

// Throws BadInput where both name their columns, and not alike.
void require_columns_like(const ShardedArray& rows, const ShardedArray& training) {
  const std::string& path = training.named_path();
  rows.require_columns(training.column_names(), path.empty() ? "in training rows" : "in " + path);
  const std::uint64_t number = digest_number(rows.column_names());
  if (number == 0 || training.number_of_names() == 0 || number == training.number_of_names()) return;
  throw BadInput("{}: columns are {}, but those of silos have other names or another order; give the same ones",
                 rows.named_path(), listed(rows.column_names()));
}

// Notes what labels that are none, and targets that are no numbers, are taken as.
void take_labels(WorkerRows& rows, UnlistedLabels unlisted, BadRows bad_rows) {
  if (!rows.has_labels()) return;
  rows.labels().set_unlisted_labels(unlisted);
  rows.labels().set_takes_bad_targets(bad_rows == BadRows::kZero);
}

// Features, labels and groups of one worker. A silo's lists of classes and groups are another party's.
WorkerRows open_with_groups(const RowFiles& options, int rank, int ranks, bool is_of_silo) {
  const auto worker = static_cast<std::size_t>(rank);
  WorkerRows rows = WorkerRows::open(options.x, options.y, worker, static_cast<std::size_t>(ranks),
                                     named_classes(options.class_names), options.role_of_y());
  take_labels(rows, is_of_silo ? UnlistedLabels::kInAnyNumber : options.unlisted_labels, options.bad_rows);
  read_groups(rows, options, worker);
  return rows;
}

// Rows of this rank: its share of files that all ranks share, else all of the files that it has named.
WorkerRows open_own_share(const RowFiles& options, bool is_shared, RowsOfSilos whose, const Communicator& ranks) {
  const bool is_of_silo = ranks.silos() != nullptr && whose == RowsOfSilos::kEachItsOwn;
  const int worker = is_shared ? ranks.rank() : 0;
  const int workers = is_shared ? ranks.size() : 1;
  return open_with_groups(options, worker, workers, is_of_silo);
}

}  // namespace

WorkerRows open_rows_for(const Classifier& model, const std::string& name_of_model, const RowFiles& options, int worker,
                         int workers) {
  WorkerRows rows = open_with_groups(options, worker, workers, false);
  require_features_of(rows, model.input_dim(), options.x.front());
  rows.features().require_columns(model.parts().feature_names, "in the model " + name_of_model);
  return rows;
}

void require_features_of(const WorkerRows& rows, std::size_t input_dim, const std::string& name) {
  if (rows.dim() == input_dim) return;
  throw BadInput("{}: rows have {} features, but the model was trained on {}", name, rows.dim(), input_dim);
}

void require_columns_of(const WorkerRows& rows, const WorkerRows& training) {
  require_columns_like(rows.features(), training.features());
  if (rows.has_labels() && training.has_labels()) require_columns_like(rows.labels(), training.labels());
}

void agree_on_columns(WorkerRows& rows, Communicator& ranks) {
  if (ranks.silos() != nullptr) return;
  compare_columns_of_ranks(rows.features(), ranks);
  if (rows.has_labels()) compare_columns_of_ranks(rows.labels(), ranks);
}

WorkerRows open_rows_of_rank(const RowFiles& options, const WorkerRows& training, const Communicator& ranks) {
  if (!has_rows(ranks, RowsOfSilos::kCoordinator)) return WorkerRows::none(training.dim());
  WorkerRows rows = open_own_share(options, ranks.silos() == nullptr, RowsOfSilos::kCoordinator, ranks);
  require_features_of(rows, training.dim(), options.x.front());
  require_columns_of(rows, training);
  return rows;
}

WorkerRows ranked_rows_in_memory(const ArrayView& x, const ArrayView& y, const RowFiles& options, Communicator& ranks) {
  std::optional<WorkerRows> rows;
  ranks.together([&] {
    rows.emplace(WorkerRows::in_memory(x, y, options.x.front(), options.y.front(), options.role_of_y()));
    take_labels(*rows, options.unlisted_labels, options.bad_rows);
  });
  const AgreedShape shape = agreed_shape(&*rows, options, ranks);
  ranks.together([&] { require_agreed_shape(*rows, shape, options); });
  return std::move(*rows);
}

WorkerRows open_ranked_rows(const RowFiles& options, Communicator& ranks, RowsOfSilos whose) {
  // Among silos no two parties share a list of files. Where the paths have no {rank}, this party reads all of the files
  // that it has named.
  const bool is_shared =
      ranks.silos() == nullptr || (whose == RowsOfSilos::kEachItsOwn && paths_are_per_worker(options.x));
  std::optional<WorkerRows> rows;
  std::unique_ptr<FileClaims> claims;
  ranks.together([&] {
    if (is_shared) require_no_file_left_out(options, ranks);
    if (!has_rows(ranks, whose)) return;
    rows.emplace(open_own_share(options, is_shared, whose, ranks));
    if (ranks.silos() != nullptr && !ranks.is_coordinator()) claims = claim_files(*rows, ranks);
  });
  if (ranks.silos() == nullptr) require_files_once(*rows, !paths_are_per_worker(options.x), ranks);
  const AgreedShape shape = agreed_shape(rows ? &*rows : nullptr, options, ranks);
  ranks.together([&] {
    if (claims) require_no_earlier_claim(*rows, *claims);
    if (rows) require_agreed_shape(*rows, shape, options);
  });
  if (!rows) rows.emplace(WorkerRows::none(shape.features, shape.targets));
  if (ranks.silos() == nullptr || whose == RowsOfSilos::kEachItsOwn) require_agreed_columns(*rows, ranks);
  return std::move(*rows);
}

std::vector<std::uint64_t> label_counts(ShardedArray& labels, const RowRange& range, std::size_t classes,
                                        Communicator& ranks) {
  constexpr std::uint64_t kLabelsAtOnce = std::uint64_t{1} << 20;
  std::vector<std::uint64_t> counts(classes, 0);
  std::vector<std::int32_t> chunk;
  const std::uint64_t slots = labels.columns() > 1 ? classes : 1;
  const std::uint64_t rows_at_once = std::max<std::uint64_t>(1, kLabelsAtOnce / slots);
  for (std::uint64_t row = range.first; row < range.end(); row += chunk.size() / slots) {
    ranks.check_peers();
    const std::uint64_t rows = std::min(rows_at_once, range.end() - row);
    chunk.resize(rows * slots);
    labels.read_labels(row, rows, classes, chunk);
    for (const std::int32_t label : chunk) {
      if (label >= 0) ++counts[static_cast<std::size_t>(label)];
    }
  }
  return counts;
}

}  // namespace dpreduce
