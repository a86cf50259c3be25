// Person of each row, and the weight that follows from it.
//
// A person's rows may lie on any ranks, in any order. Ranks find out how many there are without sending each other
// names. Each rank sends the keyed hash of every person of its rows, with their number, to the rank that counts that
// person. That rank answers with the sum over ranks. The key is new in every run and known to the ranks, which trust
// each other. 112 bits of a hash are compared: two persons of 10^9 are taken for one with probability below 10^-15, and
// then count for less.
//
// If persons are clipped, the rows of one are needed together: the inner products of two of them, wherever they were.
// The rank that counts a person says which rank has most rows of theirs, the first of several. The others send it their
// rows, as floats and classes, over the ranks' own network. Only rows of persons who have some on several ranks move,
// and not of those who have more than are clipped together (row_units.hpp). A person's clipped sum depends on their
// rows alone, and sums over ranks have no order, so that how rows are spread changes no bit. Samples depend on the
// order of rows, too: a person's coin is that of their first row.
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

/// Identifiers of --train-person, of which this rank has rows.range(); those `in_memory`, if there are any; none at a
/// coordinator without rows. Collective. Throws BadInput if a file cannot be read, holds no identifiers, or another
/// number of them than there are rows, and if only one of features and identifiers is named with {rank}.
std::optional<ShardedArray> open_persons(const RowFiles& train, const WorkerRows& rows, Communicator& ranks,
                                         const std::optional<ArrayView>& in_memory = {});

/// Weights of --train-weight, numbers, likewise.
std::optional<ShardedArray> open_weights(const RowFiles& train, const WorkerRows& rows, Communicator& ranks,
                                         const std::optional<ArrayView>& in_memory = {});

/// Gives every row the weight weight_of_given(w, bound) of its entry w. `weights` is null if a party has no rows.
/// Throws BadInput if an entry is not from 0 to `bound`, or cannot be read.
void weigh(WorkerRows& rows, ShardedArray* weights, float bound);

/// Needs of a fit beyond the weights of persons.
struct PersonNeeds {
  bool coins = false;  ///< samples are drawn person by person
  bool whole = false;  ///< all rows of a person on one rank: they are clipped together
  // For rows that change their rank:
  std::uint64_t classes = 0;          ///< K
  std::size_t most_labels = 1;        ///< k, the most classes of a row
  BadRows bad_rows = BadRows::kFail;  ///< what becomes of those that are not finite, or have more classes
};

/// Counts each person's rows, and returns some rows by person with these counts. Implementations differ in where other
/// parties' rows lie, and in which parties may learn of them. `persons` are the rows' identifiers; null if a party has
/// no rows. Collective. Throws as ArrayFile::visit_persons.
using PersonCount = std::function<IdentifiedRows(WorkerRows& rows, ShardedArray* persons, const PersonNeeds& needs,
                                                 Communicator& ranks)>;

/// Counts over all ranks; the result is the same however rows are spread over them. As `needs` says, persons get places
/// of first rows as the ranks' rows stand now, and are gathered on one rank each. Cost: that of identified(), and 16
/// bytes of message a person; for coins 8 more. Memory: 20 bytes a row, and 4 d + 4 more for each that has changed its
/// rank. Throws BadInput where a row that is to move cannot be read, has no class or (BadRows::kFail) is not finite or
/// has more than most_labels classes: the rank that reads it is the last that knows its file. Precondition: persons is
/// not null.
IdentifiedRows count_over_ranks(WorkerRows& rows, ShardedArray* persons, const PersonNeeds& needs, Communicator& ranks);

/// Counts where no party may report whose rows it has: of this rank's rows alone, each `silos_per_person` times, so
/// that a person's rows in at most so many ranks count for the bound in all. Precondition (asserted): no coins are
/// needed.
PersonCount count_in_silo(std::uint64_t silos_per_person);

/// Gives every row the weight weight_of_rows(m, rows_per_person), m the number of rows that its person has by `count`.
/// If `needs` says so, rows get persons as well. All rows count, whatever becomes of them later. Collective. Throws as
/// `count`, and BadInput if there are too many persons to number.
void weigh(WorkerRows& rows, ShardedArray* persons, std::uint64_t rows_per_person, const PersonCount& count,
           Communicator& ranks, const PersonNeeds& needs = {});

}  // namespace dpreduce
