// The rows of one world of an audit, as a fit weighs them.
//
// Where the unit is a person, rows are cut among several ranks (threads of this process), which find out together how
// many rows each person has, as the ranks of a fit do. One rank then trains on all of them: sums are the same bytes on
// any number of ranks, but a person that ranks weigh apart would count for more than one. That rank alone tosses a
// person's coins (--batch) and clips them. With --silos-per-person these ranks are silos, each of
// which counts its own rows, and to that one rank the rows of a person at two silos are those of two persons.
#pragma once

#include <string>
#include <vector>

#include "common/data/worker_rows.hpp"
#include "methods/options/fit_options.hpp"

namespace dpreduce {

/// Files of rows; identifiers where the unit is a person, else none.
struct WorldRows {
  std::vector<std::string> x;
  std::vector<std::string> y;
  std::vector<std::string> person{};
};

/// Over so many ranks rows of persons are cut.
inline constexpr int kRanksOfPersons = 3;

/// The rows of `files`, all of them for one rank, with the weights that `options` ask for. Throws as WorkerRows::open,
/// open_persons and weigh.
WorkerRows open_world(const FitOptions& options, const WorldRows& files);

}  // namespace dpreduce
