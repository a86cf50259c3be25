#include "common/kernels/vector_width.hpp"

#include <array>

namespace dpreduce {
namespace {

constexpr std::array<std::size_t, 3> kWidths{2, 4, 8};

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
  static const std::span<const std::size_t> widths = std::span(kWidths).first(count_widths());
  return widths;
}

}  // namespace dpreduce
