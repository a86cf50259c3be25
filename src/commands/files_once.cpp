#include "commands/files_once.hpp"

#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/rank_pattern.hpp"
#include "common/data/paths.hpp"
#include "common/ranks/silo_job.hpp"

namespace dpreduce {
namespace {

// The arrays of rows: features, and labels where there are any.
std::vector<const ShardedArray*> arrays_of(const WorkerRows& rows) {
  std::vector<const ShardedArray*> arrays{&rows.features()};
  if (rows.has_labels()) arrays.push_back(&rows.labels());
  return arrays;
}

// What the coordinator has to know of a rank's files. Of a list that all ranks share it is a digest, since the list may
// be long, and only has to be the same everywhere.
std::string told_files(const WorkerRows& rows, bool is_shared) {
  nlohmann::json told = nlohmann::json::array();
  for (const ShardedArray* const array : arrays_of(rows)) {
    nlohmann::json files = nlohmann::json::array();
    for (std::size_t shard = 0; shard < array->files(); ++shard) {
      const FileIdentity& file = array->identity_of(shard);
      if (is_shared) {
        files.push_back({array->path_of(shard), array->rows_in_file(shard)});
      } else {
        files.push_back(
            {array->path_of(shard), file.machine, file.device, file.inode, file.bytes, file.modified_ns, file.place});
      }
    }
    told.push_back(std::move(files));
  }
  const std::string text = told.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return is_shared ? nlohmann::json(std::hash<std::string>()(text)).dump() : text;
}

struct NamedFile {
  int rank;
  std::string path;
  FileIdentity identity;
};

NamedFile named_file(int rank, const nlohmann::json& told) {
  return {rank,
          told[0],
          {.machine = told[1],
           .device = told[2],
           .inode = told[3],
           .bytes = told[4],
           .modified_ns = told[5],
           .place = told[6]}};
}

// Arrays by inode: only arrays of one inode have to be compared.
using FilesByInode = std::multimap<std::uint64_t, NamedFile>;

void refuse_if_seen(const FilesByInode& seen, const NamedFile& file) {
  const auto [first, last] = seen.equal_range(file.identity.inode);
  for (auto other = first; other != last; ++other) {
    if (!is_same_array(other->second.identity, file.identity)) continue;
    const bool is_elsewhere = other->second.identity.machine != file.identity.machine;
    throw BadInput(fmt::format(
        "{} (rank {}) and {} (rank {}) are one file, and would count its records twice; give each rank files of its "
        "own{}",
        other->second.path, other->second.rank, file.path, file.rank,
        is_elsewhere ? " (they have one inode, size and time of change on two machines; if they are two files all the "
                       "same, touch one of them)"
                     : ""));
  }
}

// Each rank's text, at the coordinator; an empty list on the other ranks.
std::vector<std::string> gather_texts(std::string_view text, Communicator& ranks) {
  constexpr std::size_t kWord = sizeof(std::int32_t);
  std::vector<std::int32_t> words(1 + (text.size() + kWord - 1) / kWord, 0);
  words[0] = static_cast<std::int32_t>(text.size());
  std::memcpy(words.data() + 1, text.data(), text.size());
  const std::vector<std::int32_t> all = ranks.gather_to_coordinator(words);
  std::vector<std::string> texts;
  for (std::size_t at = 0; ranks.is_coordinator() && at < all.size();) {
    const auto length = static_cast<std::size_t>(all[at]);
    texts.emplace_back(reinterpret_cast<const char*>(all.data() + at + 1), length);
    at += 1 + (length + kWord - 1) / kWord;
  }
  return texts;
}

[[noreturn]] void refuse_other_files(std::size_t rank) {
  throw BadInput(
      fmt::format("rank {} sees other training files than rank 0, of other names or numbers of rows, so that rows cut "
                  "evenly would count twice or not at all; give all ranks the same files, or each its own by {{rank}}",
                  rank));
}

void refuse_doubles(const std::vector<std::string>& told) {
  for (std::size_t array = 0;; ++array) {
    FilesByInode seen;
    bool is_there = false;
    for (std::size_t rank = 0; rank < told.size(); ++rank) {
      const nlohmann::json files = nlohmann::json::parse(told[rank]);
      if (!files.is_array()) refuse_other_files(rank);
      if (array >= files.size()) continue;
      is_there = true;
      for (const nlohmann::json& one : files[array]) {
        NamedFile file = named_file(static_cast<int>(rank), one);
        refuse_if_seen(seen, file);
        const std::uint64_t inode = file.identity.inode;
        seen.emplace(inode, std::move(file));
      }
    }
    if (!is_there) return;
  }
}

void refuse_other_lists(const std::vector<std::string>& told) {
  for (std::size_t rank = 1; rank < told.size(); ++rank) {
    if (told[rank] != told[0]) refuse_other_files(rank);
  }
}

std::vector<ClaimedArray> claimed_arrays(const ShardedArray& array) {
  std::vector<ClaimedArray> claimed;
  for (std::size_t shard = 0; shard < array.files(); ++shard) {
    const FileIdentity& file = array.identity_of(shard);
    claimed.push_back({file.device, file.inode, file.place});
  }
  return claimed;
}

}  // namespace

void require_files_once(const WorkerRows& rows, bool is_shared, Communicator& ranks) {
  if (ranks.size() == 1) return;
  const std::vector<std::string> told = gather_texts(told_files(rows, is_shared), ranks);
  ranks.together([&] { is_shared ? refuse_other_lists(told) : refuse_doubles(told); });
}

std::unique_ptr<FileClaims> claim_files(const WorkerRows& rows, const Communicator& ranks) {
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
          fmt::format("{}: silo {} of this run reads it too, on this machine, and its records would count twice; give "
                      "each silo files of its own",
                      array->path_of(shard), *silo));
    }
  }
}

void require_no_file_left_out(const RowsOptions& options, const Communicator& ranks) {
  const bool is_of_silos = ranks.silos() != nullptr;
  const WorkerNumbers workers{is_of_silos ? 1U : 0U, static_cast<std::size_t>(ranks.size()) - 1};
  for (const std::vector<std::string>* const patterns : {&options.x, &options.y}) {
    for (const std::string& pattern : *patterns) {
      const std::optional<std::string> file = file_of_no_worker(pattern, workers);
      if (!file) continue;
      throw BadInput(fmt::format(
          "{}: nobody would read it: {{rank}} is {} to {} here ({}); start a rank for each silo, number the silos so "
          "(dpreduce synth partition --first-silo {}), or move away what is not to count",
          *file, workers.first, workers.last,
          is_of_silos ? "silos of --secure-aggregation count from 1, rank 0 is the coordinator"
                      : "ranks count from 0; silos of --secure-aggregation from 1",
          workers.first));
    }
  }
}

}  // namespace dpreduce
