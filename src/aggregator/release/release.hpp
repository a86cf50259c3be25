// The one place where private integers become public: from exact sums to public values.
//
//     reservation  ->  ranks' parts += noise  ->  reduction over ranks  ->  ledger line, flushed  ->  record, flushed
//                  ->  Release
//
// Noise is an addend of the reduction, so the exact sum over the ranks exists nowhere. For long blocks, ranks that
// trust each other add the noise in pieces, each element once, each rank under its own key. No value is read before its
// charge and its record are on the disk. A run that ends between noise and charge, except by the death of its process,
// writes the charge first. So nothing visible is a function of an uncharged value. Among silos the charge comes first.
// Private selections (select) follow the same rule, with a choice instead of noise.
//
// A resumed run also gets its saved releases from here (saved), in their order.
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
#include "aggregator/release/part_release.hpp"
#include "common/base/error.hpp"
#include "common/ledger/noise_plan.hpp"
#include "common/ledger/released_block.hpp"
#include "common/ledger/statistic.hpp"
#include "common/ranks/communicator.hpp"

namespace dpreduce {

/// Candidates that a selection chose: public, and the same on every rank.
class Selection {
 public:
  Selection(std::vector<std::uint64_t> chosen, std::size_t per_group)
      : chosen_(std::move(chosen)), per_group_(per_group) {}
  std::size_t groups() const { return chosen_.size() / per_group_; }
  /// Candidates chosen for group `group`, in increasing order. Precondition: group < groups().
  std::span<const std::uint64_t> of_group(std::size_t group) const;

 private:
  std::vector<std::uint64_t> chosen_;
  std::size_t per_group_;
};

/// Makes the releases of one run. Every rank has one; ledger and file are used on the coordinator.
class Releaser {
 public:
  /// Makes releases without noise and ledger: for public rows, and for comparison.
  explicit Releaser(Communicator& ranks) : ranks_(ranks) {}

  /// Makes releases with the noise of `plan`, each charged as `charging` says and saved in `file`. The coordinator
  /// checks the budget for all of the plan now, and reserves it with the first release: every rank has then read each
  /// of its rows. A run that is destroyed before `finish` was called has stopped (~ChargedRun).
  ///
  /// With `shares`, in a run among silos, each silo adds its share of the noise. The coordinator adds none, and never
  /// sees a sum without noise. Runs among silos save nothing.
  ///
  /// At a silo `charging` is its own. A silo reserves too, and charges what it can answer for before it masks
  /// (charged_run.hpp). If its budget does not allow that, it throws alone, and drops out for the others. Collective.
  /// Throws as ChargedRun::open.
  Releaser(Communicator& ranks, NoisePlan plan, RunFile file, Charging charging, RunTerms terms,
           std::optional<NoiseShares> shares = std::nullopt);

  /// Ends the run, whose result is on disk (ChargedRun::finish); does nothing without noise. On the coordinator. At a
  /// silo: it has taken part in all that the run releases; it throws alone there.
  void finish();

  /// The run whose releases have noise, on every rank: its name, its ledger (on a rank that writes it) and its way to
  /// resume, to read only: it is charged here alone. Precondition (asserted): releases have noise.
  const ChargedRun& run() const {
    DPREDUCE_ASSERT(run_ != nullptr);
    return *run_;
  }

  /// ChargedRun::can_be_resumed; false without noise.
  bool can_be_resumed() const { return run_ && run_->can_be_resumed(); }

  /// Releases that runs before charged and never showed (ChargedRun::lost), the same on every rank.
  const std::vector<std::string>& lost() const { return lost_; }

  /// Returns the next round of that release, or that selection, as a run that this one goes on from has saved it;
  /// nullopt if it has to be made. Blocks are those of the record, at the coordinator; the choice is known to every
  /// rank. Collective. Throws BadInput if the record is of another one.
  std::optional<NamedIntegers> saved(std::string_view name);
  std::optional<Selection> saved(const PlannedSelection& selection);

  /// Release with these blocks, which a record held: of a run before, or of a release in parts.
  Release release_of(std::string_view name, NamedIntegers saved) const;

  /// Returns a decision, a number, that follows from the release before it: as it was saved, else as `decide` makes it
  /// at the coordinator, saved before anything follows from it. Another processor may decide otherwise. Known to every
  /// rank. Collective.
  double decision(const std::string& name, const std::function<double()>& decide);

