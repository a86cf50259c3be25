// From exact sums to public values: the one place where private integers become public.
//
//     ledger line, fsynced  ->  coordinator's part += noise  ->  reduction over ranks  ->  Release
//
// Noise is one addend of the reduction, so the exact sum over the ranks exists nowhere. A release can be made once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dpreduce/privacy/ledger.hpp"
#include "dpreduce/privacy/noise_plan.hpp"
#include "dpreduce/privacy/statistic.hpp"
#include "dpreduce/randomness/noise_key.hpp"
#include "dpreduce/transport/communicator.hpp"

namespace dpreduce {

/// A noised block, public. sigma is 0 in a non-private run.
class ReleasedBlock {
 public:
  ReleasedBlock(std::string name, std::vector<std::int64_t> values, double sigma)
      : name_(std::move(name)), values_(std::move(values)), sigma_(sigma) {}
  const std::string& name() const { return name_; }
  std::span<const std::int64_t> values() const { return values_; }
  double sigma() const { return sigma_; }

 private:
  std::string name_;
  std::vector<std::int64_t> values_;
  double sigma_;
};

/// The blocks of one release; on the coordinator. Other ranks hold one without blocks.
class Release {
 public:
  explicit Release(std::vector<ReleasedBlock> blocks) : blocks_(std::move(blocks)) {}
  /// Throws std::logic_error where there is no block of that name.
  const ReleasedBlock& block(std::string_view name) const;

 private:
  std::vector<ReleasedBlock> blocks_;
};

/// What a run's ledger lines have in common.
struct LedgerContext {
  std::string method;
  Accountant accountant = Accountant::kGdp;
  std::optional<double> epsilon;  ///< the budget as stated; both or neither
  std::optional<double> delta;
  std::string config_digest;
  std::string data_digest;
  std::string version;
};

/// Makes the releases of one run. Exists on every rank; plan, key and ledger serve on the coordinator.
class Releaser {
 public:
  /// Without noise and ledger: for comparison only.
  explicit Releaser(Communicator& ranks);

  /// With the noise of `plan`, drawn from `key`, each release charged to the ledger at `ledger_path`.
  Releaser(Communicator& ranks, NoisePlan plan, NoiseKey key, std::string ledger_path, LedgerContext context);

  /// The noised sum over ranks of every rank's statistic `local`, at the coordinator:
  ///
  ///     block_b = sum_ranks local_b + round(N(0, s_b^2))        each coordinate its own noise
  ///
  /// Noise is the stream of (key, run id, release name, block name): different releases, blocks and runs never
  /// share any. Collective. Preconditions: the plan has a release `name` with the blocks of `local`; it has not been
  /// made before. Throws UsageError, and what Ledger::append and Communicator throw; std::logic_error on a second
  /// release.
  Release release(std::string_view name, Statistic local);

 private:
  struct Noise {
    NoisePlan plan;
    NoiseKey key;
    std::string run_id;    ///< in the ledger
    std::string noise_id;  ///< in the noise
    Ledger ledger;
    LedgerContext context;
  };

  void charge(const PlannedRelease& planned);
  void add_noise(const PlannedRelease& planned, Statistic& statistic);

  Communicator& ranks_;
  std::optional<Noise> noise_;
  std::vector<std::string> made_;
};

}  // namespace dpreduce
