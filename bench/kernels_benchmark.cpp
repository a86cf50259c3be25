// Speed of the exact integer products, in useful multiply-adds a second: n d (d + 1) / 2 for a Gram, n p q else.
//
//     kernels_benchmark --benchmark_filter='gram/avx512-vnni'
//
// Rows are unit-norm lattice rows in gaussian directions, as training sees them; gram_hot gives one column a tenth of
// every row's energy. blas_ssyrk is the float32 Gram of the BLAS that is linked, on as many threads as its own
// environment variables say. peak is what avx512-vnni is measured against: its instruction on registers alone.
// read_bandwidth is what class_sums is measured against.
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "common/base/huge_pages.hpp"
#include "common/kernels/class_sums.hpp"
#include "common/kernels/integer_kernel.hpp"

#ifdef DPREDUCE_BENCH_BLAS
extern "C" void ssyrk_(const char* uplo, const char* trans, const int* n, const int* k, const float* alpha,
                       const float* a, const int* lda, const float* beta, float* c, const int* ldc);
#endif

namespace dpreduce {
namespace {

enum class Rows { kGaussian, kHotColumn };

LargeVector<std::int16_t> lattice_rows(std::size_t n, std::size_t d, Rows kind) {
  std::mt19937_64 bits(7);
  std::normal_distribution<float> gaussian;
  LargeVector<std::int16_t> values(n * d);
  std::vector<float> row(d);
  for (std::size_t index = 0; index < n; ++index) {
    double energy = 0.0;
    for (float& value : row) value = gaussian(bits);
    if (kind == Rows::kHotColumn) row[d / 2] = std::sqrt(0.1F * static_cast<float>(d));
    for (const float value : row) energy += static_cast<double>(value) * value;
    const double scale = (32767.0 - std::ceil(std::sqrt(static_cast<double>(d)) / 2)) / std::sqrt(energy);
    for (std::size_t a = 0; a < d; ++a) values[index * d + a] = static_cast<std::int16_t>(std::lround(row[a] * scale));
  }
  return values;
}

void report_rate(benchmark::State& state, double multiply_adds) {
  state.counters["GMAC/s"] = benchmark::Counter(multiply_adds * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

void gram(benchmark::State& state, const IntegerKernel& kernel, std::size_t n, std::size_t d, unsigned threads,
          Rows kind) {
  const LargeVector<std::int16_t> x = lattice_rows(n, d, kind);
  LargeVector<std::int64_t> c(d * d);
  for (auto _ : state) {
    kernel.accumulate_gram({x.data(), n, d, d}, {c.data(), d, d, d}, threads);
    benchmark::ClobberMemory();
  }
  report_rate(state, static_cast<double>(n) * static_cast<double>(d) * static_cast<double>(d + 1) / 2);
}

#if defined(__x86_64__)
// 24 sums that do not wait for each other, as many as a tile has.
__attribute__((target("avx512f"))) void peak(benchmark::State& state) {
  constexpr std::int64_t kLoops = 1 << 15;
  for (auto _ : state) {
    std::int64_t loops = kLoops;
    asm volatile(
        "1:\n\t"
        ".irp sum, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23\n\t"
        "vpdpwssd %%zmm30, %%zmm31, %%zmm\\sum\n\t"
        ".endr\n\t"
        "dec %0\n\t"
        "jnz 1b"
        : "+r"(loops)
        :
        : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
          "xmm12", "xmm13", "xmm14", "xmm15", "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23",
          "xmm30", "xmm31");
  }
  report_rate(state, static_cast<double>(kLoops) * 24 * 32);
}
#endif

// R^T Q, the gradient of a round: n x classes by n x d.
void gradient(benchmark::State& state, const IntegerKernel& kernel, std::size_t n, std::size_t classes, std::size_t d,
              unsigned threads) {
  const LargeVector<std::int16_t> r = lattice_rows(n, classes, Rows::kGaussian);
  const LargeVector<std::int16_t> q = lattice_rows(n, d, Rows::kGaussian);
  LargeVector<std::int64_t> c(classes * d);
  for (auto _ : state) {
    kernel.accumulate_product({r.data(), n, classes, classes}, {q.data(), n, d, d}, {c.data(), classes, d, d}, threads);
    benchmark::ClobberMemory();
  }
  report_rate(state, static_cast<double>(n) * static_cast<double>(classes) * static_cast<double>(d));
}

// Q W^T, the logits of a round: n x d by classes x d.
void logits(benchmark::State& state, const IntegerKernel& kernel, std::size_t n, std::size_t classes, std::size_t d,
            unsigned threads) {
  const LargeVector<std::int16_t> q = lattice_rows(n, d, Rows::kGaussian);
  const LargeVector<std::int16_t> w = lattice_rows(classes, d, Rows::kGaussian);
  LargeVector<std::int64_t> c(n * classes);
  for (auto _ : state) {
    kernel.accumulate_row_products({q.data(), n, d, d}, {w.data(), classes, d, d}, {c.data(), n, classes, classes},
                                   threads);
    benchmark::ClobberMemory();
  }
  report_rate(state, static_cast<double>(n) * static_cast<double>(classes) * static_cast<double>(d));
}

void class_sums(benchmark::State& state, std::size_t n, std::size_t classes, std::size_t d, unsigned threads) {
  const LargeVector<std::int16_t> x(n * d, 3);
  std::vector<std::int32_t> labels(n);
  std::mt19937 bits(11);
  for (std::int32_t& label : labels) label = static_cast<std::int32_t>(bits() % classes);
  std::vector<std::int64_t> sums(classes * d);
  for (auto _ : state) {
    accumulate_class_sums({x.data(), n, d, d}, labels, {sums.data(), classes, d, d}, threads);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(n * d * sizeof(std::int16_t)));
}

// The bandwidth that class_sums is measured against: one pass that only reads.
void read_bandwidth(benchmark::State& state, std::size_t bytes) {
  const std::vector<std::int64_t> values(bytes / sizeof(std::int64_t), 1);
  for (auto _ : state) {
    std::int64_t sum = 0;
    for (const std::int64_t value : values) sum ^= value;
    benchmark::DoNotOptimize(sum);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(bytes));
}

#ifdef DPREDUCE_BENCH_BLAS
void blas_ssyrk(benchmark::State& state, std::size_t n, std::size_t d) {
  const LargeVector<std::int16_t> x = lattice_rows(n, d, Rows::kGaussian);
  const std::vector<float> a(x.begin(), x.end());
  std::vector<float> c(d * d);
  const int order = static_cast<int>(d);
  const int depth = static_cast<int>(n);
  const float one = 1.0F;
  const float zero = 0.0F;
  for (auto _ : state) {
    ssyrk_("L", "N", &order, &depth, &one, a.data(), &order, &zero, c.data(), &order);
    benchmark::ClobberMemory();
  }
  report_rate(state, static_cast<double>(n) * static_cast<double>(d) * static_cast<double>(d + 1) / 2);
}
#endif

template <typename Function, typename... Arguments>
void add(const std::string& name, Function function, Arguments... arguments) {
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { function(state, arguments...); })
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

std::string shape(std::size_t n, std::size_t d, unsigned threads) {
  return std::to_string(n) + "x" + std::to_string(d) + "/threads:" + std::to_string(threads);
}

void add_all() {
  for (const IntegerKernel& kernel : supported_kernels()) {
    const std::string name(kernel.name());
    const std::size_t n = 8192;
    for (const std::size_t d : {64, 128, 256, 512, 1024, 1664, 2048, 4096}) {
      for (const unsigned threads : {1U, 2U}) {
        add("gram/" + name + "/" + shape(n, d, threads), gram, std::cref(kernel), n, d, threads, Rows::kGaussian);
      }
    }
    add("gram_hot/" + name + "/" + shape(n, 1664, 1), gram, std::cref(kernel), n, 1664, 1U, Rows::kHotColumn);
    add("gram/" + name + "/" + shape(1281, 1664, 1), gram, std::cref(kernel), 1281, 1664, 1U, Rows::kGaussian);
    for (const std::size_t classes : {10, 100, 1000}) {
      const std::string tail = name + "/classes:" + std::to_string(classes) + "/" + shape(4096, 1664, 1);
      add("gradient/" + tail, gradient, std::cref(kernel), 4096, classes, 1664, 1U);
      add("logits/" + tail, logits, std::cref(kernel), 4096, classes, 1664, 1U);
    }
  }
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vnni")) add("peak/avx512-vnni", peak);
#endif
  for (const unsigned threads : {1U, 2U}) {
    for (const std::size_t classes : {10, 1000}) {
      add("class_sums/classes:" + std::to_string(classes) + "/" + shape(131072, 1664, threads), class_sums, 131072,
          classes, 1664, threads);
    }
  }
  add("read_bandwidth/436MB", read_bandwidth, std::size_t{131072} * 1664 * 2);
#ifdef DPREDUCE_BENCH_BLAS
  for (const std::size_t d : {64, 256, 1024, 1664, 2048}) add("blas_ssyrk/" + shape(8192, d, 1), blas_ssyrk, 8192, d);
#endif
}

}  // namespace
}  // namespace dpreduce

int main(int argc, char** argv) {
  dpreduce::add_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
