// The headings of a promise in words, in the order in which readers want them.
#pragma once

#include <array>
#include <utility>

namespace dpreduce {

/// The members of "words" of privacy explain, each with its heading.
inline constexpr std::array<std::pair<const char*, const char*>, 9> kPromiseHeadings{
    {{"guarantee", "The guarantee"},
     {"attacker", "What an attacker can tell"},
     {"holds_for", "It holds against"},
     {"not_for", "It does not hold against"},
     {"released", "What was released"},
     {"not_covered", "What it does not cover"},
     {"groups", "Several records of one person"},
     {"delta", "Delta"},
     {"advice", "What to do"}}};

}  // namespace dpreduce
