#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "aggregator/release/release.hpp"
#include "aggregator/release/selection_sampler.hpp"
#include "common/base/error.hpp"
#include "common/ranks/silo_job.hpp"

namespace dpreduce {
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
