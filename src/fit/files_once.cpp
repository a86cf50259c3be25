#include "fit/files_once.hpp"

#include <algorithm>
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
  FileIdentity identity{};
  bool has_labels = false;  // else features
  std::uint64_t rows = 0;
  bool lies_in_other_files = false;
};

// Files and features of rows that a rank knows in two roles. Names are those of options, with the path.
struct SeenRoles {
  std::vector<SeenFile> training;
  std::vector<SeenFile> others;
  std::string alike;  // where it has found features that are the same
};

DPREDUCE_ARCHIVE(FileIdentity, machine, device, inode, bytes, modified_ns, place, is_memory)
DPREDUCE_ARCHIVE(SeenFile, path, identity, has_labels, rows, lies_in_other_files)
DPREDUCE_ARCHIVE(SeenRoles, training, others, alike)

namespace {

void add_files(std::vector<SeenFile>& seen, const ShardedArray& array, const std::string& before_path,
               bool has_labels = false) {
  for (std::size_t shard = 0; shard < array.files(); ++shard) {
    seen.push_back({before_path + array.path_of(shard), array.identity_of(shard), has_labels, array.rows_in_file(shard),
                    array.lies_in_other_files(shard)});
  }
}

// The files of features, and then those of labels where there are any. Names of a role's files begin with the option.
std::vector<SeenFile> files_of(const WorkerRows& rows, const std::string& role = "") {
  std::vector<SeenFile> files;
  add_files(files, rows.features(), role.empty() ? "" : "--" + role + "-x ");
  if (rows.has_labels()) add_files(files, rows.labels(), role.empty() ? "" : "--" + role + "-y ", true);
  return files;
}

struct FileOfRank {
  std::size_t rank;
  SeenFile file;
};

// Arrays by inode: only arrays of one inode have to be compared.
using FilesByInode = std::multimap<std::uint64_t, FileOfRank>;

// The file among these that is the same array; null where there is none.
const FileOfRank* same_file(const FilesByInode& files, const FileIdentity& identity) {
  const auto [first, last] = files.equal_range(identity.inode);
  const auto found =
      std::find_if(first, last, [&](const auto& other) { return is_same_array(other.second.file.identity, identity); });
  return found == last ? nullptr : &found->second;
}

void refuse_if_seen(const FilesByInode& seen, const FileOfRank& file) {
  const FileOfRank* const earlier = same_file(seen, file.file.identity);
  if (earlier == nullptr) return;
  const bool is_elsewhere = earlier->file.identity.machine != file.file.identity.machine;
  throw BadInput(
      "{} (rank {}) and {} (rank {}) are the same file, and its records would count twice; give each "
      "rank its own files{}",
      earlier->file.path, earlier->rank, file.file.path, file.rank,
      is_elsewhere ? " (they have the same inode, size and time of change on two machines; if they are "
                     "different files, touch one of them)"
                   : "");
}

void refuse_doubles(const std::vector<std::vector<SeenFile>>& of_ranks) {
  for (const bool are_labels : {false, true}) {
    FilesByInode seen;
    for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
      for (const SeenFile& one : of_ranks[rank]) {
        if (one.has_labels != are_labels) continue;
        const FileOfRank file{rank, one};
        refuse_if_seen(seen, file);
        seen.emplace(one.identity.inode, file);
      }
    }
  }
}

// Throws BadInput where two ranks have one of these files.
void require_own_files(const WorkerRows& rows, Communicator& ranks) {
  const std::vector<std::string> archives = ranks.trusted().gather(archived(files_of(rows)));
  ranks.together([&] {
    std::vector<std::vector<SeenFile>> of_ranks;
    for (const std::string& archive : archives) of_ranks.push_back(unarchived<std::vector<SeenFile>>(archive));
    refuse_doubles(of_ranks);
  });
}

