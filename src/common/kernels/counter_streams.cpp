#include "common/kernels/counter_streams.hpp"

#include "common/base/error.hpp"

#if defined(__x86_64__)

// GCC 12 takes the undefined lanes of its own header's intrinsics for a mistake of ours (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <cpuid.h>
#include <immintrin.h>
#endif

namespace dpreduce {

#if defined(__x86_64__)

namespace {

constexpr int kRounds = 14;
constexpr std::size_t kVectors = 8;  // of 4 blocks: hides the latency of a round
static_assert(kStreamStep == kVectors * 8);

#define DPREDUCE_TARGET_AES __attribute__((target("aes,sse2")))
#define DPREDUCE_TARGET_VAES __attribute__((target("avx512f,avx512bw,vaes")))

// One step of the key schedule of FIPS 197: key ^ its own left shifts ^ the word that the S-box gave.
DPREDUCE_TARGET_AES __m128i next_round_key(__m128i key, __m128i word) {
  key = _mm_xor_si128(key, _mm_slli_si128(key, 4));
  key = _mm_xor_si128(key, _mm_slli_si128(key, 4));
  key = _mm_xor_si128(key, _mm_slli_si128(key, 4));
  return _mm_xor_si128(key, word);
}

template <int kRoundConstant>
DPREDUCE_TARGET_AES void expand_pair(__m128i& even, __m128i& odd, __m128i* out, bool is_last) {
  even = next_round_key(even, _mm_shuffle_epi32(_mm_aeskeygenassist_si128(odd, kRoundConstant), 0xff));
  _mm_store_si128(out, even);
  if (is_last) return;
  odd = next_round_key(odd, _mm_shuffle_epi32(_mm_aeskeygenassist_si128(even, 0), 0xaa));
  _mm_store_si128(out + 1, odd);
}

}  // namespace

// Clang 14's __builtin_cpu_supports does not know AES: leaf 1 ECX 25 and leaf 7 ECX 9 of CPUID say it. That the
// operating system keeps wide registers is what avx512f stands for.
bool has_vector_aes() {
  static const bool has = [] {  // asked once: under a hypervisor each CPUID takes long
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw")) return false;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c >> 25 & 1) == 0) return false;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (c >> 9 & 1) != 0;
  }();
  return has;
}

DPREDUCE_TARGET_AES AesSchedule expand_aes256_key(std::span<const std::byte, 32> key) {
  AesSchedule schedule;
  auto* out = reinterpret_cast<__m128i*>(schedule.round_keys.data());
  const auto* in = reinterpret_cast<const __m128i*>(key.data());
  __m128i even = _mm_loadu_si128(in);
  __m128i odd = _mm_loadu_si128(in + 1);
  _mm_store_si128(out, even);
  _mm_store_si128(out + 1, odd);
  expand_pair<0x01>(even, odd, out + 2, false);
  expand_pair<0x02>(even, odd, out + 4, false);
  expand_pair<0x04>(even, odd, out + 6, false);
  expand_pair<0x08>(even, odd, out + 8, false);
  expand_pair<0x10>(even, odd, out + 10, false);
  expand_pair<0x20>(even, odd, out + 12, false);
  expand_pair<0x40>(even, odd, out + 14, true);
  return schedule;
}

namespace {

// sums +- AES(counters) for one stream.
DPREDUCE_TARGET_VAES void apply_stream(const CounterStream& stream, const __m512i (&counters)[kVectors],
                                       __m512i (&sums)[kVectors]) {
  const auto* keys = reinterpret_cast<const __m128i*>(stream.schedule->round_keys.data());
  __m512i state[kVectors];
  const __m512i whitening = _mm512_broadcast_i32x4(_mm_load_si128(keys));
  for (std::size_t v = 0; v < kVectors; ++v) state[v] = _mm512_xor_si512(counters[v], whitening);
  for (int round = 1; round < kRounds; ++round) {
    const __m512i key = _mm512_broadcast_i32x4(_mm_load_si128(keys + round));
    for (std::size_t v = 0; v < kVectors; ++v) state[v] = _mm512_aesenc_epi128(state[v], key);
  }
  const __m512i last = _mm512_broadcast_i32x4(_mm_load_si128(keys + kRounds));
  if (stream.sign == StreamSign::kAdd) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      sums[v] = _mm512_add_epi64(sums[v], _mm512_aesenclast_epi128(state[v], last));
    }
  } else {
    for (std::size_t v = 0; v < kVectors; ++v) {
      sums[v] = _mm512_sub_epi64(sums[v], _mm512_aesenclast_epi128(state[v], last));
    }
  }
}

}  // namespace

DPREDUCE_TARGET_VAES void apply_counter_streams(std::span<const CounterStream> streams, std::uint64_t first_block,
                                                std::span<std::uint64_t> words) {
  DPREDUCE_ASSERT(words.size() % kStreamStep == 0);
  // Bytes of each word in the reverse order; the words of blocks are (0, counter).
  const __m512i reverse = _mm512_set4_epi32(0x08090a0b, 0x0c0d0e0f, 0x00010203, 0x04050607);
  const __m512i of_lane = _mm512_set_epi64(3, 0, 2, 0, 1, 0, 0, 0);
  for (std::size_t first = 0; first < words.size(); first += kStreamStep, first_block += kStreamStep / 2) {
    __m512i counters[kVectors];
    __m512i sums[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) {
      const auto counter = static_cast<long long>(first_block + 4 * v);
      const __m512i base = _mm512_set_epi64(counter, 0, counter, 0, counter, 0, counter, 0);
      counters[v] = _mm512_shuffle_epi8(_mm512_add_epi64(base, of_lane), reverse);
      sums[v] = _mm512_loadu_si512(words.data() + first + 8 * v);
    }
    for (const CounterStream& stream : streams) apply_stream(stream, counters, sums);
    for (std::size_t v = 0; v < kVectors; ++v) _mm512_storeu_si512(words.data() + first + 8 * v, sums[v]);
  }
}

#else

bool has_vector_aes() {
  return false;
}

AesSchedule expand_aes256_key(std::span<const std::byte, 32>) {
  throw std::logic_error("dpreduce: internal error: no vector AES on this processor");
}

void apply_counter_streams(std::span<const CounterStream>, std::uint64_t, std::span<std::uint64_t>) {
  throw std::logic_error("dpreduce: internal error: no vector AES on this processor");
}

#endif

}  // namespace dpreduce
