// From exact sums to public values: the one place where private integers become public.
//
//     fingerprint  ->  journal, ledger line, fsynced  ->  ranks' parts += noise  ->  reduction over ranks  ->  Release
//
// Noise is an addend of the reduction, so the exact sum over the ranks exists nowhere. The coordinator adds it; of long
// blocks ranks that trust each other add it in pieces, each element once, with the same bits for any number of ranks.
// It is a function of the run's secret, the release's id and the statistic's fingerprint: the same release of the same
// statistic has the same noise, and is charged once, however often a run is killed and resumed; any other statistic has
// noise of its own, and a charge of its own. Private selections (select) follow the same rule, with a choice in the
// place of noise.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregator/release/charged_run.hpp"
#include "aggregator/release/noise_shares.hpp"
#include "aggregator/release/part_release.hpp"
#include "aggregator/release/silo_account.hpp"
#include "common/plan/noise_plan.hpp"
#include "common/plan/released_block.hpp"
#include "common/plan/statistic.hpp"
#include "common/ranks/communicator.hpp"

namespace dpreduce {

/// What a selection chose: public, and the same on every rank.
class Selection {
 public:
  Selection(std::vector<std::uint64_t> chosen, std::size_t per_group)
      : chosen_(std::move(chosen)), per_group_(per_group) {}
  std::size_t groups() const { return chosen_.size() / per_group_; }
  /// The candidates that group `group` put out, in rising order. Precondition: group < groups().
  std::span<const std::uint64_t> of_group(std::size_t group) const;

 private:
  std::vector<std::uint64_t> chosen_;
  std::size_t per_group_;
};

/// Makes a rank's statistic of a sample from the sample's secret, which is the same on every rank.
using StatisticOfSample = std::function<Statistic(const SecretVector<std::byte>& secret)>;

/// The candidates that group `group` chooses by its utilities.
using ChoiceOfGroup =
    std::function<std::vector<std::uint64_t>(std::uint64_t group, std::span<const std::int64_t> utilities)>;

/// Makes the releases of one run. Every rank has one; plan, journal and ledger are used on the coordinator.
class Releaser {
 public:
  /// Without noise and ledger: for public rows, and for comparison.
  explicit Releaser(Communicator& ranks);

  /// With the noise of `plan`, drawn from the journal's secret, each release charged as `charging` says. The
  /// coordinator looks for room for all of it now, and reserves it with the first charge: every rank has then looked at
  /// each of its rows. A run that is destroyed before `finish` was called has stopped (~ChargedRun).
  ///
  /// With `shares`, in a run among silos, each silo adds its share of the noise, which it draws from a secret of its
  /// own. The coordinator adds none, and never sees a sum without noise. No statistic has a fingerprint then, since
  /// that would tell the coordinator something of the exact sum; so no release can be repeated. With central noise
  /// among silos no statistic has a fingerprint either, except under a seed.
  ///
  /// At a silo `charging` is its own: it reserves too, and charges what it can answer for before it masks
  /// (silo_account.hpp). Where its budget does not allow that, it throws alone, and is lost to the others. Collective.
  /// Throws as ChargedRun::open.
  Releaser(Communicator& ranks, NoisePlan plan, RunJournal journal, Charging charging, RunTerms terms,
           std::optional<NoiseShares> shares = std::nullopt);

  /// The run's result is on disk (ChargedRun::finish); does nothing without noise. On the coordinator. At a silo: it
  /// has taken part in all that the run releases; it throws alone there.
  void finish();

  /// What the ledger says now, valid until the next call, and the run's name in it. On the coordinator. Precondition:
  /// releases have noise. Throws as Ledger::read.
  const LedgerState& ledger() const;
  const std::string& run_id() const;

  /// ChargedRun::can_be_resumed; false without noise.
  bool can_be_resumed() const { return run_ && run_->can_be_resumed(); }

  /// ChargedRun::way_to_resume of a run that an error has stopped.  Precondition: can_be_resumed().
  std::string way_to_resume() const { return run_->way_to_resume(); }

  /// The noised sum over ranks of every rank's statistic `local`, at the coordinator:
  ///
  ///     block_b = sum_ranks local_b + round(N(0, s_b^2))        each coordinate its own noise
  ///
  /// Noise is the stream of (the run's secret, release id, fingerprint of the statistic, block name): different
  /// releases, blocks and runs never share any, nor do two different statistics; of a symmetric block the elements
  /// beside the diagonal get variance s_b^2 / 2. A release of T rounds is made T times, each round charged by itself.
  /// Collective. Preconditions: the plan has a release `name` with the blocks of `local`; it has rounds left. Throws
  /// BudgetRefused where the data set's limit would be passed; UsageError, and what Ledger::append and Communicator
  /// throw; std::logic_error on a round too many.
  Release release(std::string_view name, Statistic local);

