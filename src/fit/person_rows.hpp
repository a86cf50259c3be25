// Whose each row is, and what it therefore counts for.
//
// A person's rows may lie on any ranks, in any order. Ranks find out how many there are without telling each other
// names: each rank sends the keyed hash of every person of its rows, with their number, to the rank that counts that
// person, which answers with the sum over ranks. The key is new in every run and known to the ranks, which trust each
// other. 112 bits of a hash are compared: two persons of 10^9 are taken for one with probability below 10^-15, and then
// count for less.
#pragma once

#include <cstdint>

#include "common/data/rows_options.hpp"
#include "common/data/sharded_array.hpp"
#include "common/data/worker_rows.hpp"
#include "common/ranks/communicator.hpp"

namespace dpreduce {

/// The identifiers of --train-person, of which this rank has rows.range(). Collective. Throws BadInput where a file
/// cannot be read, holds no identifiers, or another number of them than there are rows, and where only one of features
/// and identifiers is named with {rank}.
ShardedArray open_persons(const RowsOptions& train, const WorkerRows& rows, Communicator& ranks);

/// Gives every row the weight weight_of_rows(m, rows_per_person), m the number of rows that its person has on all
/// ranks. The same weights however rows are spread over ranks. All rows count, whatever becomes of them later.
/// Collective. Cost: one pass over the identifiers, a hash and 16 bytes of memory and message a row, and a sort. Throws
/// BadInput as ArrayFile::visit_persons.
void weigh_by_person(WorkerRows& rows, ShardedArray& persons, std::uint64_t rows_per_person, Communicator& ranks);

}  // namespace dpreduce
