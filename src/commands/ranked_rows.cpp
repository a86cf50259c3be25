#include "dpreduce/commands/ranked_rows.hpp"

#include <optional>

#include <fmt/format.h>

#include "dpreduce/config/error.hpp"

namespace dpreduce {

WorkerRows open_ranked_rows(const RowsOptions& options, Communicator& ranks) {
  std::optional<WorkerRows> rows;
  ranks.together([&] {
    rows.emplace(WorkerRows::open(options.x, options.y, static_cast<std::size_t>(ranks.rank()),
                                  static_cast<std::size_t>(ranks.size())));
  });
  const double dim = static_cast<double>(rows->dim());
  const double largest = ranks.max_everywhere(dim);
  ranks.together([&] {
    if (dim == largest) return;
    throw BadInput(fmt::format("{}: rows have {} features, but those of another rank have {}; all files must agree",
                               options.x.front(), dim, largest));
  });
  return std::move(*rows);
}

}  // namespace dpreduce
