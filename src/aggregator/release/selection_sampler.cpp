#include "aggregator/release/selection_sampler.hpp"

#include <algorithm>
#include <numeric>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

// The candidates in falling order of utility, equal ones in the order of their indices.
SecretVector<std::uint64_t> by_rank(std::span<const std::int64_t> utilities) {
  SecretVector<std::uint64_t> candidates(utilities.size());
  std::iota(candidates.begin(), candidates.end(), std::uint64_t{0});
  std::sort(candidates.begin(), candidates.end(), [&](std::uint64_t one, std::uint64_t other) {
    return utilities[one] != utilities[other] ? utilities[one] > utilities[other] : one < other;
  });
  return candidates;
}

// Uniform on 0, ..., bound - 1: words below 2^64 mod bound are drawn again.
std::uint64_t uniform_below(RandomStream& stream, std::uint64_t bound) {
  const std::uint64_t surplus = (std::uint64_t{0} - bound) % bound;
  std::uint64_t word = stream.next_u64();
  while (word < surplus) word = stream.next_u64();
  return word % bound;
}

// A uniform set of `size` of the numbers 0, ..., bound - 1 (Floyd's algorithm: no two equal, size draws).
SecretVector<std::uint64_t> uniform_subset(RandomStream& stream, std::uint64_t bound, std::uint64_t size) {
  SecretVector<std::uint64_t> subset;
  for (std::uint64_t last = bound - size; last < bound; ++last) {
    const std::uint64_t number = uniform_below(stream, last + 1);
    const bool is_taken = std::find(subset.begin(), subset.end(), number) != subset.end();
    subset.push_back(is_taken ? last : number);
  }
  return subset;
}

SelectionRate rate_of(const SelectionTerms& terms, Adjacency adjacency, UtilitySums sums) {
  if (const std::string fault = fault_of(terms); !fault.empty()) throw UsageError("selection: " + fault);
  DPREDUCE_ASSERT(terms.mechanism == SelectionMechanism::kExponential);  // with_selections plans no other
  const bool is_monotone = adjacency == Adjacency::kAddRemove && sums == UtilitySums::kOfTrustedRanks;
  return selection_rate(terms.epsilon, terms.sensitivity, is_monotone ? ScoreChange::kMonotone : ScoreChange::kGeneral);
}

}  // namespace

SelectionSampler::SelectionSampler(const SelectionTerms& terms, Adjacency adjacency, UtilitySums sums)
    : terms_(terms), rate_(rate_of(terms, adjacency, sums)) {
  if (terms.chosen > 1) sets_by_worst_ = Multiplicities::of_subsets_by_worst(terms.candidates, terms.chosen);
}

std::vector<std::uint64_t> SelectionSampler::draw(RandomStream& stream, std::span<const std::int64_t> utilities) const {
  DPREDUCE_ASSERT(utilities.size() == terms_.candidates);
  if (!sets_by_worst_) return {select_exponential(stream, utilities, rate_)};

  const SecretVector<std::uint64_t> candidates = by_rank(utilities);
  SecretVector<std::int64_t> falling(candidates.size());
  for (std::size_t rank = 0; rank < falling.size(); ++rank) falling[rank] = utilities[candidates[rank]];
  const std::uint64_t worst = select_exponential(stream, falling, rate_, &*sets_by_worst_);
  std::vector<std::uint64_t> chosen{candidates[worst]};
  for (const std::uint64_t rank : uniform_subset(stream, worst, terms_.chosen - 1)) chosen.push_back(candidates[rank]);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::vector<std::uint64_t> best_candidates(std::span<const std::int64_t> utilities, std::uint64_t chosen) {
  DPREDUCE_ASSERT(chosen <= utilities.size());
  const SecretVector<std::uint64_t> candidates = by_rank(utilities);
  std::vector<std::uint64_t> best(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(chosen));
  std::sort(best.begin(), best.end());
  return best;
}

namespace {

constexpr std::uint64_t kLowHalf = (std::uint64_t{1} << 32) - 1;

// low + high 2^32 <= most, for digits that need not be below 2^32.
bool is_at_most(std::uint64_t low, std::uint64_t high, std::uint64_t most) {
  high += low >> 32;
  return high <= (most >> 32) && (high << 32) + (low & kLowHalf) <= most;
}

}  // namespace

std::int64_t folded(std::int64_t sum) {
  constexpr std::uint64_t kTurn = std::uint64_t{1} << 63;
  constexpr std::int64_t kLargest = std::int64_t{1} << 62;
  if (sum >= -kLargest && sum <= kLargest) return sum;
  return static_cast<std::int64_t>(kTurn - static_cast<std::uint64_t>(sum));  // mod 2^64: -2^63 is 2^63
}

UtilityRange utility_range(std::span<const std::int64_t> local) {
  std::int64_t most = 0;
  std::int64_t least = 0;
  for (const std::int64_t utility : local) {
    most = std::max(most, utility);
    least = std::min(least, utility);
  }
  const auto above = static_cast<std::uint64_t>(most);
  const std::uint64_t below = std::uint64_t{0} - static_cast<std::uint64_t>(least);
  return {above & kLowHalf, above >> 32, below & kLowHalf, below >> 32};
}

bool sums_cannot_wrap(const UtilityRange& summed) {
  constexpr std::uint64_t kBound = std::uint64_t{1} << 63;
  return is_at_most(summed[0], summed[1], kBound - 1) && is_at_most(summed[2], summed[3], kBound);
}

}  // namespace dpreduce
