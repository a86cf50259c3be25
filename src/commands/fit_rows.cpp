#include "dpreduce/commands/fit_rows.hpp"

#include <string>

#include <fmt/format.h>

#include "dpreduce/commands/ranked_rows.hpp"
#include "dpreduce/config/error.hpp"
#include "dpreduce/data/paths.hpp"

namespace dpreduce {
namespace {

void check_public_dim(const WorkerRows& rows, const FitOptions& options, std::size_t dim) {
  if (rows.dim() == dim) return;
  throw BadInput(fmt::format("--public-x {}: rows have {} features, but training rows have {}; both need the same",
                             options.public_x.front(), rows.dim(), dim));
}

}  // namespace

void check_labels(WorkerRows& rows, const FitOptions& options) {
  if (rows.is_none()) return;
  const std::string& files = options.train.y.front();
  const std::size_t columns = rows.labels().columns();
  if (columns == 1 && options.max_labels) {
    throw UsageError(fmt::format(
        "--max-labels {}: --train-y {} has one class index a row; leave the option out, or give zeros and ones, n x K",
        *options.max_labels, files));
  }
  if (columns > 1 && columns != options.classes) {
    throw BadInput(
        fmt::format("--train-y {}: labels have {} columns of zeros and ones for --classes {}; give one column "
                    "a class",
                    files, columns, options.classes));
  }
  if (columns > 1 && !options.max_labels) {
    throw UsageError(
        fmt::format("--train-y {}: rows may have several labels; say with --max-labels how many at most (1 "
                    "to {}): noise is made for so many",
                    files, options.classes));
  }
}

std::optional<WorkerRows> open_public_rows(const FitOptions& options, std::size_t dim, Communicator& ranks) {
  if (options.center != Centering::kPublic && (options.pca == 0 || options.public_x.empty())) return std::nullopt;
  std::optional<WorkerRows> rows =
      open_ranked_rows({options.public_x, {}, options.train.bad_rows}, ranks, RowsOfSilos::kCoordinator);
  ranks.together([&] { check_public_dim(*rows, options, dim); });
  return rows;
}

std::optional<WorkerRows> open_candidates(const FitOptions& options, std::size_t dim, Communicator& ranks) {
  if (!options.may_choose_prototypes()) return std::nullopt;
  std::optional<WorkerRows> rows;
  ranks.together([&] {
    if (paths_are_per_worker(options.public_x)) {
      throw UsageError(
          fmt::format("--public-x {}: with --method {} every rank opens all public rows; name the "
                      "same files for all, without {{rank}}",
                      options.public_x.front(), to_string(options.method)));
    }
    rows.emplace(WorkerRows::open(options.public_x, {}, 0, 1));
    check_public_dim(*rows, options, dim);
    const std::uint64_t count = rows->range().count;
    const std::size_t wanted = options.top_k.value_or(1);
    if (count >= wanted) return;
    throw BadInput(fmt::format("--public-x {}: {} rows to choose from, fewer than the {} prototypes of a class{}",
                               options.public_x.front(), count, wanted,
                               options.top_k ? " (--top-k); give more rows, or lower it" : "; give more rows"));
  });
  const double count = static_cast<double>(rows->range().count);
  const double most = ranks.max_everywhere(count);
  ranks.together([&] {
    if (count == most) return;
    throw BadInput(fmt::format("--public-x {}: {} rows on this rank, but {} on another; all need the same files",
                               options.public_x.front(), count, most));
  });
  return rows;
}

}  // namespace dpreduce
