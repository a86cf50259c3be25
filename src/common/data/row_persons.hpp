// Whose rows a worker's rows are.
#pragma once

#include <cstdint>
#include <vector>

namespace dpreduce {

/// Persons are numbered by each worker for itself, in the order of their first rows there.
struct RowPersons {
  std::vector<std::uint32_t> of_rows;     ///< the person of every row of the worker
  std::vector<std::uint64_t> first_rows;  ///< of every person: place of their first row among the rows of all workers
  bool are_whole = false;                 ///< whether all rows of these persons are this worker's
};

}  // namespace dpreduce
