// Person of each row, and the weight that follows from the person's number of rows.
//
// A person's rows may lie on any ranks, in any order. Ranks count them without sending each other names. Each rank
// sends the keyed hash of every person of its rows, with their number, to the rank that counts that person. That rank
// answers with the sum over ranks. The key is new in every run and known to the ranks, which trust each other. 112 bits
// of a hash are compared: two of 10^9 persons are taken for one with probability below 10^-15, and then count for less.
//
// If persons are clipped, all rows of a person are needed on one rank: clipping uses the inner products of every two of
// them. The rank that counts a person reports which rank has most rows of that person, the first of several. The other
// ranks send that rank their rows of the person, as floats and classes, over the ranks' own network. Only rows of
// persons with rows on several ranks move, and none of persons with more rows than are clipped together
// (row_units.hpp). A person's clipped sum depends on the person's rows alone, and sums over ranks have no order, so
// that the spread of rows changes no bit. Samples depend on the order of rows, too: a person's coin is that of the
// person's first row.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "common/data/memory_array.hpp"
#include "common/data/row_files.hpp"
#include "common/data/sharded_array.hpp"
#include "common/data/worker_rows.hpp"
#include "common/ranks/communicator.hpp"
#include "worker/identified_rows.hpp"

namespace dpreduce {

/// Place of this rank's first row among the rows of all ranks, in rank order. Collective.
std::uint64_t first_row_of(const WorkerRows& rows, Communicator& ranks);

/// Opens the identifiers of --train-person (ArrayRole::kPersons), or the weights of --train-weight (kWeights), numbers,
/// for rows.range(), the rows of this rank; uses `in_memory` instead, if given. Returns nullopt at a coordinator
/// without rows. Collective. Throws BadInput if a file cannot be read, holds no entries of that role, or holds another
/// number of them than there are rows, and if only one of features and entries is named with {rank}.
std::optional<ShardedArray> open_beside(ArrayRole role, const RowFiles& train, const WorkerRows& rows,
                                        Communicator& ranks, const std::optional<ArrayView>& in_memory = {});

/// Gives every row the weight weight_of_given(w, bound) of its entry w. `weights` is null if a party has no rows.
/// Throws BadInput if an entry is not from 0 to `bound`, or cannot be read.
void weigh(WorkerRows& rows, ShardedArray* weights, float bound);

/// Needs of a fit beyond the weights of persons.
struct PersonNeeds {
  bool coins = false;  ///< samples are drawn person by person
  bool whole = false;  ///< all rows of a person on one rank: they are clipped together
  // Terms for rows that move to another rank:
  std::uint64_t classes = 0;          ///< K
  std::size_t most_labels = 1;        ///< k, the most classes of a row
  BadRows bad_rows = BadRows::kFail;  ///< treatment of rows that are not finite, or have more classes
};

/// Counts each person's rows, and returns some rows by person with these counts. Implementations differ in where other
/// parties' rows lie, and in which parties may learn of them. `persons` holds the rows' identifiers; null if a party
/// has no rows. Collective. Throws as ArrayFile::visit_persons.
using PersonCount = std::function<IdentifiedRows(WorkerRows& rows, ShardedArray* persons, const PersonNeeds& needs,
                                                 Communicator& ranks)>;

/// Counts over all ranks; the result is the same however rows are spread over them. If `needs` requires coins, persons
/// get the places of their first rows, in the ranks' present order of rows; if `needs` requires whole persons, the rows
/// of each person are gathered on one rank. Cost: that of identified(), and 16 bytes of message a person; for coins 8
/// more. Memory: 20 bytes a row, and 4 d + 4 more for each row that has moved to another rank. Throws BadInput if a row
/// that is to move cannot be read, has no class or (BadRows::kFail) is not finite or has more than most_labels classes:
/// the rank that reads the row is the last that knows its file. Precondition: persons is not null.
IdentifiedRows count_over_ranks(WorkerRows& rows, ShardedArray* persons, const PersonNeeds& needs, Communicator& ranks);

/// Counts for parties that may not report whose rows they have: this rank's rows alone, each counted `silos_per_person`
/// times, so that a person's rows in at most that many ranks count for the bound in all. Precondition (asserted): no
/// coins are needed.
PersonCount count_in_silo(std::uint64_t silos_per_person);

/// Gives every row the weight weight_of_rows(m, rows_per_person), m the number of rows of its person by `count`. If
/// `needs` requires coins or whole persons, rows get persons as well. All rows count, including rows that are dropped
/// later. Collective. Throws as `count`, and BadInput if there are too many persons to number.
void weigh(WorkerRows& rows, ShardedArray* persons, std::uint64_t rows_per_person, const PersonCount& count,
           Communicator& ranks, const PersonNeeds& needs = {});

}  // namespace dpreduce
