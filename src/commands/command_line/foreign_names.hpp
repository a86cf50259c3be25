// Names that other libraries have for what an option of a fit says.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace dpreduce {

/// What to say where `typed` is no option: "; here it is --rounds" for a name of another library, else "; did you mean
/// NAME?" with the nearest of `names`, or nothing. Both with dashes in front, or both without.
std::string hint_for(std::string_view typed, std::span<const std::string> names);

}  // namespace dpreduce
