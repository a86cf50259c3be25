// "Did you mean": the name that a mistyped one was probably meant to be.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace dpreduce {

/// How many characters have to be inserted, deleted, exchanged, or swapped with their neighbor, to make `first` of
/// `second` (the restricted Damerau-Levenshtein distance); upper and lower case count as equal.
std::size_t edits_between(std::string_view first, std::string_view second);

/// The one of `names` that is fewest edits from `typed`, or, where none is near, the only one that begins with it;
/// empty where there is none: more than two edits, or more than a third of its characters.
std::string nearest_name(std::string_view typed, std::span<const std::string> names);

/// "; did you mean NAME?", or nothing.
std::string did_you_mean(std::string_view typed, std::span<const std::string> names);

}  // namespace dpreduce
