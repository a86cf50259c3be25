// Noised sums as a file: statistics.safetensors. They are public, so nothing computed from them costs more budget.
//
// Beside the parts of every released file (common/model/released_file.hpp), the file has one tensor I64 for each block,
// in lattice units. Rows q have d entries, an intercept among them, with `scale` lattice units to a feature unit:
//
//     gram [d (d + 1) / 2]               sum q q^T, the upper triangle row after row
//     class_sums [K, d]                  sum of q over the rows of each class
//     class_counts [K]                   rows of each class
//     class_grams [K, d (d + 1) / 2]     sum q q^T over the rows of each class
//
// For rows with m numbers to predict there is only gram; these numbers are the last m of d entries.
//
// Metadata: scale, lattice_norm, intercept (a: every row is (sqrt(1 - a) x, sqrt(a) C)), target_share if rows have
// numbers to predict (b: every row is then (sqrt(1 - b) u, sqrt(b) C y')), most_labels, settings (JSON, of the method
// that released), sigma (JSON {block: s}). An entry has noise round(N(0, s^2)); off the diagonal of gram and
// class_grams round(N(0, s^2 / 2)). From silos that share the noise, s is that of all shares together. The file's bytes
// are a function of the release alone.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/lattice/lattice_rows.hpp"
#include "common/ledger/released_block.hpp"
#include "common/model/classifier.hpp"
#include "fit/resolved_fit.hpp"
#include "methods/training_run.hpp"

namespace dpreduce {

struct KeptStatistics {
  /// Method, promise, rows (with their intercept), classes and names; the rest is empty.
  ClassifierParts of_rows;
  std::size_t most_labels = 1;
  nlohmann::json settings = nlohmann::json::object();
  std::vector<ReleasedBlock> blocks{};

  bool has(std::string_view block) const;
  /// Returns the block of that name. If it is absent, throws UsageError that names how to release it.
  const ReleasedBlock& block(std::string_view name) const;
  /// Weight of the Gram matrix of all rows beside that of a class, as the release set it.
  double alpha() const { return settings.value("alpha", 1.0); }
  Lattice lattice() const { return {of_rows.preprocessing.clip_norm, of_rows.preprocessing.output_dim()}; }
};

/// Metadata of the file, and its bytes.
std::map<std::string, std::string> metadata_of(const KeptStatistics& statistics);
std::vector<std::byte> to_bytes(const KeptStatistics& statistics);

/// Read the statistics from a file's bytes, or from a file. Throw BadInput, naming `source` or the path, if it is no
/// such file, or of another lattice.
KeptStatistics statistics_from_bytes(std::span<const std::byte> bytes, std::string_view source);
KeptStatistics load_statistics(const std::filesystem::path& path);

/// Adds up the statistics of two sets of rows. Precondition: the sets have no record or person in common. Sums and
/// variances add up, and the weaker of the two promises holds. The sum has the settings that both have in common.
/// Throws UsageError naming the difference, unless rows were prepared alike and have the same classes, names of
/// features, labels a row, blocks and alpha; also if a block is equal in both, since it is then the same release.
KeptStatistics operator+(const KeptStatistics& one, const KeptStatistics& other);

/// Keeper of a run's releases as they become public; at the coordinator (TrainingTerms::observer).
class StatisticsKeeper {
 public:
  void add(const WatchedRelease& watched);
  bool empty() const { return blocks_.empty(); }
  /// Returns the kept statistics. Precondition (asserted): something was kept.
  KeptStatistics taken(const ResolvedFit& fit) const;

 private:
  std::map<std::string, ReleasedBlock, std::less<>> blocks_;
  Preprocessing preprocessing_;
};

}  // namespace dpreduce
