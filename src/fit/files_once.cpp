#include "fit/files_once.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/input_file.hpp"
#include "common/base/paths.hpp"
#include "common/ranks/rank_archive.hpp"
#include "common/ranks/silo_job.hpp"

namespace dpreduce {

// A file of rows as a rank sees it.
struct SeenFile {
  std::string path;
  std::uint64_t rows = 0;   // where ranks share a list
  FileIdentity identity{};  // where each rank has files of its own
};
// The files of a rank's features, and of its labels where it has any.
using SeenFiles = std::vector<std::vector<SeenFile>>;

// Files and features of rows that a rank knows in two roles. Names are those of options, with the path.
struct SeenRoles {
  std::vector<SeenFile> training;
  std::vector<SeenFile> others;
  std::string alike;  // where it has found features that are the same
};

DPREDUCE_ARCHIVE(FileIdentity, machine, device, inode, bytes, modified_ns, place, is_memory)
DPREDUCE_ARCHIVE(SeenFile, path, rows, identity)
DPREDUCE_ARCHIVE(SeenRoles, training, others, alike)

namespace {

// The arrays of rows: features, and labels where there are any.
std::vector<const ShardedArray*> arrays_of(const WorkerRows& rows) {
  std::vector<const ShardedArray*> arrays{&rows.features()};
  if (rows.has_labels()) arrays.push_back(&rows.labels());
  return arrays;
}

// The files, as ranks compare them.
SeenFiles seen_files(const WorkerRows& rows, bool is_shared) {
  SeenFiles seen;
  for (const ShardedArray* const array : arrays_of(rows)) {
    std::vector<SeenFile>& files = seen.emplace_back();
    for (std::size_t shard = 0; shard < array->files(); ++shard) {
      SeenFile& file = files.emplace_back(SeenFile{.path = array->path_of(shard)});
      if (is_shared) {
        file.rows = array->rows_in_file(shard);
      } else {
        file.identity = array->identity_of(shard);
      }
    }
  }
  return seen;
}

struct FileOfRank {
  int rank;
  SeenFile file;
};

// Arrays by inode: only arrays of one inode have to be compared.
using FilesByInode = std::multimap<std::uint64_t, FileOfRank>;

void refuse_if_seen(const FilesByInode& seen, const FileOfRank& file) {
  const auto [first, last] = seen.equal_range(file.file.identity.inode);
  for (auto other = first; other != last; ++other) {
    const SeenFile& earlier = other->second.file;
    if (!is_same_array(earlier.identity, file.file.identity)) continue;
    const bool is_elsewhere = earlier.identity.machine != file.file.identity.machine;
    throw BadInput(
        "{} (rank {}) and {} (rank {}) are the same file, and its records would count twice; give each "
        "rank its own files{}",
        earlier.path, other->second.rank, file.file.path, file.rank,
        is_elsewhere ? " (they have the same inode, size and time of change on two machines; if they are "
                       "different files, touch one of them)"
                     : "");
  }
}

void refuse_doubles(const std::vector<SeenFiles>& of_ranks) {
  for (std::size_t array = 0;; ++array) {
    FilesByInode seen;
    bool is_there = false;
    for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
      if (array >= of_ranks[rank].size()) continue;
      is_there = true;
      for (const SeenFile& one : of_ranks[rank][array]) {
        const FileOfRank file{static_cast<int>(rank), one};
        refuse_if_seen(seen, file);
        seen.emplace(one.identity.inode, file);
      }
    }
    if (!is_there) return;
  }
}

// Throws BadInput where two ranks have one of these files.
void require_own_files(const WorkerRows& rows, Communicator& ranks) {
  const std::vector<std::string> archives = ranks.trusted().gather(archived(seen_files(rows, false)));
  ranks.together([&] {
    std::vector<SeenFiles> of_ranks;
    for (const std::string& archive : archives) of_ranks.push_back(unarchived<SeenFiles>(archive));
    refuse_doubles(of_ranks);
  });
}

// Throws BadInput where ranks have different files. The list may be long: a digest of it is compared.
void require_one_list(const WorkerRows& rows, Communicator& ranks) {
  const std::size_t digest = std::hash<std::string>()(archived(seen_files(rows, true)));
  const std::vector<std::string> digests = ranks.trusted().gather(std::to_string(digest));
  ranks.together([&] {
    for (std::size_t rank = 1; rank < digests.size(); ++rank) {
      if (digests[rank] == digests[0]) continue;
      throw BadInput(
          "rank {} sees different training files than rank 0 (names or numbers of rows), so an even split would count "
          "rows twice or not at all; give all ranks the same files, or each its own by {{rank}}",
          rank);
    }
  });
}

std::vector<ClaimedArray> claimed_arrays(const ShardedArray& array) {
  std::vector<ClaimedArray> claimed;
  for (std::size_t shard = 0; shard < array.files(); ++shard) {
    const FileIdentity& file = array.identity_of(shard);
    claimed.push_back({file.device, file.inode, file.place});
  }
  return claimed;
}

void add_files(std::vector<SeenFile>& seen, const ShardedArray& array, const std::string& option) {
  for (std::size_t shard = 0; shard < array.files(); ++shard) {
    seen.push_back({.path = option + " " + array.path_of(shard), .identity = array.identity_of(shard)});
  }
}

void add_files(std::vector<SeenFile>& seen, const WorkerRows& rows, const std::string& role) {
  add_files(seen, rows.features(), "--" + role + "-x");
  if (rows.has_labels()) add_files(seen, rows.labels(), "--" + role + "-y");
}

std::string features_alike(const OtherRole& other, WorkerRows& training) {
  const auto alike = training.features().files_alike(other.rows->features());
  if (!alike) return "";
  return fmt::format("--{}-x {} holds the rows of --train-x {}", other.name,
                     other.rows->features().path_of(alike->second), training.features().path_of(alike->first));
}

std::string of_rank(std::size_t rank, std::size_t ranks) {
  return ranks == 1 ? "" : fmt::format(" (rank {})", rank);
}

// A file that is seen in both roles, by whatever ranks.
std::string file_in_both(const std::vector<SeenRoles>& of_ranks) {
  FilesByInode training;
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    for (const SeenFile& file : of_ranks[rank].training) {
      training.emplace(file.identity.inode, FileOfRank{static_cast<int>(rank), file});
    }
  }
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    for (const SeenFile& file : of_ranks[rank].others) {
      const auto [first, last] = training.equal_range(file.identity.inode);
      for (auto own = first; own != last; ++own) {
        if (!is_same_array(own->second.file.identity, file.identity)) continue;
        return fmt::format("{}{} and {}{} are the same", file.path, of_rank(rank, of_ranks.size()),
                           own->second.file.path, of_rank(static_cast<std::size_t>(own->second.rank), of_ranks.size()));
      }
    }
  }
  for (const SeenRoles& roles : of_ranks) {
    if (!roles.alike.empty()) return roles.alike;
  }
  return "";
}

