// A file counts once in a job: no two ranks read it as their own.
//
//     ranks with files of their own      all names and identities at the coordinator, compared there
//     ranks that share a list of files   the list must be the same on all: rows are cut by its length
//     silos                              compared on each machine by the silos themselves (silos/file_claims.hpp)
#pragma once

#include <memory>

#include "common/data/rows_options.hpp"
#include "common/data/worker_rows.hpp"
#include "common/ranks/communicator.hpp"
#include "common/silos/file_claims.hpp"

namespace dpreduce {

/// Throws BadInput on every rank, with both names on one of them, where two ranks have one file (or one data set of it)
/// as features, or as labels; and where ranks that share a list do not see the same. Collective. Not among silos.
void require_files_once(const WorkerRows& rows, bool is_shared, Communicator& ranks);

/// Claims a silo's files; keep the claims until all silos have looked. Not collective.
std::unique_ptr<FileClaims> claim_files(const WorkerRows& rows, const Communicator& ranks);

/// Throws BadInput where a silo of a smaller number on this machine has claimed a file of these. Not collective; all
/// silos must have claimed theirs.
void require_no_earlier_claim(const WorkerRows& rows, const FileClaims& claims);

/// Throws BadInput where a file stands beside those of the pattern's {rank} that no rank of the job would read.
/// Not collective.
void require_no_file_left_out(const RowsOptions& options, const Communicator& ranks);

}  // namespace dpreduce
