// Rows of two neighboring worlds, and the worst of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "common/base/privacy_terms.hpp"
#include "common/data/worker_rows.hpp"
#include "methods/fit_options.hpp"

namespace dpreduce {

// Rows of one world of an audit, as a fit weighs them.
//
// If the unit is a person, rows are cut among several ranks (threads of this process), which find out together how many
// rows each person has, as the ranks of a fit do. One rank then trains on all of them. Sums are the same bytes on any
// number of ranks, but a person that ranks weigh apart would count for more than one. That rank alone tosses a person's
// coins (--batch) and clips them. With --silos-per-person these ranks are silos, each of which counts its own rows. To
// that one rank the rows of a person at two silos are then those of two persons.

/// Files of rows; identifiers where the unit is a person, else none.
struct WorldRows {
  std::vector<std::string> x;
  std::vector<std::string> y;
  std::vector<std::string> person{};
};

/// Number of ranks that rows of persons are cut among.
inline constexpr int kRanksOfPersons = 3;

/// Opens the rows of `files`, all of them for one rank, with the weights that `options` request. Throws as
/// WorkerRows::open, open_beside and weigh.
WorkerRows open_world(const FitOptions& options, const WorldRows& files);

// Pairs of adjacent data sets on which a faulty mechanism would give itself away.
//
// Legend: C the clip norm, u = (1, ..., 1) / sqrt(d). The canary is 1000 C u: a clip must bring it to C u, and an entry
// that is only cut off at the lattice's bound has norm sqrt(d) C still.
//
//     alone      the canary's class is empty without it; n rows C u lie in another class, so that a model that learns
//                by rounds takes the canary for one of them, with a residual of norm 1 and more; 2 n rows -C u lie in
//                a third, so that centering by a released mean leaves the canary its full length, and more
//     opposed    n rows -C u lie in the canary's own class: a mean over n rows moves by 2 C / (n + 1)
//     turned     (replace-one) the canary stands for its own opposite
//     moved      (replace-one) the canary stands for a row at right angles to it, (1, -1, 1, ...), in another class
//
// If the unit is a person, the canary is a whole person with several rows, and every other row is a person of their
// own. Rows are ordered so that each rank that takes an even share of them has some of the canary's. One pair more:
//
//     hollow     (add-remove) as opposed, but all rows of the canary except one are zero: they move counts, and no sum
//
// In all pairs but `alone`, if rows are centered by a released mean, alternating rows C u and -C u in a third class
// keep that mean near 0. Centering then does not shorten the canary.

/// Length of a canary, in clip norms: a clip that is skipped shows.
inline constexpr double kCanaryLength = 1000.0;

/// n x d features, row-major, each row with a label and, if the unit is a person, with its person.
struct LabeledRows {
  std::size_t dim = 0;
  std::vector<float> x;
  std::vector<std::int32_t> y;
  std::vector<std::int64_t> person{};

  std::size_t rows() const { return y.size(); }
  std::span<const float> row(std::size_t index) const { return std::span(x).subspan(index * dim, dim); }
  void add(std::span<const float> row, std::int32_t label);

  /// Writes `folder`/x_`name`.npy (float32), y_`name`.npy and, where rows have persons, person_`name`.npy (int64).
  /// Throws BadInput as NpyWriter does.
  WorldRows write(const std::filesystem::path& folder, const std::string& name) const;
};

struct NeighborPair {
  std::string name;
  LabeledRows without;  ///< world 0
  LabeledRows with;     ///< world 1: one record or person more, or another one
};

struct NeighborTerms {
  std::size_t classes = 0;
  std::size_t dim = 0;
  double clip_norm = 1.0;
  std::size_t other_rows = 0;      ///< n, but for `alone`
  std::size_t rows_taken_for = 0;  ///< n, for `alone`
  std::size_t balancing_rows = 0;  ///< C u and -C u by turns
  Adjacency adjacency = Adjacency::kAddRemove;
  std::size_t person_rows = 0;  ///< of the canary, where the unit is a person; 0: it is a row
  bool has_counts = false;      ///< whether a release counts rows: then there is `hollow`, where the unit is a person
};

/// Public rows to choose prototypes from: C u, -C u and one at right angles to them, so that the canary speaks as loud
/// as it may, for the first and against the second.
LabeledRows opposed_public_rows(std::size_t dim, double clip_norm);

/// Preconditions (asserted): classes >= 3; dim >= 1; clip_norm > 0.
std::vector<NeighborPair> worst_case_pairs(const NeighborTerms& terms);

/// Rows of a person who is a canary: each rank has more of them than count for a whole person. 0 where the unit is a
/// row.
std::size_t rows_of_canary(const DataOptions& data);

}  // namespace dpreduce