// Throws BadInput where ranks have different files. The list may be long: a digest of it is compared.
void require_one_list(const WorkerRows& rows, Communicator& ranks) {
  std::vector<SeenFile> list = files_of(rows);
  for (SeenFile& file : list) file.identity = {};  // which machines may number otherwise
  const std::size_t digest = std::hash<std::string>()(archived(list));
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

// A file, and the silo with a smaller number that has claimed it.
using ClaimedFile = std::pair<std::string, std::uint32_t>;

std::optional<ClaimedFile> first_claimed(const WorkerRows& rows, const FileClaims& claims) {
  for (const SeenFile& file : files_of(rows)) {
    const std::optional<std::uint32_t> silo = claims.earlier_claimant(file.identity);
    if (silo) return ClaimedFile(file.path, *silo);
  }
  return std::nullopt;
}

std::string features_alike(const OtherRole& other, WorkerRows& training) {
  if (training.features().files() == 0 || other.rows.features().files() == 0) return "";
  const auto alike = training.features().files_alike(other.rows.features());
  if (!alike) return "";
  return fmt::format("--{}-x {} holds the rows of --train-x {}", other.name,
                     other.rows.features().path_of(alike->second), training.features().path_of(alike->first));
}

std::string of_rank(std::size_t rank, std::size_t ranks) {
  return ranks == 1 ? "" : fmt::format(" (rank {})", rank);
}

// A file that is seen in both roles, by whatever ranks.
std::string file_in_both(const std::vector<SeenRoles>& of_ranks) {
  FilesByInode training;
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    for (const SeenFile& file : of_ranks[rank].training) {
      training.emplace(file.identity.inode, FileOfRank{rank, file});
    }
  }
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    for (const SeenFile& file : of_ranks[rank].others) {
      const FileOfRank* const own = same_file(training, file.identity);
      if (own == nullptr) continue;
      return fmt::format("{}{} and {}{} are the same", file.path, of_rank(rank, of_ranks.size()), own->file.path,
                         of_rank(own->rank, of_ranks.size()));
    }
  }
  for (const SeenRoles& roles : of_ranks) {
    if (!roles.alike.empty()) return roles.alike;
  }
  return "";
}

// Names, in words, a file of `other` that a silo on the coordinator's machine has claimed; empty where none has.
std::string claimed_by_silo(const OtherRole& other, const Communicator& ranks) {
  if (ranks.silos()->entry().over_network) return "";
  const FileClaims coordinator(ranks.silos()->run(), static_cast<std::uint32_t>(ranks.size()));
  const std::optional<ClaimedFile> file = first_claimed(other.rows, coordinator);
  return file ? fmt::format("{} ({} rows) is a training file of silo {}", file->first, other.name, file->second) : "";
}

}  // namespace

void require_files_once(const WorkerRows& rows, bool is_shared, Communicator& ranks) {
  if (ranks.size() == 1) return;
  is_shared ? require_one_list(rows, ranks) : require_own_files(rows, ranks);
}

std::unique_ptr<FileClaims> claim_files(const WorkerRows& rows, const Communicator& ranks) {
  if (ranks.silos()->entry().over_network) return nullptr;
  auto claims = std::make_unique<FileClaims>(ranks.silos()->run(), static_cast<std::uint32_t>(ranks.rank()));
  for (const SeenFile& file : files_of(rows)) claims->claim(file.identity);
  return claims;
}

void require_no_earlier_claim(const WorkerRows& rows, const FileClaims& claims) {
  const std::optional<ClaimedFile> file = first_claimed(rows, claims);
  if (!file) return;
  throw BadInput(
      "{}: silo {} of this run also reads it, on this machine, and its records would count twice; give "
      "each silo its own files",
      file->first, file->second);
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

std::string training_rows_among(const OtherRole& other, WorkerRows& training, const ShardedArray* persons,
                                Communicator& ranks) {
  SeenRoles own;
  const auto look = [&] {
    own.training = files_of(training, "train");
    if (persons != nullptr) add_files(own.training, *persons, "--train-person ");
    own.others = files_of(other.rows, other.name);
    own.alike = features_alike(other, training);
  };
  if (ranks.silos() != nullptr) {
    look();
    const bool has_all = ranks.is_coordinator() && !other.rows.is_none();
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

void require_public(const OtherRole& other, WorkerRows& training, const ShardedArray* persons, Communicator& ranks) {
  std::string found;
  if (ranks.silos() == nullptr) found = training_rows_among(other, training, persons, ranks);
  ranks.together([&] {
    // Nobody can compare rows that lie in other files, and a file from elsewhere may refer to the private ones.
    for (const SeenFile& file : files_of(other.rows)) {
      if (!file.lies_in_other_files) continue;
      throw BadInput(
          "{}: its rows are in other files, to which it refers; {} rows must be in the file itself: copy them into one",
          file.path, other.name);
    }
    if (ranks.silos() != nullptr) found = training_rows_among(other, training, persons, ranks);
    if (found.empty()) return;
    throw BadInput(
        "{}: training rows are private, but {} rows are used without noise; give public rows, and none of these", found,
        other.name);
  });
}

}  // namespace dpreduce
