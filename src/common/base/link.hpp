// A link makes probabilities of a classifier's scores.
#pragma once

#include "common/base/spelling.hpp"

namespace dpreduce {

/// Model files spell it.
enum class Link {
  kSoftmax,  ///< of the K scores of a row together
  kSigmoid   ///< of each score by itself
};

template <>
inline constexpr std::array spellings<Link>{std::pair{std::string_view{"softmax"}, Link::kSoftmax},
                                            std::pair{std::string_view{"sigmoid"}, Link::kSigmoid}};

}  // namespace dpreduce
