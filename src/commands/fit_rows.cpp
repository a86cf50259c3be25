#include "commands/fit_rows.hpp"

#include <string>

#include <fmt/format.h>

#include "commands/ranked_rows.hpp"
#include "common/base/error.hpp"
#include "common/data/paths.hpp"
#include "fit/validated_options.hpp"

namespace dpreduce {
namespace {

void check_public_dim(const WorkerRows& rows, const FitOptions& options, std::size_t dim) {
  if (rows.dim() == dim) return;
  throw BadInput(fmt::format("--public-x {}: rows have {} features, but training rows have {}; both need the same",
                             options.data.public_x.front(), rows.dim(), dim));
}

}  // namespace

void check_labels(WorkerRows& rows, const DataOptions& data) {
  if (rows.is_none()) return;
  const std::string& files = data.train.y.front();
  const std::size_t columns = rows.labels().columns();
  if (columns == 1 && data.max_labels) {
    throw UsageError(fmt::format(
        "--max-labels {}: --train-y {} has one class index a row; leave the option out, or give zeros and ones, n x K",
        *data.max_labels, files));
  }
  if (columns > 1 && columns != data.classes) {
    throw BadInput(
        fmt::format("--train-y {}: labels have {} columns of zeros and ones for --classes {}; give one column "
                    "a class",
                    files, columns, data.classes));
  }
  if (columns > 1 && !data.max_labels) {
    throw UsageError(
        fmt::format("--train-y {}: rows may have several labels; say with --max-labels how many at most (1 "
                    "to {}): noise is made for so many",
                    files, data.classes));
  }
}

std::optional<WorkerRows> open_public_rows(const FitOptions& options, std::size_t dim, Communicator& ranks) {
  if (options.rows.center != Centering::kPublic && (options.rows.pca == 0 || options.data.public_x.empty()))
    return std::nullopt;
  std::optional<WorkerRows> rows =
      open_ranked_rows({options.data.public_x, {}, options.data.train.bad_rows}, ranks, RowsOfSilos::kCoordinator);
  ranks.together([&] { check_public_dim(*rows, options, dim); });
  return rows;
}

std::optional<WorkerRows> open_candidates(const FitOptions& options, std::size_t dim, Communicator& ranks) {
  if (!may_choose_prototypes(options)) return std::nullopt;
  std::optional<WorkerRows> rows;
  ranks.together([&] {
    if (paths_are_per_worker(options.data.public_x)) {
      throw UsageError(
          fmt::format("--public-x {}: with --method {} every rank opens all public rows; name the "
                      "same files for all, without {{rank}}",
                      options.data.public_x.front(), options.method.name));
    }
    rows.emplace(WorkerRows::open(options.data.public_x, {}, 0, 1));
    check_public_dim(*rows, options, dim);
    const std::uint64_t count = rows->range().count;
    const std::size_t wanted = options.method.top_k.value_or(1);
    if (count >= wanted) return;
    throw BadInput(fmt::format("--public-x {}: {} rows to choose from, fewer than the {} prototypes of a class{}",
                               options.data.public_x.front(), count, wanted,
                               options.method.top_k ? " (--top-k); give more rows, or lower it" : "; give more rows"));
  });
  const double count = static_cast<double>(rows->range().count);
  const double most = ranks.max_everywhere(count);
  ranks.together([&] {
    if (count == most) return;
    throw BadInput(fmt::format("--public-x {}: {} rows on this rank, but {} on another; all need the same files",
                               options.data.public_x.front(), count, most));
  });
  return rows;
}

}  // namespace dpreduce
