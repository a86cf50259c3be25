#include "aggregator/solvers/blas.hpp"

#include <array>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include <unistd.h>

extern "C" void openblas_set_num_threads(int count);
extern "C" int openblas_get_num_threads();
extern "C" char* openblas_get_corename();

namespace dpreduce {
namespace {

constexpr const char* kVariable = "OPENBLAS_CORETYPE";

// The number of BLAS threads is the process's: so is what it was before the first of those who want one.
struct KeptThreads {
  std::mutex mutex;
  int holders = 0;
  int threads = 1;
};
KeptThreads kept_threads;

// The kernels that launch/environment chooses for programs other than dpreduce; null: OpenBLAS' own choice.
const char* kernels_of_processor() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512vl")) return "SkylakeX";
  if (__builtin_cpu_supports("avx2")) return "Haswell";
#endif
  return nullptr;
}

}  // namespace

void use_one_blas_thread() {
  openblas_set_num_threads(1);
}

KeptBlasThreads::KeptBlasThreads() {
  const std::lock_guard lock(kept_threads.mutex);
  if (kept_threads.holders++ > 0) return;
  kept_threads.threads = openblas_get_num_threads();
  use_one_blas_thread();
}

KeptBlasThreads::~KeptBlasThreads() {
  const std::lock_guard lock(kept_threads.mutex);
  if (--kept_threads.holders == 0) openblas_set_num_threads(kept_threads.threads);
}

void choose_blas_kernels(char** arguments) {
  const char* chosen = std::getenv(kVariable);
  if (chosen != nullptr && *chosen != '\0') return;
  const char* kernels = kernels_of_processor();
  if (kernels == nullptr || std::strcmp(kernels, openblas_get_corename()) == 0) return;
  if (setenv(kVariable, kernels, 1) != 0) return;
  // By its path it keeps its name among processes. What returns has failed: then OpenBLAS' own choice has to do.
  constexpr const char* kSelf = "/proc/self/exe";
  std::array<char, PATH_MAX> path{};
  if (readlink(kSelf, path.data(), path.size() - 1) > 0) execv(path.data(), arguments);
  execv(kSelf, arguments);
}

}  // namespace dpreduce
