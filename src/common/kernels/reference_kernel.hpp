// The plainest kernel: three loops in int64. It stays for ever as the oracle of the fast ones.
#pragma once

#include "common/kernels/integer_kernel.hpp"

namespace dpreduce {

class ReferenceKernel final : public IntegerKernel {
 public:
  std::string_view name() const override { return "reference"; }

 private:
  void accumulate(const Operand& a, const Operand& b, ProductPart part, const Int64View& c,
                  unsigned threads) const override;
};

}  // namespace dpreduce