// Names, in words, a file of `other` that a silo on the coordinator's machine has claimed; empty where none has.
std::string claimed_by_silo(const OtherRole& other, const Communicator& ranks) {
  if (!ranks.silos()->may_share_machine()) return "";
  const FileClaims coordinator(ranks.silos()->run(), static_cast<std::uint32_t>(ranks.size()));
  for (const ShardedArray* const array : arrays_of(*other.rows)) {
    const std::vector<ClaimedArray> claimed = claimed_arrays(*array);
    for (std::size_t shard = 0; shard < claimed.size(); ++shard) {
      const std::optional<std::uint32_t> silo = coordinator.earlier_claimant(claimed[shard]);
      if (silo)
        return fmt::format("{} ({} rows) is a training file of silo {}", array->path_of(shard), other.name, *silo);
    }
  }
  return "";
}

}  // namespace

void require_files_once(const WorkerRows& rows, bool is_shared, Communicator& ranks) {
  if (ranks.size() == 1) return;
  is_shared ? require_one_list(rows, ranks) : require_own_files(rows, ranks);
}

std::unique_ptr<FileClaims> claim_files(const WorkerRows& rows, const Communicator& ranks) {
  if (!ranks.silos()->may_share_machine()) return nullptr;
  auto claims = std::make_unique<FileClaims>(ranks.silos()->run(), static_cast<std::uint32_t>(ranks.rank()));
  for (const ShardedArray* const array : arrays_of(rows)) {
    for (const ClaimedArray& one : claimed_arrays(*array)) claims->claim(one);
  }
  return claims;
}

