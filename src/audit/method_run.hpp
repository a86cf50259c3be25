// The method on two neighboring data sets, as an audit by many runs sees it.
//
// A run is observed as everything that it releases, the model, and how much more likely each release is with the canary
// than without (audited_method.hpp).
#pragma once

#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "audit/audited_method.hpp"
#include "audit/neighbor_rows.hpp"
#include "audit/two_world_audit.hpp"

namespace dpreduce {

/// Two neighboring data sets as .npy files.
struct WorldFiles {
  WorldRows without;
  WorldRows with;
  std::string public_x{};  ///< where the method has public rows, else empty: the same in both worlds
};

/// Writes the files of both worlds, and public rows where the method has some, into `folder`. Throws BadInput as
/// LabeledRows::write.
WorldFiles write_worlds(const NeighborPair& pair, bool has_public_rows, double clip_norm,
                        const std::filesystem::path& folder);

/// The method on two neighboring data sets.
class MethodRun : public AuditedRun {
 public:
  /// `ledger_path` belongs to this object alone. Throws as open_world.
  MethodRun(const AuditedMethod& method, const WorldFiles& files, std::string ledger_path);

  /// Numbers of Published, then log ratios: of all releases, and of those of each name.
  std::vector<double> observe(World world) override;
  /// The sum of all log ratios; those of each name; the summary of Published's numbers; all of these.
  std::vector<View> views() const override;

  /// The root of the sum of D^2 over the last run's releases (audited_method.hpp): what this pair of worlds can show of
  /// mu, by the best of attacks, where noise is as planned.
  double planned_distance() const { return std::sqrt(squared_distance_); }

 private:
  std::size_t summary() const;
  std::size_t all_numbers() const;

  const AuditedMethod& method_;
  WorkerRows without_;
  WorkerRows with_;
  std::optional<WorkerRows> features_;    // public rows, to sum
  std::optional<WorkerRows> candidates_;  // and to choose from
  std::string ledger_path_;
  ExactStatistics exact_without_;
  ExactStatistics exact_with_;
  double squared_distance_ = 0.0;
};

}  // namespace dpreduce