  /// Noised sum over ranks of every rank's statistic `local`, at the coordinator:
  ///
  ///     block_b = sum_ranks local_b + round(N(0, s_b^2))        each coordinate its own noise
  ///
  /// Elements beside the diagonal of a symmetric block get variance s_b^2 / 2. A release of T rounds is made T times,
  /// each round charged by itself. For a release on a Poisson sample, `local` is of the rows that sample_secret takes.
  /// Collective. Preconditions: the plan has a release `name` with the blocks of `local`; it has rounds left. Throws
  /// BudgetRefused if the data set's limit would be passed; UsageError, and what Ledger::append, RunFile and
  /// Communicator throw; std::logic_error on a round too many.
  Release release(std::string_view name, Statistic local);

  /// Each rank's own statistic `local` with noise of its own, on that rank; nothing is summed over ranks:
  ///
  ///     block_b = local_b + round(N(0, s_b^2))        on every rank, each coordinate its own noise
  ///
  /// If every row is on one rank, whatever the other rows are, a row moves one of the P results by at most the plan's
  /// sensitivity. All of them together then cost what one costs (parallel composition), and are charged once, before
  /// any of them is made. Nothing is saved. Collective. Preconditions, errors: as release.
  Release release_of_each_rank(std::string_view name, Statistic local);

  /// Charges the next round of a release that this run does not make, because of what it released before: what is spent
  /// never depends on that. Collective. Precondition, errors: as release.
  void charge_unmade(std::string_view name);

  /// 32 bytes that decide which rows the next round of that release takes (RowCoins), the same on every rank: new for
  /// each round, and never saved. Without noise they are zeros. Collective.
  SecretVector<std::byte> sample_secret(std::string_view name);

  /// Makes a release whose parts never exist at once (part_release.hpp). `make` makes all of them, and returns at the
  /// coordinator what becomes public of it: its record, of so many integers. No rank shows anything of a part before
  /// this returns. Collective. Preconditions, errors: as release; what `make` throws.
  NamedIntegers release_in_parts(std::string_view name, std::uint64_t integers,
                                 const std::function<NamedIntegers(PartRelease&)>& make);

  /// For every group a private choice among candidates by the sum over ranks of their utilities `local`
  /// (empty_utilities: row g holds group g), drawn as selection_sampler.hpp says; known to every rank.
  ///
  ///     reservation  ->  sum at the coordinator  ->  choice  ->  ledger line, flushed  ->  record, flushed
  ///
  /// Unlike the sum of a release, the exact sum of utilities does exist, in the coordinator's memory, until the choice
  /// is made. Without noise: the best candidates, of equal ones those with the smaller index. Collective.
  /// Preconditions: the plan has this very selection, which is made once; 1 <= chosen <= candidates, and `local` has
  /// its shape (both asserted); over all ranks the largest utilities of each rank add up to less than 2^63, and the
  /// smallest to at least -2^63, so that no sum can wrap around. Throws as release; BadInput where sums could wrap.
  Selection select(const PlannedSelection& selection, Statistic local);

  /// The same choice and charge where nothing is left to sum up: of every group this rank has the utilities of the
  /// candidates from `first` on, `utilities` being groups x |utilities| / groups, and the ranks' parts follow one
  /// another. Parts are put together group by group: no rank holds more than its own and, the coordinator, those of one
  /// group. Collective. Preconditions, errors: as select; the parts make up all candidates (asserted).
  Selection select_from_parts(const PlannedSelection& selection, std::uint64_t first,
                              SecretVector<std::int64_t> utilities);

 private:
  // Takes a group's utilities, and notes the candidates that it chooses by them.
  using ChooseInGroup = std::function<void(std::uint64_t group, std::span<const std::int64_t> utilities)>;

  bool begin_saved();
  void charged(std::uint64_t integers, const std::function<void()>& make, const std::function<NamedViews()>& record);
  void charge_after_error();
  std::vector<ReleasedBlock> noised_sum(const PlannedRelease* planned, Statistic local);
  void add_noise_to(Statistic& local, const PlannedRelease& planned);
  ReleaseKey key_of_begun() const;
  Selection choose(const PlannedSelection& selection, const std::function<void(const ChooseInGroup&)>& make);
  Selection shared(const PlannedSelection& selection, std::vector<std::uint64_t> chosen);

  Communicator& ranks_;
  std::unique_ptr<ChargedRun> run_;
  std::unique_ptr<SiloAccount> account_;  // at a silo: the account of run_
  std::optional<NoiseShares> shares_;
  std::map<std::string, double> sigmas_of_shares_;  // of blocks that were released in parts; nothing of silos is saved
  std::size_t saved_left_ = 0;                      // records that are still to be taken; the same on every rank
  std::vector<std::string> lost_;
  std::string sampled_;  // the round that a sample was drawn for last
};

}  // namespace dpreduce
