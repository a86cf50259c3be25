// Training rounds descend on a loss.
#pragma once

#include "common/base/spelling.hpp"

namespace dpreduce {

/// What training rounds descend on; z_c are a row's scores, y its label as a one-hot vector.
enum class Loss {
  kSoftmax,  ///< residual softmax(z) - y
  kSigmoid,  ///< residual 1 / (1 + exp(-z_c)) - y_c
  kSquare    ///< residual z - y
};
template <>
inline constexpr std::array spellings<Loss>{std::pair{std::string_view{"softmax"}, Loss::kSoftmax},
                                            std::pair{std::string_view{"sigmoid"}, Loss::kSigmoid},
                                            std::pair{std::string_view{"square"}, Loss::kSquare}};

}  // namespace dpreduce
