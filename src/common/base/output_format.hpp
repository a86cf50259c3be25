// How a command prints its result.
#pragma once

#include "common/base/spelling.hpp"

namespace dpreduce {

enum class OutputFormat { kText, kJson };
template <>
inline constexpr std::array spellings<OutputFormat>{std::pair{std::string_view{"text"}, OutputFormat::kText},
                                                    std::pair{std::string_view{"json"}, OutputFormat::kJson}};

}  // namespace dpreduce
