// From exact sums to public values: the one place where private integers become public.
//
//     fingerprint  ->  ledger line, fsynced  ->  coordinator's part += noise  ->  reduction over ranks  ->  Release
//
// Noise is one addend of the reduction, so the exact sum over the ranks exists nowhere. It is a function of the secret
// key, the release's id and the statistic's fingerprint: the same release of the same statistic has the same noise, and
// is charged once, however often a run is killed and resumed; any other statistic has noise of its own, and a charge of
// its own.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
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
  const std::vector<ReleasedBlock>& blocks() const { return blocks_; }

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
  std::string version;
};

/// What to do where the ledger has a charge of this very release (configuration, statistic, noise) already.
enum class Replay {
  kNever,         ///< a new release, with new noise and a new charge
  kChargedBefore  ///< repeat it bit for bit, at no charge: the run was killed, and goes on
};

/// Where and under which terms releases are charged.
struct Charging {
  std::string ledger_path;
  std::optional<double> limit_mu = std::nullopt;  ///< of the data set, over all runs on this ledger
  Replay replay = Replay::kNever;
};

/// Makes the releases of one run. Exists on every rank; plan, key and ledger serve on the coordinator.
class Releaser {
 public:
  /// Without noise and ledger: for comparison only.
  explicit Releaser(Communicator& ranks);

  /// With the noise of `plan`, drawn from `key`, each release charged as `charging` says.
  Releaser(Communicator& ranks, NoisePlan plan, NoiseKey key, Charging charging, LedgerContext context);

  /// The noised sum over ranks of every rank's statistic `local`, at the coordinator:
  ///
  ///     block_b = sum_ranks local_b + round(N(0, s_b^2))        each coordinate its own noise
  ///
  /// Noise is the stream of (key, release id, fingerprint of the statistic, block name): different releases, blocks and
  /// runs never share any, nor do two different statistics; of a symmetric block the elements beside the diagonal get
  /// variance s_b^2 / 2. A release of T rounds is made T times, each round charged by itself. Collective.
  /// Preconditions: the plan has a release `name` with the blocks of `local`; it has rounds left. Throws BudgetRefused
  /// where the data set's limit would be passed; UsageError, and what Ledger::append and Communicator throw;
  /// std::logic_error on a round too many.
  Release release(std::string_view name, Statistic local);

 private:
  struct Noise {
    NoisePlan plan;
    NoiseKey key;
    std::string run_id;  ///< new in every run
    Ledger ledger;
    Charging charging;
    LedgerContext context;
  };

  std::string fingerprint(std::string_view name, const Statistic& local);
  LedgerEntry entry_of(const PlannedRelease& planned, const std::string& fingerprint) const;
  std::string charge(const PlannedRelease& planned, const std::string& fingerprint);
  double remaining_mu(const PlannedRelease& current) const;
  void add_noise(const PlannedBlock& block, const std::string& noise_id, std::span<std::int64_t> values) const;

  Communicator& ranks_;
  std::optional<Noise> noise_;
  std::map<std::string, std::uint64_t, std::less<>> rounds_made_;  // of each release, the one being made included
};

}  // namespace dpreduce