void require_no_earlier_claim(const WorkerRows& rows, const FileClaims& claims) {
  for (const ShardedArray* const array : arrays_of(rows)) {
    const std::vector<ClaimedArray> claimed = claimed_arrays(*array);
    for (std::size_t shard = 0; shard < claimed.size(); ++shard) {
      const std::optional<std::uint32_t> silo = claims.earlier_claimant(claimed[shard]);
      if (!silo) continue;
      throw BadInput(
          "{}: silo {} of this run also reads it, on this machine, and its records would count twice; give "
          "each silo its own files",
          array->path_of(shard), *silo);
    }
  }
}

void require_no_file_left_out(const RowFiles& options, const Communicator& ranks) {
  const bool is_of_silos = ranks.silos() != nullptr;
  const WorkerNumbers workers{is_of_silos ? 1U : 0U, static_cast<std::size_t>(ranks.size()) - 1};
  for (const std::vector<std::string>* const patterns : {&options.x, &options.y}) {
    for (const std::string& pattern : *patterns) {
      const std::optional<std::string> file = file_of_no_worker(pattern, workers);
      if (!file) continue;
      throw BadInput(
          "{}: no rank would read it: {{rank}} is {} to {} here ({}); start a rank for each silo, number "
          "the silos accordingly (dpreduce synth partition --first-silo {}), or move unused files away",
          *file, workers.first, workers.last,
          is_of_silos ? "silos of --secure-aggregation count from 1, rank 0 is the coordinator"
                      : "ranks count from 0; silos of --secure-aggregation from 1",
          workers.first);
    }
  }
}

std::string training_rows_among(const OtherRole& other, WorkerRows& training, const PrivateArray& beside,
                                Communicator& ranks) {
  SeenRoles own;
  const auto look = [&] {
    add_files(own.training, training, "train");
    if (beside.array != nullptr) add_files(own.training, *beside.array, beside.option);
    if (other.rows == nullptr) return;
    add_files(own.others, *other.rows, other.name);
    if (training.features().files() > 0 && other.rows->features().files() > 0) {
      own.alike = features_alike(other, training);
    }
  };
  if (ranks.silos() != nullptr) {
    look();
    const bool has_all = ranks.is_coordinator() && other.rows != nullptr && !other.rows->is_none();
    return has_all ? claimed_by_silo(other, ranks) : file_in_both({own});
  }
  ranks.together(look);
  if (ranks.size() == 1) return file_in_both({own});
  // Most ranks have the list of rank 0, which may be long.
  const std::string listed = archived(own);
  const std::string of_rank_0 = ranks.trusted().broadcast(listed);
  const bool is_told = ranks.is_coordinator() || listed != of_rank_0;
  const std::vector<std::string> archives = ranks.trusted().gather(is_told ? listed : std::string());
  std::string found;
  ranks.together([&] {
    std::vector<SeenRoles> of_ranks;
    for (const std::string& archive : archives) {
      of_ranks.push_back(archive.empty() ? SeenRoles{} : unarchived<SeenRoles>(archive));
    }
    if (ranks.is_coordinator()) found = file_in_both(of_ranks);
  });
  return ranks.trusted().broadcast(std::move(found));
}

namespace {

// Refuses a file whose rows lie in other files: nobody can compare them, and a file from elsewhere may refer to the
// private ones.
void require_rows_of_their_own(const OtherRole& other) {
  if (other.rows == nullptr) return;
  for (const ShardedArray* const array : arrays_of(*other.rows)) {
    for (std::size_t shard = 0; shard < array->files(); ++shard) {
      if (!array->lies_in_other_files(shard)) continue;
      throw BadInput(
          "{}: its rows are in other files, to which it refers; {} rows must be in the file itself: copy them into one",
          array->path_of(shard), other.name);
    }
  }
}

}  // namespace

void require_public(const OtherRole& other, WorkerRows& training, const PrivateArray& beside, Communicator& ranks) {
  std::string found;
  if (ranks.silos() == nullptr) found = training_rows_among(other, training, beside, ranks);
  ranks.together([&] {
    require_rows_of_their_own(other);
    if (ranks.silos() != nullptr) found = training_rows_among(other, training, beside, ranks);
    if (found.empty()) return;
    throw BadInput(
        "{}: training rows are private, but {} rows are used without noise; give public rows, and none of these", found,
        other.name);
  });
}

}  // namespace dpreduce
