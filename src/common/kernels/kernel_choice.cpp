#include "common/kernels/kernel_choice.hpp"

#include <limits>
#include <string>

#include "common/base/error.hpp"
#include "common/kernels/blocked_kernel.hpp"

namespace dpreduce {
namespace {

void require_values(const Operand& operand) {
  for (std::size_t k = 0; k < operand.depth(); ++k) {
    for (std::size_t column = 0; column < operand.columns(); ++column) {
      if (operand.at(k, column) == std::numeric_limits<std::int16_t>::min()) reject_value(operand, k, column);
    }
  }
}

// The plainest kernel: three loops in int64. It stays for ever as the oracle of the fast ones.
class ReferenceKernel final : public IntegerKernel {
 public:
  std::string_view name() const override { return "reference"; }

 private:
  // Uses one thread, whatever is requested: the result is the same.
  void accumulate(const Operand& a, const Operand& b, ProductPart part, const Int64View& c,
                  unsigned /*threads*/) const override {
    require_values(a);
    require_values(b);
    for (std::size_t k = 0; k < a.depth(); ++k) {
      for (std::size_t row = 0; row < a.columns(); ++row) {
        const std::int64_t left = a.at(k, row);
        for (std::size_t column = part == ProductPart::kUpperTriangle ? row : 0; column < b.columns(); ++column) {
          std::int64_t& sum = c.row(row)[column];
          sum = ring_sum(sum, left * b.at(k, column));
        }
      }
    }
  }
};

std::vector<const IntegerKernel*> find_supported() {
  std::vector<const IntegerKernel*> kernels{&reference_kernel()};
  static const BlockedKernel portable(portable_micro_kernel(), portable_row_kernel());
  kernels.push_back(&portable);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) {
    static const BlockedKernel avx2(avx2_micro_kernel(), avx2_row_kernel());
    kernels.push_back(&avx2);
  }
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni")) {
    static const BlockedKernel avx512_vnni(avx512_vnni_micro_kernel(), avx512_vnni_row_kernel());
    kernels.push_back(&avx512_vnni);
  }
#endif
  return kernels;
}

}  // namespace

const IntegerKernel& reference_kernel() {
  static const ReferenceKernel kernel;
  return kernel;
}

const std::vector<const IntegerKernel*>& supported_kernels() {
  static const std::vector<const IntegerKernel*> kernels = find_supported();
  return kernels;
}

const IntegerKernel& select_kernel(std::string_view name) {
  if (name == "auto") return *supported_kernels().back();
  std::string names = "auto";
  for (const IntegerKernel* kernel : supported_kernels()) {
    if (kernel->name() == name) return *kernel;
    names += ", ";
    names += kernel->name();
  }
  throw UsageError("kernel '" + std::string(name) + "' is unknown or not supported by this processor; choose one of " +
                   names);
}

}  // namespace dpreduce
