// OpenBLAS' kernels in this project's programs: by the processor's instructions, SkylakeX with AVX-512 and Haswell with
// AVX2, unless OPENBLAS_CORETYPE names others; and no threads but the program's own.
//
// OpenBLAS (0.3.21) falls back to SSE3, a quarter as fast, on processors younger than itself, and kernels round
// differently. It chooses while it is loaded, before main, by what getenv returns. So a program has a getenv of its
// own, which the dynamic linker takes before the C library's: that one, but with these two answers where the
// environment has none. launch/environment sets the kernels so for programs other than dpreduce.
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <unistd.h>

namespace {

const char* kernels_of_processor() {
#ifdef __x86_64__
  __builtin_cpu_init();  // no constructor has run yet
  if (__builtin_cpu_supports("avx512vl")) return "SkylakeX";
  if (__builtin_cpu_supports("avx2")) return "Haswell";
#endif
  return nullptr;
}

const char* usual_value(std::string_view name) {
  if (name == "OPENBLAS_CORETYPE") return kernels_of_processor();
  if (name == "OPENBLAS_NUM_THREADS") return "1";  // others would wait in a loop, for work that never comes
  return nullptr;
}

}  // namespace

extern "C" char* getenv(const char* name) noexcept {
  const std::size_t length = std::strlen(name);
  const char* const usual = usual_value(name);
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, name, length) != 0 || (*entry)[length] != '=') continue;
    char* const value = *entry + length + 1;
    return *value == '\0' && usual != nullptr ? const_cast<char*>(usual) : value;
  }
  return const_cast<char*>(usual);
}
