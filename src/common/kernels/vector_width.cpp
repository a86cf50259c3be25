#include "common/kernels/vector_width.hpp"

#include <array>

namespace dpreduce {
namespace {

std::size_t count_widths() {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2")) return 1;
  const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return has_avx512 ? 3 : 2;
#else
  return 1;
#endif
}

}  // namespace

std::span<const std::size_t> vector_widths() {
  static constexpr std::array<std::size_t, 3> kWidths{2, 4, 8};
  static const std::size_t count = count_widths();
  return std::span(kWidths).first(count);
}

}  // namespace dpreduce
