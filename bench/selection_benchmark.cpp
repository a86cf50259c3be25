// Private selections from as many candidates as ImageNet has images.
#include <cfenv>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "common/randomness/exponential_mechanism.hpp"
#include "common/randomness/noise_key.hpp"

namespace {

using namespace dpreduce;

constexpr std::size_t kCandidates = 1'281'167;

// Utilities below 2^30 with a rate of 2^-25: weights from 1 to exp(-32).
std::vector<std::int64_t> utilities_of(std::size_t count) {
  std::mt19937_64 random(1);
  std::vector<std::int64_t> utilities(count);
  for (auto& utility : utilities) utility = static_cast<std::int64_t>(random() >> 34);
  return utilities;
}

constexpr SelectionRate kRate{1, 1, 25};

template <class Select>
void run(benchmark::State& state, std::size_t count, Select select) {
  const auto utilities = utilities_of(count);
  RandomStream stream = NoiseKey::from_seed(1).stream("selection bench", {});
  for (auto _ : state) benchmark::DoNotOptimize(select(stream, utilities));
  state.counters["candidates/s"] =
      benchmark::Counter(static_cast<double>(count * state.iterations()), benchmark::Counter::kIsRate);
  state.counters["s/candidate"] = benchmark::Counter(static_cast<double>(count * state.iterations()),
                                                     benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void exponential(benchmark::State& state) {
  run(state, kCandidates,
      [](RandomStream& stream, const auto& utilities) { return select_exponential(stream, utilities, kRate); });
}
BENCHMARK(exponential)->Unit(benchmark::kMillisecond);

void exponential_weighted(benchmark::State& state) {
  const auto multiplicities = Multiplicities::of_subsets_by_worst(kCandidates, 10);
  run(state, kCandidates, [&](RandomStream& stream, const auto& utilities) {
    return select_exponential(stream, utilities, kRate, &multiplicities);
  });
}
BENCHMARK(exponential_weighted)->Unit(benchmark::kMillisecond);

void exponential_by_integers(benchmark::State& state) {
  std::fesetround(FE_UPWARD);  // by which doubles decide nothing
  run(state, kCandidates / 64,
      [](RandomStream& stream, const auto& utilities) { return select_exponential(stream, utilities, kRate); });
  std::fesetround(FE_TONEAREST);
}
BENCHMARK(exponential_by_integers)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
