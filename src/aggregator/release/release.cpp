#include "aggregator/release/release.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>

#include <fmt/format.h>

#include "aggregator/release/block_noise.hpp"
#include "aggregator/release/selection_sampler.hpp"
#include "common/base/error.hpp"
#include "common/ranks/silo_job.hpp"

namespace dpreduce {
namespace {

void require_chosen(const PlannedSelection& selection) {
  if (selection.terms.chosen == 0 || selection.terms.chosen > selection.terms.candidates) {
    throw UsageError(fmt::format("selection {}: cannot choose {} of {} candidates", selection.name,
                                 selection.terms.chosen, selection.terms.candidates));
  }
}

// Such sums of silos are what they stand for; nobody is told how large they are. A silo that holds to nothing can do no
// more than move sums, which are folded.
void require_summable_by_silos(const PlannedSelection& selection, std::span<const std::int64_t> utilities,
                               int parties) {
  const std::int64_t largest = largest_utility_of_silo(static_cast<std::uint64_t>(std::max(1, parties - 1)));
  if (std::ranges::all_of(utilities, [&](std::int64_t utility) { return utility >= -largest && utility <= largest; })) {
    return;
  }
  throw BadInput(
      fmt::format("selection {}: a sum of utilities is too large for a run among {} silos; scale utilities "
                  "and sensitivity down",
                  selection.name, parties - 1));
}

// Rank r has the widths[r] candidates after those of lower ranks.
void require_part(const PlannedSelection& selection, std::uint64_t first, std::size_t elements,
                  std::span<const std::uint64_t> widths, int rank) {
  const SelectionTerms& terms = selection.terms;
  const auto before = std::accumulate(widths.begin(), widths.begin() + rank, std::uint64_t{0});
  const auto all = std::accumulate(widths.begin(), widths.end(), std::uint64_t{0});
  if (elements % terms.groups == 0 && first == before && all == terms.candidates) return;
  throw UsageError(fmt::format(
      "selection {}: {} utilities from candidate {} on, where {} are next, and {} on all ranks; it takes {} candidates "
      "in each of {} groups",
      selection.name, elements, first, before, all, terms.candidates, terms.groups));
}

void require_utilities(const PlannedSelection& selection, const Statistic& local) {
  require_chosen(selection);
  const std::vector<BlockShape>& shape = local.shape();
  const std::uint64_t expected = selection.terms.groups * selection.terms.candidates;
  if (shape.size() == 1 && shape[0].elements == expected && shape[0].fraction_bits == selection.fraction_bits) return;
  throw UsageError(fmt::format(
      "selection {}: {} blocks of utilities, the first of {} elements; it takes one of {} ({} "
      "candidates in each of {} groups)",
      selection.name, shape.size(), shape[0].elements, expected, selection.terms.candidates, selection.terms.groups));
}

// Stands in for a fingerprint where there must not be one.
std::string nothing_of_the_data() {
  std::array<std::uint64_t, 2> words{};
  secure_bytes(std::as_writable_bytes(std::span(words)));
  return hex_words(words);
}

// Silos that share a seed still draw shares of their own, another in every round.
std::string share_id(int silo, const std::string& round) {
  return fmt::format("silo {}/{}", silo, round);
}

}  // namespace

std::span<const std::uint64_t> Selection::of_group(std::size_t group) const {
  DPREDUCE_ASSERT(group < groups());
  return std::span(chosen_).subspan(group * per_group_, per_group_);
}

Releaser::Releaser(Communicator& ranks) : ranks_(ranks) {}

Releaser::Releaser(Communicator& ranks, NoisePlan plan, RunJournal journal, Charging charging, RunTerms terms,
                   std::optional<NoiseShares> shares)
    : ranks_(ranks), shares_(shares) {
  DPREDUCE_ASSERT(!shares_ || (ranks_.silos() != nullptr && shares_->honest >= 1));
  SiloJob* const silos = ranks_.silos();
  const bool is_silo = silos != nullptr && !ranks_.is_coordinator();
  if (silos != nullptr) {
    const SiloTerms& of_job = silos->terms();
    terms.silos = LedgerSilos{shares_ ? NoiseSource::kDistributed : NoiseSource::kCentral, of_job.silos,
                              of_job.threshold, of_job.colluding};
    terms.silos->is_ephemeral = !silos->roster();
  }
  if (is_silo) {
    terms.silos->left = 0;
    terms.silos->silo = static_cast<std::uint64_t>(ranks_.rank());
    if (shares_) plan = shares_->guaranteed(std::move(plan));
  }
  const std::optional<DataSetBudget> limit = charging.limit;
  run_ = std::make_unique<ChargedRun>(std::move(plan), std::move(journal), std::move(charging), std::move(terms));
  if (is_silo) account_ = std::make_unique<SiloAccount>(*silos, *run_, limit);
  ranks_.together([&] {
    if (ranks_.is_coordinator()) run_->open();
  });
}

// Notes how many silos are left to make the next release, for its charge. On the coordinator.
void Releaser::note_silos() {
  if (ranks_.silos() == nullptr || !ranks_.is_coordinator()) return;
  run_->set_silos_left(ranks_.silos()->coordinator()->left().size());
}

void Releaser::finish() {
  if (account_) return account_->finish();
  if (run_) run_->finish();
}

const LedgerState& Releaser::ledger() const {
  DPREDUCE_ASSERT(run_ != nullptr);
  return run_->ledger();
}

// A fingerprint is one sum more over the silos that are left at that time: where one is lost before the statistic
// itself is summed, the two differ by what that silo has. Nobody resumes a run among silos, so a fingerprint serves
// only a seed there, which protects nothing.
bool Releaser::has_fingerprints() const {
  return ranks_.silos() == nullptr || !run_->has_secret_noise();
}

std::string Releaser::fingerprint(std::string_view name, const Statistic& local) {
  return has_fingerprints() && !shares_ ? run_->fingerprint(ranks_, name, local) : nothing_of_the_data();
}

Release Releaser::release(std::string_view name, Statistic local) {
  if (!run_) return noised_sum(nullptr, {}, std::move(local));
  const PlannedRelease& planned = run_->plan().release(name);
  DPREDUCE_ASSERT(!planned.is_sampled());
  run_->begin(planned);
  const std::string whole = fingerprint(name, local);
  std::string id;
  ranks_.together([&] {
    note_silos();
    if (ranks_.is_coordinator()) id = run_->charge(planned, whole);
  });
  return noised_sum(&planned, id, std::move(local));
}

void Releaser::charge_unmade(std::string_view name) {
  if (!run_) return;
  const PlannedRelease& planned = run_->plan().release(name);
  run_->begin(planned);
  ranks_.together([&] {
    note_silos();
    if (ranks_.is_coordinator() && !run_->has_ended()) run_->charge(planned, hex_words(std::array<std::uint64_t, 2>{}));
  });
  if (account_) account_->charge_unmade();
}

Release Releaser::release_of_sample(std::string_view name, const StatisticOfSample& statistic_of) {
  if (!run_) return noised_sum(nullptr, {}, statistic_of(SecretVector<std::byte>(32)));
  const PlannedRelease& planned = run_->plan().release(name);
  DPREDUCE_ASSERT(planned.is_sampled());
  run_->begin(planned);
  std::vector<std::string> runs;  // whose samples are tried
  ranks_.together([&] {
    if (ranks_.is_coordinator()) runs = run_->runs_with_sample(planned);
  });
  for (std::size_t next = 0;; ++next) {
    const bool is_new = next == runs.size();  // on the coordinator
    std::string run;
    ranks_.together([&] {
      if (ranks_.is_coordinator()) run = is_new ? run_->run_of_new_sample(planned) : runs[next];
    });
    const std::string sample = ranks_.is_coordinator() ? run_->sample_id(planned, run) : std::string();
    Statistic local = statistic_of(run_->shared_secret(ranks_, "row coins", sample));
    const std::string whole = run_->fingerprint(ranks_, name, local);
    std::optional<std::string> id;  // of the noise; none: another sample is tried
    ranks_.together([&] {
      if (!ranks_.is_coordinator()) return;
      id = is_new ? run_->charge_new_sample(planned, whole) : run_->charge_again(planned, run, whole);
    });
    std::array<std::byte, 1> is_settled{std::byte{id.has_value()}};
    ranks_.broadcast(is_settled);
    if (is_settled[0] != std::byte{0}) return noised_sum(&planned, id.value_or(std::string()), std::move(local));
    cleanse(local.words().data(), local.words().size_bytes());
  }
}

// The noise under `id`: this rank's share of it, or its pieces. The first piece of each block is the coordinator's, the
// others are shared by ranks that trust each other, who get the key of their streams and no other.
void Releaser::add_noise_to(Statistic& local, const PlannedRelease& planned, const std::string& id) {
  const bool is_shared = ranks_.silos() == nullptr;
  const bool has_noise = is_shared || ranks_.is_coordinator() != shares_.has_value();
  const std::string noise_id = shares_ ? share_id(ranks_.rank(), run_->label_of_begun(planned)) : id;
  SecretVector<std::byte> secret(32);
  if (has_noise && (ranks_.is_coordinator() || shares_)) run_->stream("noise in pieces", noise_id).fill(secret);
  if (is_shared) ranks_.broadcast(std::span<std::byte>(secret));
  const NoiseKey of_pieces = NoiseKey::from_bytes(std::span<const std::byte, 32>(secret));
  const NoiseStreams streams = [&](const std::string& context, std::size_t piece) {
    if (piece == 0) return run_->stream("noise", context);
    const std::string of_piece = context.substr(noise_id.size());  // the key is of that id, which ranks do not know
    return of_pieces.stream("noise", std::as_bytes(std::span(of_piece)));
  };
  ranks_.together([&] {
    if (!has_noise) return;
    const NoisePieces pieces =
        is_shared ? NoisePieces{static_cast<std::size_t>(ranks_.rank()), static_cast<std::size_t>(ranks_.size())}
                  : NoisePieces{};
    for (const PlannedBlock& block : planned.blocks) {
      add_noise(streams, shares_ ? shares_->share_of(block) : block, noise_id, block.name,
                local.block(local.index_of(block.name)), pieces);
    }
  });
}

// With noise under `id`, where there is a plan.
Release Releaser::noised_sum(const PlannedRelease* planned, const std::string& id, Statistic local) {
  if (planned != nullptr) add_noise_to(local, *planned, id);
  ranks_.sum_to_coordinator(local.words());
  if (account_) account_->close_release();

  std::vector<ReleasedBlock> blocks;
  if (ranks_.is_coordinator()) {
    for (std::size_t b = 0; b < local.shape().size(); ++b) {
      const std::string& block_name = local.shape()[b].name;
      const std::span<std::int64_t> values = local.block(b);
      round_to_units(values, local.shape()[b].fraction_bits);
      blocks.emplace_back(block_name, local.take_block(b),
                          planned == nullptr ? 0.0 : sigma_of_sum(planned->block(block_name)));
    }
  }
  return Release(std::move(blocks));
}

// What the sum that was just made holds of noise: where silos share it, more than planned where none was lost, so that
// what is cleaned of its noise is cleaned of all of it.
double Releaser::sigma_of_sum(const PlannedBlock& block) const {
  if (!shares_) return block.sigma;
  const std::size_t silos = ranks_.silos()->coordinator()->last_summed().size();
  return shares_->share_sigma(block.sigma, block.noise) * std::sqrt(static_cast<double>(silos));
}

Release Releaser::release_of_each_rank(std::string_view name, Statistic local) {
  const PlannedRelease* const planned = run_ ? &run_->plan().release(name) : nullptr;
  std::optional<NoiseKey> secret;
  if (run_) {
    DPREDUCE_ASSERT(!planned->is_sampled());
    run_->begin(*planned);
    std::array<std::uint64_t, 4> fingerprints = run_->fingerprint_of_rank(ranks_, name, local);
    ranks_.sum_to_coordinator(fingerprints);
    std::string id;
    ranks_.together([&] {
      if (ranks_.is_coordinator()) id = run_->charge(*planned, hex_words(fingerprints));
    });
    secret.emplace(
        NoiseKey::from_bytes(std::span<const std::byte, 32>(run_->shared_secret(ranks_, "noise of ranks", id))));
  }
  std::vector<ReleasedBlock> blocks;
  ranks_.together([&] {
    const auto stream_of = [&](const std::string& context, std::size_t) {
      return secret->stream("noise", std::as_bytes(std::span(context)));
    };
    for (std::size_t b = 0; b < local.shape().size(); ++b) {
      const std::string& block = local.shape()[b].name;
      const std::span<std::int64_t> values = local.block(b);
      if (planned != nullptr) {
        add_noise(stream_of, planned->block(block), block, fmt::format("{}", ranks_.rank()), values);
      }
      round_to_units(values, local.shape()[b].fraction_bits);
      blocks.emplace_back(block, local.take_block(b), planned == nullptr ? 0.0 : planned->block(block).sigma);
    }
  });
  return Release(std::move(blocks));
}

void Releaser::skip_release(std::string_view name) {
  if (run_) run_->begin(run_->plan().release(name));
}

void Releaser::require_charged(std::span<const std::string> labels) {
  DPREDUCE_ASSERT(run_ != nullptr);
  run_->require_charged(labels);
}

const std::string& Releaser::run_id() const {
  DPREDUCE_ASSERT(run_ != nullptr);
  return run_->run_id();
}

void Releaser::require_same_rows(std::span<const std::uint64_t> digest) {
  DPREDUCE_ASSERT(run_ != nullptr);
  run_->require_same_rows(digest);
}

SecretVector<std::byte> Releaser::row_secret(std::string_view name) {
  if (!run_) return SecretVector<std::byte>(32);
  return run_->shared_secret(ranks_, "row digest key", std::string(name));
}

PartRelease Releaser::release_in_parts(std::string_view name, std::span<std::uint64_t> digest) {
  if (!run_) return PartRelease(ranks_);
  const PlannedRelease& planned = run_->plan().release(name);
  run_->begin(planned);
  const bool is_bound = has_fingerprints() && !shares_;
  if (is_bound) ranks_.sum_to_coordinator(digest);
  std::string id;
  ranks_.together([&] {
    if (!ranks_.is_coordinator()) return;
    note_silos();
    id = run_->charge(planned, is_bound ? hex_words(digest) : nothing_of_the_data());
  });
  if (shares_) {
    SecretVector<std::byte> own(32);
    run_->stream("noise of parts", share_id(ranks_.rank(), run_->label_of_begun(planned))).fill(own);
    return PartRelease(ranks_, planned, NoiseKey::from_bytes(std::span<const std::byte, 32>(own)), *shares_);
  }
  // A rank that owns no part draws no noise, and must not get its secret.
  SecretVector<std::byte> secret(32);
  if (ranks_.owners() > 1) {
    secret = run_->shared_secret(ranks_, "noise of parts", id);
  } else if (ranks_.is_coordinator()) {
    run_->stream("noise of parts", id).fill(secret);
  }
  return PartRelease(ranks_, planned, NoiseKey::from_bytes(std::span<const std::byte, 32>(secret)));
}

void Releaser::begin(const PlannedSelection& selection) {
  if (!run_) return;
  DPREDUCE_ASSERT(run_->plan().selection(selection.name) == selection);
  run_->begin(selection);
}

// On the coordinator.
ChoiceOfGroup Releaser::charge(const PlannedSelection& selection, const std::string& fingerprint) {
  const std::uint64_t wanted = selection.terms.chosen;
  if (!run_) return [wanted](std::uint64_t, auto utilities) { return best_candidates(utilities, wanted); };
  note_silos();
  const std::string id = run_->charge(selection, fingerprint);
  const UtilitySums sums = ranks_.silos() == nullptr ? UtilitySums::kOfTrustedRanks : UtilitySums::kOfSilos;
  const auto sampler = std::make_shared<const SelectionSampler>(selection.terms, run_->plan().adjacency, sums);
  return [this, id, sampler](std::uint64_t group, std::span<const std::int64_t> utilities) {
    RandomStream stream = run_->stream("selection", fmt::format("{}/{}", id, group));
    return sampler->draw(stream, utilities);
  };
}

// The coordinator's choice, known to every rank.
Selection Releaser::shared(const PlannedSelection& selection, std::vector<std::uint64_t> chosen) {
  chosen.resize(selection.terms.groups * selection.terms.chosen);
  ranks_.broadcast(std::as_writable_bytes(std::span(chosen)));
  const bool are_candidates = std::all_of(chosen.begin(), chosen.end(),
                                          [&](std::uint64_t index) { return index < selection.terms.candidates; });
  if (!are_candidates) {  // silos need not trust their coordinator
    throw AggregationAborted(fmt::format("selection {}: the coordinator names a candidate that is none of the {}",
                                         selection.name, selection.terms.candidates));
  }
  return {std::move(chosen), selection.terms.chosen};
}

Selection Releaser::select(const PlannedSelection& selection, Statistic local) {
  const bool is_of_silos = ranks_.silos() != nullptr;
  ranks_.together([&] {
    require_utilities(selection, local);
    if (is_of_silos) require_summable_by_silos(selection, local.block(0), ranks_.size());
    begin(selection);
  });
  UtilityRange range{};
  if (!is_of_silos) {
    range = utility_range(local.block(0));
    ranks_.sum_to_coordinator(range);
  }
  std::string whole;
  if (run_) whole = has_fingerprints() ? run_->fingerprint(ranks_, selection.name, local) : nothing_of_the_data();
  ChoiceOfGroup choice_of;
  ranks_.together([&] {
    if (!ranks_.is_coordinator()) return;
    if (!sums_cannot_wrap(range)) {
      throw BadInput(
          fmt::format("selection {}: sums of utilities over ranks may not fit into 64 bits; scale utilities "
                      "and sensitivity down",
                      selection.name));
    }
    choice_of = charge(selection, whole);
  });

  ranks_.sum_to_coordinator(local.words());
  if (account_) account_->close_release();
  std::vector<std::uint64_t> chosen;
  ranks_.together([&] {
    if (!ranks_.is_coordinator()) return;
    const std::uint64_t candidates = selection.terms.candidates;
    // A unit adds to a sum between 0 and a whole number, the sensitivity: so it does to the sum rounded down.
    for (std::int64_t& utility : local.block(0)) {
      if (is_of_silos) utility = folded(utility);
      utility >>= selection.fraction_bits;
    }
    for (std::uint64_t group = 0; group < selection.terms.groups; ++group) {
      const auto choice = choice_of(group, local.block(0).subspan(group * candidates, candidates));
      chosen.insert(chosen.end(), choice.begin(), choice.end());
    }
  });
  cleanse(local.words().data(), local.words().size_bytes());
  return shared(selection, std::move(chosen));
}

Selection Releaser::select_from_parts(const PlannedSelection& selection, std::uint64_t first,
                                      SecretVector<std::int64_t> utilities) {
  const SelectionTerms& terms = selection.terms;
  std::vector<std::uint64_t> widths(static_cast<std::size_t>(ranks_.size()), 0);
  widths[static_cast<std::size_t>(ranks_.rank())] = utilities.size() / terms.groups;
  ranks_.sum_everywhere(widths);
  ranks_.together([&] {
    require_chosen(selection);
    require_part(selection, first, utilities.size(), widths, ranks_.rank());
    begin(selection);
  });
  std::string whole;
  if (run_) {
    whole = run_->fingerprint(ranks_, selection.name, [&](RandomStream& coefficients) {
      return fingerprint_part_of_columns(utilities, terms.groups, first, terms.candidates, coefficients);
    });
  }
  ChoiceOfGroup choice_of;
  ranks_.together([&] {
    if (ranks_.is_coordinator()) choice_of = charge(selection, whole);
  });

  const std::uint64_t width = utilities.size() / terms.groups;
  SecretVector<std::int64_t> of_group(ranks_.is_coordinator() && ranks_.size() > 1 ? terms.candidates : 0);
  std::vector<std::uint64_t> chosen;
  for (std::uint64_t group = 0; group < terms.groups; ++group) {
    const std::span<const std::int64_t> part = std::span(utilities).subspan(group * width, width);
    if (ranks_.size() > 1) ranks_.gather_to_coordinator(part, of_group);
    ranks_.together([&] {
      if (!ranks_.is_coordinator()) return;
      const auto choice = choice_of(group, ranks_.size() > 1 ? std::span<const std::int64_t>(of_group) : part);
      chosen.insert(chosen.end(), choice.begin(), choice.end());
    });
  }
  return shared(selection, std::move(chosen));
}

}  // namespace dpreduce
