#include "common/kernels/energy_segments.hpp"

#include <algorithm>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

// The product of the energies of two whole blocks fits in 64 bits.
constexpr std::uint64_t kMaxBlockUnits = kBlockPairs * ((std::uint64_t{1} << 21) + 1);
static_assert(kMaxBlockUnits < std::uint64_t{1} << 32);

void add_halves(const Segment& part, const EnergyProduct& measured, std::vector<Segment>& segments) {
  if (part.end - part.begin == 1 || measured(part) <= kEnergyLimit) {
    segments.push_back(part);
    return;
  }
  const std::size_t middle = part.begin + (part.end - part.begin) / 2;
  add_halves({part.begin, middle}, measured, segments);
  add_halves({middle, part.end}, measured, segments);
}

}  // namespace

void plan_segments(std::span<const std::uint32_t> energies_a, std::span<const std::uint32_t> energies_b,
                   std::size_t pairs, const EnergyProduct& measured, std::vector<Segment>& segments) {
  const std::size_t stripes = energies_a.size();
  DPREDUCE_ASSERT(pairs <= kBlockPairs && stripes == (pairs + kStripePairs - 1) / kStripePairs);
  DPREDUCE_ASSERT(energies_b.size() == stripes);

  segments.clear();
  std::size_t begin = 0;
  std::uint64_t energy_a = 0;
  std::uint64_t energy_b = 0;
  for (std::size_t stripe = 0; stripe < stripes; ++stripe) {
    const std::size_t stripe_begin = stripe * kStripePairs;
    energy_a += energies_a[stripe];
    energy_b += energies_b[stripe];
    if (energy_a * energy_b <= kEnergyLimit) continue;

    if (begin < stripe_begin) segments.push_back({begin, stripe_begin});
    begin = stripe_begin;
    energy_a = energies_a[stripe];
    energy_b = energies_b[stripe];
    if (energy_a * energy_b <= kEnergyLimit) continue;

    begin = std::min(stripe_begin + kStripePairs, pairs);
    add_halves({stripe_begin, begin}, measured, segments);
    energy_a = 0;
    energy_b = 0;
  }
  if (begin < pairs) segments.push_back({begin, pairs});
}

}  // namespace dpreduce
