#include "fit/ranked_rows.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/base/error.hpp"
#include "common/base/paths.hpp"
#include "common/base/public_names.hpp"
#include "common/base/text.hpp"
#include "common/data/label_slots.hpp"
#include "common/randomness/signing_key.hpp"
#include "common/ranks/rank_archive.hpp"
#include "common/ranks/silo_job.hpp"
#include "fit/files_once.hpp"

namespace dpreduce {
namespace {

// The group of each of the worker's rows, where there are groups.
void read_groups(WorkerRows& rows, const RowFiles& options, std::size_t worker) {
  if (options.group.empty()) return;
  if (paths_are_per_worker(options.group) != paths_are_per_worker(options.x)) {
    throw UsageError("{}: groups and features must both use {{rank}}, or neither", options.group.front());
  }
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

// A number that rows have alike on all ranks with rows. Silos with a roster take it from there: none of them can move
// it.
struct AgreedNumber {
  std::size_t number = 0;
  bool is_of_roster = false;
};

// Collective.
AgreedNumber agreed_number(std::size_t own, std::size_t Roster::*stated, Communicator& ranks) {
  if (ranks.silos() != nullptr && ranks.silos()->roster()) return {*ranks.silos()->roster().*stated, true};
  return {static_cast<std::size_t>(ranks.max_everywhere(static_cast<double>(own)))};
}

void require_agreed(std::size_t own, const AgreedNumber& all, const char* what, const std::string& name) {
  if (own == all.number) return;
  throw BadInput("{}: rows have {} {}, but {}; all files must agree", name, own, what,
                 all.is_of_roster ? fmt::format("--roster says {} {}", all.number, what)
                                  : fmt::format("those of another rank have {}", all.number));
}

// Targets of a row, the same for all ranks that have rows. Collective.
std::size_t agreed_targets(std::size_t own, const RowFiles& options, Communicator& ranks) {
  const AgreedNumber all = agreed_number(own, &Roster::classes, ranks);
  ranks.together([&] {
    if (own != 0) require_agreed(own, all, "targets", options.y.front());
  });
  return all.number;
}

// Throws BadInput where tables have other columns on this rank, or in another order; files whose columns have no names
// are not compared. Ranks compare with rank 0. A silo does not show its names: the first six bytes of their digest go
// to the coordinator, and all silos learn the largest of these numbers. Collective.
void require_agreed_columns(WorkerRows* rows, Communicator& ranks) {
  const bool has_names = rows != nullptr && rows->features().files() > 0;
  const std::string name = has_names ? rows->features().path_of(0) : "";
  const std::vector<std::string> names = has_names ? rows->features().column_names_of(0) : std::vector<std::string>{};
  if (ranks.silos() == nullptr) {
    const auto expected = unarchived<std::vector<std::string>>(ranks.trusted().broadcast(archived(names)));
    ranks.together([&] {
      if (!names.empty() && !expected.empty()) require_same_features(names, expected, name, "on rank 0");
    });
    return;
  }
  std::uint64_t number = 0;
  if (!names.empty()) {
    constexpr std::size_t kBytes = 6;  // a double holds them
    const auto digest = sha256(fmt::format("dpreduce columns v1\n{}", fmt::join(names, "\n")));
    for (std::size_t byte = 0; byte < kBytes; ++byte)
      number = 256 * number + std::to_integer<std::uint64_t>(digest[byte]);
  }
  const auto largest = static_cast<std::uint64_t>(ranks.max_everywhere(static_cast<double>(number)));
  ranks.together([&] {
    if (number == 0 || number == largest) return;
    throw BadInput(
        fmt::format("{}: columns are {}, and another silo has other names or another order; choose the same ones in "
                    "one order, as in "
                    "t.csv:a,b{}",
                    name, in_quotes(fmt::format("{}", fmt::join(names, ", "))), kForOwnerOnly));
  });
}

// Notes what labels that are none, and targets that are no numbers, are taken as.
void take_labels(WorkerRows& rows, UnlistedLabels unlisted, BadRows bad_rows) {
  if (!rows.has_labels()) return;
  rows.labels().set_unlisted_labels(unlisted);
  rows.labels().set_takes_bad_targets(bad_rows == BadRows::kZero);
}

// Features, labels and groups of one worker. A silo's lists of classes and groups are another party's.
WorkerRows open_with_groups(const RowFiles& options, std::size_t worker, std::size_t workers, bool is_of_silo) {
  WorkerRows rows =
      WorkerRows::open(options.x, options.y, worker, workers, named_classes(options.class_names), options.role_of_y());
  take_labels(rows, is_of_silo ? UnlistedLabels::kInAnyNumber : options.unlisted_labels, options.bad_rows);
  read_groups(rows, options, worker);
  return rows;
}

// Rows of this rank: its share of files that all ranks share, else all of the files that it has named.
WorkerRows open_own_share(const RowFiles& options, bool is_shared, RowsOfSilos whose, const Communicator& ranks) {
  const bool is_of_silo = ranks.silos() != nullptr && whose == RowsOfSilos::kEachItsOwn;
  if (!is_shared) return open_with_groups(options, 0, 1, is_of_silo);
  return open_with_groups(options, static_cast<std::size_t>(ranks.rank()), static_cast<std::size_t>(ranks.size()),
                          is_of_silo);
}

}  // namespace

WorkerRows open_rows_for(std::size_t input_dim, const RowFiles& options, int worker, int workers) {
  WorkerRows rows =
      WorkerRows::open(options.x, options.y, static_cast<std::size_t>(worker), static_cast<std::size_t>(workers),
                       named_classes(options.class_names), options.role_of_y());
  take_labels(rows, options.unlisted_labels, options.bad_rows);
  require_features_of(rows, input_dim, options.x.front());
  return rows;
}

void require_features_of(const WorkerRows& rows, std::size_t input_dim, const std::string& name) {
  if (rows.dim() == input_dim) return;
  throw BadInput("{}: rows have {} features, but the model was trained on {}", name, rows.dim(), input_dim);
}

WorkerRows open_rows_of_rank(const RowFiles& options, std::size_t dim, const Communicator& ranks) {
  if (!has_rows(ranks, RowsOfSilos::kCoordinator)) return WorkerRows::none(dim);
  return ranks.silos() != nullptr ? open_rows_for(dim, options, 0, 1)
                                  : open_rows_for(dim, options, ranks.rank(), ranks.size());
}

WorkerRows ranked_rows_in_memory(const ArrayView& x, const ArrayView& y, const RowFiles& options, Communicator& ranks) {
  const std::string& x_name = options.x.front();
  std::optional<WorkerRows> rows;
  ranks.together([&] {
    rows.emplace(WorkerRows::in_memory(x, y, x_name, options.y.front(), options.role_of_y()));
    take_labels(*rows, options.unlisted_labels, options.bad_rows);
  });
  const AgreedNumber dim = agreed_number(rows->dim(), &Roster::dim, ranks);
  ranks.together([&] { require_agreed(rows->dim(), dim, "features", x_name); });
  if (options.has_targets) agreed_targets(rows->targets(), options, ranks);
  return std::move(*rows);
}

WorkerRows open_ranked_rows(const RowFiles& options, Communicator& ranks, RowsOfSilos whose) {
  // Among silos no two parties share a list of files. Where the paths have no {rank}, this party reads all of the files
  // that it has named.
  const bool is_shared =
      ranks.silos() == nullptr || (whose == RowsOfSilos::kEachItsOwn && paths_are_per_worker(options.x));
  const bool has_some = has_rows(ranks, whose);
  std::optional<WorkerRows> rows;
  std::unique_ptr<FileClaims> claims;
  ranks.together([&] {
    if (is_shared) require_no_file_left_out(options, ranks);
    if (!has_some) return;
    rows.emplace(open_own_share(options, is_shared, whose, ranks));
    if (ranks.silos() != nullptr && !ranks.is_coordinator()) claims = claim_files(*rows, ranks);
  });
  if (ranks.silos() == nullptr) require_files_once(*rows, !paths_are_per_worker(options.x), ranks);
  const AgreedNumber dim = agreed_number(rows ? rows->dim() : 0, &Roster::dim, ranks);
  ranks.together([&] {
    if (claims) require_no_earlier_claim(*rows, *claims);
    if (has_some) require_agreed(rows->dim(), dim, "features", options.x.front());
  });
  if (ranks.silos() == nullptr || whose == RowsOfSilos::kEachItsOwn) {
    require_agreed_columns(rows ? &*rows : nullptr, ranks);
  }
  const std::size_t targets = options.has_targets ? agreed_targets(rows ? rows->targets() : 0, options, ranks) : 0;
  return rows ? std::move(*rows) : WorkerRows::none(dim.number, targets);
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
