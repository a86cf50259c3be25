#include "aggregator/release/release.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <exception>
#include <numeric>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregator/release/selection_sampler.hpp"
#include "common/base/error.hpp"
#include "common/ranks/silo_job.hpp"

namespace dpreduce {
namespace {

NamedViews views_of(std::span<const ReleasedBlock> blocks) {
  NamedViews views;
  for (const ReleasedBlock& block : blocks) views.emplace_back(block.name(), block.values());
  return views;
}

constexpr const char* kDecision = "decision";  // of a decision's: the bits of its number

// Parties that share a seed still draw noise of their own, another in every round.
std::string label_of_party(int party, const std::string& round) {
  return fmt::format("party {}/{}", party, round);
}

}  // namespace

Releaser::Releaser(Communicator& ranks, NoisePlan plan, RunFile file, Charging charging, RunTerms terms,
                   std::optional<NoiseShares> shares)
    : ranks_(ranks), shares_(shares) {
  DPREDUCE_ASSERT(!shares_ || (ranks_.silos() != nullptr && shares_->honest >= 1));
  SiloJob* const silos = ranks_.silos();
  const bool is_silo = silos != nullptr && !ranks_.is_coordinator();
  if (silos != nullptr) {
    const SiloTerms& of_job = silos->entry().terms;
    terms.silos = LedgerSilos{shares_ ? NoiseSource::kDistributed : NoiseSource::kCentral, of_job.silos,
                              of_job.threshold, of_job.colluding};
    terms.silos->is_ephemeral = !silos->entry().roster;
  }
  if (is_silo) {
    terms.silos->left = 0;
    terms.silos->silo = static_cast<std::uint64_t>(ranks_.rank());
    if (shares_) plan = shares_->guaranteed(std::move(plan));
  }
  run_ = std::make_unique<ChargedRun>(std::move(plan), std::move(file), std::move(charging), std::move(terms));
  if (is_silo) account_ = std::make_unique<SiloAccount>(*silos, *run_);
  ranks_.at_coordinator([&] { run_->open(); });
  if (silos != nullptr) return;  // such a run goes on from no other
  std::array<std::uint64_t, 1> saved{run_->saved()};
  ranks_.broadcast(std::as_writable_bytes(std::span(saved)));
  saved_left_ = saved[0];
  std::istringstream labels(ranks_.trusted().broadcast(fmt::format("{}", fmt::join(run_->lost(), "\n"))));
  for (std::string label; std::getline(labels, label);) lost_.push_back(label);
}

void Releaser::finish() {
  if (account_) return account_->finish();
  if (run_) run_->finish();
}

ReleaseKey Releaser::key_of_begun() const {
  const std::string& label = run_->label_of_begun();
  return {run_->seed(), shares_ ? label_of_party(ranks_.rank(), label) : label};
}

// Counts the next record, where there is one.
bool Releaser::begin_saved() {
  if (saved_left_ == 0) return false;
  --saved_left_;
  return true;
}

std::optional<NamedIntegers> Releaser::saved(std::string_view name) {
  if (!begin_saved()) return std::nullopt;
  run_->begin(run_->plan().release(name));
  NamedIntegers blocks;
  ranks_.at_coordinator([&] { blocks = run_->take_saved(run_->label_of_begun()); });
  return blocks;
}

Release Releaser::release_of(std::string_view name, NamedIntegers saved) const {
  std::vector<ReleasedBlock> blocks;
  for (auto& [block, values] : saved) {
    const PlannedBlock* const planned = run_ ? &run_->plan().release(name).block(block) : nullptr;
    DPREDUCE_ASSERT(planned == nullptr || values.size() == planned->elements);
    const double sigma = planned == nullptr ? 0.0 : shares_ ? sigmas_of_shares_.at(block) : planned->sigma;
    blocks.emplace_back(block, std::move(values), sigma);
  }
  return Release(std::move(blocks));
}

double Releaser::decision(const std::string& name, const std::function<double()>& decide) {
  const bool is_saved = begin_saved();
  const std::string label = name + " decision";
  std::array<double, 1> decided{};
  ranks_.at_coordinator([&] {
    if (is_saved) {
      decided[0] = std::bit_cast<double>(run_->take_saved(label).front().second.at(0));
      return;
    }
    decided[0] = decide();
    const std::array bits{std::bit_cast<std::int64_t>(decided[0])};
    if (run_) run_->save_decision(label, {{kDecision, bits}});
  });
  ranks_.broadcast(decided);
  return decided[0];
}

// Makes what was begun: reserved before its first noise, charged after its last, whatever ends `make`, and saved, with
// room that was there before, ahead of whoever looks at it. Among silos the charge comes before the masks, and nothing
// is saved. Collective.
void Releaser::charged(std::uint64_t integers, const std::function<void()>& make,
                       const std::function<NamedViews()>& record) {
  if (!run_) return make();
  const bool are_silos = ranks_.silos() != nullptr;
  ranks_.at_coordinator([&] {
    if (are_silos) run_->set_silos_left(ranks_.silos()->coordinator()->left().size());
    run_->reserve();
    if (are_silos) run_->charge();
    if (!are_silos) run_->make_room(integers);
  });
  if (are_silos) {
    make();
    if (account_) account_->close_release();
    return;
  }
  try {
    make();
  } catch (...) {
    charge_after_error();
    throw;
  }
  ranks_.at_coordinator([&] {
    const std::string line = run_->charge();
    run_->save(line, record());
  });
}

// Charges first: a failure may follow from a value that nobody has paid for, so no rank reports it before the charge is
// there.
void Releaser::charge_after_error() {
  std::exception_ptr uncharged;
  try {
    if (ranks_.is_coordinator()) run_->charge();
  } catch (...) {
    uncharged = std::current_exception();
  }
  try {
    if (ranks_.failure_agreed()) ranks_.max_everywhere(0.0);
  } catch (const Error&) {  // a rank is lost: the launcher ends the others
  }
  if (uncharged) std::rethrow_exception(uncharged);
}

Release Releaser::release(std::string_view name, Statistic local) {
  const PlannedRelease* const planned = run_ ? &run_->plan().release(name) : nullptr;
  if (planned != nullptr) {
    run_->begin(*planned);
    DPREDUCE_ASSERT(!planned->is_sampled() || sampled_ == run_->label_of_begun());
  }
  std::vector<ReleasedBlock> blocks;
  charged(
      local.words().size(), [&] { blocks = noised_sum(planned, std::move(local)); }, [&] { return views_of(blocks); });
  return Release(std::move(blocks));
}

void Releaser::charge_unmade(std::string_view name) {
  if (!run_ || saved(name)) return;
  run_->begin(run_->plan().release(name));
  charged(
      0, [] {}, [] { return NamedViews{}; });
  if (account_) account_->charge_unmade();
}

SecretVector<std::byte> Releaser::sample_secret(std::string_view name) {
  SecretVector<std::byte> secret(32);
  if (!run_) return secret;
  const PlannedRelease& planned = run_->plan().release(name);
  DPREDUCE_ASSERT(planned.is_sampled());
  sampled_ = run_->next_label(planned);
  if (ranks_.is_coordinator()) ReleaseKey(run_->seed(), sampled_).stream("row coins").fill(secret);
  ranks_.broadcast(std::span<std::byte>(secret));
  return secret;
}

// This rank's share of the noise, or its pieces. Ranks that trust each other share the pieces of each block.
void Releaser::add_noise_to(Statistic& local, const PlannedRelease& planned) {
  const bool is_shared = ranks_.silos() == nullptr;
  const bool has_noise = is_shared || ranks_.is_coordinator() != shares_.has_value();
  if (!has_noise) return;
  ReleaseKey key = key_of_begun();
  const NoisePieces pieces =
      is_shared ? NoisePieces{static_cast<std::size_t>(ranks_.rank()), static_cast<std::size_t>(ranks_.size())}
                : NoisePieces{};
  for (const PlannedBlock& block : planned.blocks) {
    add_noise(key, shares_ ? shares_->share_of(block) : block, "whole", local.block(local.index_of(block.name)),
              pieces);
  }
}

// Without noise where there is no plan.
std::vector<ReleasedBlock> Releaser::noised_sum(const PlannedRelease* planned, Statistic local) {
  ranks_.together([&] {
    if (planned != nullptr) add_noise_to(local, *planned);
  });
  ranks_.sum_to_coordinator(local.words());
  std::vector<ReleasedBlock> blocks;
  if (!ranks_.is_coordinator()) return blocks;
  for (std::size_t b = 0; b < local.shape().size(); ++b) {
    const std::string& name = local.shape()[b].name;
    round_to_units(local.block(b), local.shape()[b].fraction_bits);
    blocks.emplace_back(name, local.take_block(b),
                        planned == nullptr ? 0.0 : sigma_of_sum(planned->block(name), shares_, ranks_));
  }
  return blocks;
}

Release Releaser::release_of_each_rank(std::string_view name, Statistic local) {
  const PlannedRelease* const planned = run_ ? &run_->plan().release(name) : nullptr;
  if (planned != nullptr) run_->begin(*planned);
  std::vector<ReleasedBlock> blocks;
  ranks_.together([&] {
    if (planned != nullptr && ranks_.is_coordinator()) run_->charge();
  });
  ranks_.together([&] {
    std::optional<ReleaseKey> key;
    if (planned != nullptr) key.emplace(run_->seed(), label_of_party(ranks_.rank(), run_->label_of_begun()));
    for (std::size_t b = 0; b < local.shape().size(); ++b) {
      const std::string& block = local.shape()[b].name;
      const std::span<std::int64_t> values = local.block(b);
      if (planned != nullptr) add_noise(*key, planned->block(block), "own", values);
      round_to_units(values, local.shape()[b].fraction_bits);
      blocks.emplace_back(block, local.take_block(b), planned == nullptr ? 0.0 : planned->block(block).sigma);
    }
  });
  return Release(std::move(blocks));
}

NamedIntegers Releaser::release_in_parts(std::string_view name, std::uint64_t integers,
                                         const std::function<NamedIntegers(PartRelease&)>& make) {
  std::optional<PartRelease> parts;
  NamedIntegers made;
  if (run_) run_->begin(run_->plan().release(name));
  const auto make_parts = [&] {
    ranks_.together([&] {
      if (!run_) return static_cast<void>(parts.emplace(ranks_));
      parts.emplace(ranks_, run_->plan().release(name), key_of_begun(), shares_);
    });
    made = make(*parts);
    if (shares_) sigmas_of_shares_ = parts->sigmas();
  };
  charged(integers, make_parts, [&] {
    NamedViews views;
    for (const auto& [block, values] : made) views.emplace_back(block, values);
    return views;
  });
  return made;
}

namespace {

constexpr const char* kChosen = "chosen";  // the block of a selection's record

bool can_choose(const SelectionTerms& terms) {
  return terms.chosen >= 1 && terms.chosen <= terms.candidates;
}

// Throws unless sums of such utilities over silos stay within 64 bits; nobody learns how large they are. A silo that
// does not keep to this can do no more than move sums, which are folded.
void require_summable_by_silos(const PlannedSelection& selection, std::span<const std::int64_t> utilities,
                               int parties) {
  const std::int64_t largest = largest_utility_of_silo(static_cast<std::uint64_t>(std::max(1, parties - 1)));
  if (std::ranges::all_of(utilities, [&](std::int64_t utility) { return utility >= -largest && utility <= largest; })) {
    return;
  }
  throw BadInput(
      "selection {}: a sum of utilities is too large for a run among {} silos; scale utilities "
      "and sensitivity down",
      selection.name, parties - 1);
}

// Returns whether this is one block of the utilities of all groups.
bool has_shape_of(const Statistic& local, const PlannedSelection& selection) {
  const std::vector<BlockShape>& shape = local.shape();
  return shape.size() == 1 && shape[0].elements == selection.terms.groups * selection.terms.candidates &&
         shape[0].fraction_bits == selection.fraction_bits;
}

}  // namespace

std::span<const std::uint64_t> Selection::of_group(std::size_t group) const {
  DPREDUCE_ASSERT(group < groups());
  return std::span(chosen_).subspan(group * per_group_, per_group_);
}

std::optional<Selection> Releaser::saved(const PlannedSelection& selection) {
  if (!run_ || !begin_saved()) return std::nullopt;
  run_->begin(selection);
  std::vector<std::uint64_t> chosen;
  ranks_.at_coordinator([&] {
    const NamedIntegers blocks = run_->take_saved(run_->label_of_begun());
    chosen.assign(blocks.front().second.begin(), blocks.front().second.end());
  });
  return shared(selection, std::move(chosen));
}

// The coordinator's choice, known to every rank.
Selection Releaser::shared(const PlannedSelection& selection, std::vector<std::uint64_t> chosen) {
  chosen.resize(selection.terms.groups * selection.terms.chosen);
  ranks_.broadcast(std::as_writable_bytes(std::span(chosen)));
  const auto is_candidate = [&](std::uint64_t index) { return index < selection.terms.candidates; };
  if (!std::ranges::all_of(chosen, is_candidate)) {  // silos need not trust their coordinator
    throw AggregationAborted("selection {}: the coordinator names a candidate outside the {}", selection.name,
                             selection.terms.candidates);
  }
  return {std::move(chosen), selection.terms.chosen};
}

// A choice of all groups: `make` calls its argument with each at the coordinator. Collective.
Selection Releaser::choose(const PlannedSelection& selection, const std::function<void(const ChooseInGroup&)>& make) {
  if (run_) {
    DPREDUCE_ASSERT(run_->plan().selection(selection.name) == selection);
    run_->begin(selection);
  }
  const UtilitySums sums = ranks_.silos() == nullptr ? UtilitySums::kOfTrustedRanks : UtilitySums::kOfSilos;
  std::optional<SelectionSampler> sampler;
  std::optional<ReleaseKey> key;  // drawn when the sums are there
  const auto choice = [&](std::uint64_t group, std::span<const std::int64_t> utilities) {
    if (!run_) return best_candidates(utilities, selection.terms.chosen);
    if (!sampler) sampler.emplace(selection.terms, run_->plan().adjacency, sums);
    if (!key) key.emplace(key_of_begun());
    RandomStream stream = key->stream(fmt::format("group {}", group));
    return sampler->draw(stream, utilities);
  };
  std::vector<std::int64_t> chosen;
  const ChooseInGroup choose_in = [&](std::uint64_t group, std::span<const std::int64_t> utilities) {
    for (const std::uint64_t index : choice(group, utilities)) chosen.push_back(static_cast<std::int64_t>(index));
  };
  charged(
      selection.terms.groups * selection.terms.chosen, [&] { make(choose_in); },
      [&] {
        return NamedViews{{kChosen, chosen}};
      });
  return shared(selection, {chosen.begin(), chosen.end()});
}

Selection Releaser::select(const PlannedSelection& selection, Statistic local) {
  const bool is_of_silos = ranks_.silos() != nullptr;
  ranks_.together([&] {
    DPREDUCE_ASSERT(can_choose(selection.terms) && has_shape_of(local, selection));
    if (is_of_silos) require_summable_by_silos(selection, local.block(0), ranks_.size());
  });
  if (!is_of_silos) {
    UtilityRange range = utility_range(local.block(0));
    ranks_.sum_to_coordinator(range);
    ranks_.together([&] {
      if (!ranks_.is_coordinator() || sums_cannot_wrap(range)) return;
      throw BadInput(
          "selection {}: sums of utilities over ranks may not fit into 64 bits; scale utilities and "
          "sensitivity down",
          selection.name);
    });
  }
  Selection selected = choose(selection, [&](const ChooseInGroup& choose_in) {
    ranks_.sum_to_coordinator(local.words());
    ranks_.at_coordinator([&] {
      // A unit adds to a sum between 0 and a whole number, the sensitivity: so it does to the sum rounded down.
      for (std::int64_t& utility : local.block(0)) {
        if (is_of_silos) utility = folded(utility);
        utility >>= selection.fraction_bits;
      }
      const std::uint64_t candidates = selection.terms.candidates;
      for (std::uint64_t group = 0; group < selection.terms.groups; ++group) {
        choose_in(group, local.block(0).subspan(group * candidates, candidates));
      }
    });
  });
  cleanse(local.words().data(), local.words().size_bytes());
  return selected;
}

Selection Releaser::select_from_parts(const PlannedSelection& selection, std::uint64_t first,
                                      SecretVector<std::int64_t> utilities) {
  const SelectionTerms& terms = selection.terms;
  std::vector<std::uint64_t> widths(static_cast<std::size_t>(ranks_.size()), 0);
  widths[static_cast<std::size_t>(ranks_.rank())] = utilities.size() / terms.groups;
  ranks_.sum_everywhere(widths);
  ranks_.together([&] {  // a rank has the candidates after those of lower ranks
    const auto before = std::accumulate(widths.begin(), widths.begin() + ranks_.rank(), std::uint64_t{0});
    const auto all = std::accumulate(widths.begin(), widths.end(), std::uint64_t{0});
    DPREDUCE_ASSERT(can_choose(terms) && utilities.size() % terms.groups == 0 && first == before &&
                    all == terms.candidates);
  });
  const std::uint64_t width = utilities.size() / terms.groups;
  SecretVector<std::int64_t> of_group(ranks_.is_coordinator() && ranks_.size() > 1 ? terms.candidates : 0);
  return choose(selection, [&](const ChooseInGroup& choose_in) {
    for (std::uint64_t group = 0; group < terms.groups; ++group) {
      const std::span<const std::int64_t> part = std::span(utilities).subspan(group * width, width);
      if (ranks_.size() > 1) {
        ranks_.gather_to_coordinator(std::as_bytes(part), std::as_writable_bytes(std::span(of_group)));
      }
      ranks_.at_coordinator(
          [&] { choose_in(group, ranks_.size() > 1 ? std::span<const std::int64_t>(of_group) : part); });
    }
  });
}

}  // namespace dpreduce
