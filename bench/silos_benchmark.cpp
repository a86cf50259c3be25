// What a silo pays for a masked statistic: masks, and frames, in bytes of statistic a second on one core.
#include <cstring>
#include <vector>

#include <benchmark/benchmark.h>

#include "common/silos/frame.hpp"
#include "common/silos/mask_stream.hpp"
#include "common/silos/masked_sum.hpp"

namespace dpreduce {
namespace {

void set_rate(benchmark::State& state) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * kWordsPerPiece * sizeof(std::uint64_t)));
}

// One piece under the masks of so many neighbors and its own.
void masks(benchmark::State& state) {
  MaskStreams streams;
  for (std::int64_t mask = 0; mask <= state.range(0); ++mask) {
    streams.add(SecretVector<std::byte>(32, static_cast<std::byte>(mask)), MaskSign::kAdd);
  }
  std::vector<std::uint64_t> piece(kWordsPerPiece, 1);
  for (auto _ : state) {
    streams.apply(0, piece);
    benchmark::DoNotOptimize(piece.data());
  }
  set_rate(state);
}
BENCHMARK(masks)->Arg(1)->Arg(2)->Arg(4)->Arg(7)->Arg(20);

void frames(benchmark::State& state) {
  Channel channel(SecretVector<std::byte>(32, std::byte{1}), {}, 1, 0);
  const std::vector<std::byte> piece(kWordsPerPiece * sizeof(std::uint64_t));
  for (auto _ : state) benchmark::DoNotOptimize(channel.seal(FrameKind::kMasked, 1, piece));
  set_rate(state);
}
BENCHMARK(frames);

}  // namespace
}  // namespace dpreduce

BENCHMARK_MAIN();
