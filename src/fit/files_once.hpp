// Checks that each file of a job counts once and has one role: no two ranks read a file as their own, and no private
// rows are public as well.
//
//     ranks with files of their own      the coordinator gathers all names and identities, and compares them
//     ranks that share a list of files   the list must be the same on all ranks: rows are split by its length
//     silos                              silos compare their files on each machine themselves (silos/file_claims.hpp)
//     training rows and public ones      the coordinator compares the files of all ranks. Each rank compares the first
//                                        and last rows of its own: a copy is another file to the file system. Among
//                                        silos each party compares its own files, and the coordinator compares its
//                                        files with those that silos on its machine claim
#pragma once

#include <memory>
#include <string>

#include "common/data/row_files.hpp"
#include "common/data/worker_rows.hpp"
#include "common/ranks/communicator.hpp"
#include "common/silos/file_claims.hpp"

namespace dpreduce {

/// Throws on every rank if two ranks have the same file (or the same data set of a file) as features, or as labels, or
/// if ranks that share a list see different files: BadInput on one rank, for two ranks with one file with both names,
/// and PeerFailed on the others. Collective. Not among silos.
void require_files_once(const WorkerRows& rows, bool is_shared, Communicator& ranks);

/// Claims a silo's files. Returns null over a network, where parties do not share a machine. Keep the claims until all
/// silos have called require_no_earlier_claim. Not collective.
std::unique_ptr<FileClaims> claim_files(const WorkerRows& rows, const Communicator& ranks);

/// Throws BadInput if a silo with a smaller number on this machine has claimed one of these files. Precondition: all
/// silos have claimed theirs. Not collective.
void require_no_earlier_claim(const WorkerRows& rows, const FileClaims& claims);

/// Throws BadInput if a file matches the pattern with {rank} but no rank of the job would read it. Not collective.
void require_no_file_left_out(const RowFiles& options, const Communicator& ranks);

/// Rows that must not be training rows, and the name of their role in messages: "public" for --public-x.
struct OtherRole {
  const char* name;
  WorkerRows& rows;
};

/// Returns, in words, which files of `other` and of the training rows are the same, or have the same features; empty if
/// rows of `other` on no rank are training rows on any rank. `persons`, null if there are none, are identifiers of the
/// training rows, which are as private. Collective, and the same on all ranks. Among silos not collective, and about
/// this party's rows.
std::string training_rows_among(const OtherRole& other, WorkerRows& training, const ShardedArray* persons,
                                Communicator& ranks);

/// Throws BadInput if rows of `other`, which are used as public, are training rows, or are in files that the named
/// files refer to. Throws on every rank (Communicator::together). Collective.
void require_public(const OtherRole& other, WorkerRows& training, const ShardedArray* persons, Communicator& ranks);

}  // namespace dpreduce
