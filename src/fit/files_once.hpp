// Files of a job: each counts once, so that no two ranks read it as their own. And each has one role: rows that are
// private are not public as well.
//
//     ranks with files of their own      all names and identities at the coordinator, compared there
//     ranks that share a list of files   the list must be the same on all: rows are cut by its length
//     silos                              compared on each machine by the silos themselves (silos/file_claims.hpp)
//     training rows and public ones      files of all ranks at the coordinator, and on each rank their first and last
//                                        rows: a copy is another file to the file system. Among silos each party
//                                        compares its own, and the coordinator with what silos on its machine claim
#pragma once

#include <memory>
#include <string>

#include "common/data/row_files.hpp"
#include "common/data/worker_rows.hpp"
#include "common/ranks/communicator.hpp"
#include "common/silos/file_claims.hpp"

namespace dpreduce {

/// Throws BadInput on every rank, with both names on one of them, where two ranks have one file (or one data set of it)
/// as features, or as labels; and where ranks that share a list do not see the same. Collective. Not among silos.
void require_files_once(const WorkerRows& rows, bool is_shared, Communicator& ranks);

/// Claims a silo's files. Keep the claims until all silos have looked. Null over a network, where parties do not share
/// a machine. Not collective.
std::unique_ptr<FileClaims> claim_files(const WorkerRows& rows, const Communicator& ranks);

/// Throws BadInput where a silo of a smaller number on this machine has claimed one of these files. Not collective; all
/// silos must have claimed theirs.
void require_no_earlier_claim(const WorkerRows& rows, const FileClaims& claims);

/// Throws BadInput where a file beside those of the pattern's {rank} exists that no rank of the job would read. Not
/// collective.
void require_no_file_left_out(const RowFiles& options, const Communicator& ranks);

/// Rows that are not to be training rows, and how messages call them: "public" is of --public-x.
struct OtherRole {
  const char* name;
  WorkerRows* rows;  ///< null where this rank has none
};

/// An array that is private beside the training rows, and the option that names it; null where there is none.
struct PrivateArray {
  const char* option = "";
  const ShardedArray* array = nullptr;
};

/// Names, in words, which files of `other` and of the training rows are one, or have the same features, where rows of
/// `other` on any rank are training rows on any rank. Empty where none are. Collective, and the same on all ranks;
/// among silos not collective, and about this party's rows.
std::string training_rows_among(const OtherRole& other, WorkerRows& training, const PrivateArray& beside,
                                Communicator& ranks);

/// Throws BadInput on every rank where rows of `other`, which are taken for public, are training rows, or lie
/// in files that the given ones refer to. Collective.
void require_public(const OtherRole& other, WorkerRows& training, const PrivateArray& beside, Communicator& ranks);

}  // namespace dpreduce