  /// Each rank's own statistic `local` with noise of its own, on that rank; nothing is summed over ranks:
  ///
  ///     block_b = local_b + round(N(0, s_b^2))        on every rank, each coordinate its own noise
  ///
  /// Where every row is on one rank, whatever the other rows are, a row moves one of the P results by at most the
  /// plan's sensitivity: all of them together cost what one costs (parallel composition), and are charged once. Noise
  /// is the stream of (a secret derived from it, release id and the fingerprints of all ranks' statistics; block;
  /// rank): the same statistics on the same ranks have the same noise; if one of them differs, all of the noise does,
  /// and the charge is a new one. The secret reaches every rank, which are trusted; the run's secret stays where it is.
  /// Collective. Preconditions, errors: as release.
  Release release_of_each_rank(std::string_view name, Statistic local);

  /// Counts the next round of a release that an earlier part of this run has made, and was charged for: nothing is
  /// charged, nothing drawn. On every rank. Precondition, errors: as release.
  void skip_release(std::string_view name);

  /// Charges the next round of a release that this run does not make, because of what it released before: what is spent
  /// never depends on that. Once for a resumed run, as release. Collective. Precondition, errors: as release.
  void charge_unmade(std::string_view name);

  /// Does what ChargedRun::require_charged does. On the coordinator. Precondition: releases have noise.
  void require_charged(std::span<const std::string> labels);

  /// Whether the run has ended, and can release nothing more: all of it must be in its checkpoint. On the coordinator.
  bool has_ended() const { return run_ && run_->has_ended(); }

  /// Does what ChargedRun::require_same_rows does, with a digest of the rows (row_digest.hpp). On the coordinator.
  /// Precondition: releases have noise.
  void require_same_rows(std::span<const std::uint64_t> digest);

  /// Makes a round on a Poisson sample, as release does: `statistic_of(secret)` is this rank's statistic of the rows
  /// that the sample with that secret takes (row_coins.hpp), and may be collective.
  ///
  /// The sample's secret is the stream of the release's id, which no other round or run has. Of a round that was
  /// charged before, it is that of its charge, and so the sample and the statistic are; where the statistic is another
  /// one, its noise and its charge are new, and so is the sample: two rounds that are both released never share coins.
  /// Without noise the secret is 32 zeros. Collective. Cost: a statistic more for every charge of such a round by a run
  /// on other rows, at most until the first round that is new.
  Release release_of_sample(std::string_view name, const StatisticOfSample& statistic_of);

  /// The secret for digests of the rows of a release in parts (32 bytes): the same on every rank, and whenever this
  /// run is resumed. Collective.
  SecretVector<std::byte> row_secret(std::string_view name);

  /// Charges a release whose parts never exist at once (part_release.hpp). `digest` is this rank's share of a digest of
  /// all rows, words that add up over ranks mod 2^64 and are a function of everything that the parts are computed from;
  /// it takes the place of the statistic's fingerprint, and is summed in place. Collective. Preconditions, errors: as
  /// release. The result refers to this releaser.
  PartRelease release_in_parts(std::string_view name, std::span<std::uint64_t> digest);

  /// For every group a private choice among candidates by the sum over ranks of their utilities `local`
  /// (empty_utilities: row g holds group g), drawn as selection_sampler.hpp says; known to every rank.
  ///
  ///     utilities to the coordinator's fingerprint  ->  ledger line, fsynced  ->  sum at the coordinator  ->  choice
  ///
  /// Unlike the sum of a release, the exact sum of utilities does exist, in the coordinator's memory, until the choice
  /// is made. The choice is a function of (the run's secret, release id, fingerprint, group): the same selection from
  /// the same utilities repeats it at no charge, as releases do; any other utilities have a choice and a charge of
  /// their own. Without noise: the best candidates, of equal ones those with the smaller index. Collective.
  /// Preconditions: the plan has this very selection, which is made once; 1 <= chosen <= candidates; `local` has its
  /// shape; over all ranks the largest utilities of each rank add up to less than 2^63, and the smallest to at least
  /// -2^63, so that no sum can wrap around. Throws as release; UsageError naming the shapes; BadInput where sums could
  /// wrap.
  Selection select(const PlannedSelection& selection, Statistic local);

  /// The same choice and charge where nothing is left to sum up: of every group this rank has the utilities of the
  /// candidates from `first` on, `utilities` being groups x |utilities| / groups, and the ranks' parts follow one
  /// another. Parts are put together group by group: no rank holds more than its own and, the coordinator, those of one
  /// group. Collective. Preconditions, errors: as select; UsageError unless the parts make up all candidates.
  Selection select_from_parts(const PlannedSelection& selection, std::uint64_t first,
                              SecretVector<std::int64_t> utilities);

 private:
  void note_silos();
  bool has_fingerprints() const;
  std::string fingerprint(std::string_view name, const Statistic& local);
  void add_noise_to(Statistic& local, const PlannedRelease& planned, const std::string& id);
  Release noised_sum(const PlannedRelease* planned, const std::string& id, Statistic local);
  double sigma_of_sum(const PlannedBlock& block) const;
  void begin(const PlannedSelection& selection);
  // How groups choose under the charge that it makes.
  ChoiceOfGroup charge(const PlannedSelection& selection, const std::string& fingerprint);
  Selection shared(const PlannedSelection& selection, std::vector<std::uint64_t> chosen);

  Communicator& ranks_;
  std::unique_ptr<ChargedRun> run_;
  std::unique_ptr<SiloAccount> account_;  // at a silo: the account of run_
  std::optional<NoiseShares> shares_;
};

}  // namespace dpreduce
