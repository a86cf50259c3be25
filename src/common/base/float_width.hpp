// The width of the numbers that another program computes with.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "common/base/spelling.hpp"

namespace dpreduce {

enum class FloatWidth {
  kFloat32,  ///< what accelerators take
  kFloat64   ///< what dpreduce predicts with
};

template <>
inline constexpr std::array spellings<FloatWidth>{std::pair{std::string_view{"float32"}, FloatWidth::kFloat32},
                                                  std::pair{std::string_view{"float64"}, FloatWidth::kFloat64}};

}  // namespace dpreduce
