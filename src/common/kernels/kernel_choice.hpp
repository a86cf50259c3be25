// Kernels that this processor can run, and the one that is used.
#pragma once

#include <string_view>
#include <vector>

#include "common/kernels/integer_kernel.hpp"

namespace dpreduce {

/// The oracle: runs everywhere.
const IntegerKernel& reference_kernel();

/// The kernels that this processor can run, plainest first; found once, at the first call.
const std::vector<const IntegerKernel*>& supported_kernels();

/// The fastest supported kernel for "auto", else the one of that name: reference, portable, avx2, avx512-vnni.
/// Throws UsageError where the name is unknown or the processor cannot run that kernel.
const IntegerKernel& select_kernel(std::string_view name = "auto");

}  // namespace dpreduce
