// What every fuzzer includes: the parts of the standard library that fuzzers use, and refusals.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"

namespace dpreduce {

/// Whether an Expected ends `work`. What else it throws ends the fuzzer.
template <typename Expected, typename Work>
bool is_refused(const Work& work) {
  try {
    work();
    return false;
  } catch (const Expected&) {
    return true;
  }
}

}  // namespace dpreduce
