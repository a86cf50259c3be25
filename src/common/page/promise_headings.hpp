// The headings of a promise in words, in the order in which readers want them.
#pragma once

#include <array>
#include <utility>

#include <nlohmann/json.hpp>

namespace dpreduce {

/// The members of "words" of privacy explain, each with its heading. A group is of what the guarantee protects.
inline constexpr std::array<std::pair<const char*, const char*>, 9> promise_headings(bool of_persons) {
  return {{{"guarantee", "The guarantee"},
           {"attacker", "What an attacker can tell"},
           {"holds_for", "It holds against"},
           {"not_for", "It does not hold against"},
           {"released", "What was released"},
           {"not_covered", "What it does not cover"},
           {"groups", of_persons ? "Several persons together" : "Several records of one person"},
           {"delta", "Delta"},
           {"advice", "What to do"}}};
}

/// Whether what privacy explain says (`promise`) is about persons.
inline bool is_of_persons(const nlohmann::json& promise) {
  const auto unit = promise.find("unit");
  return unit != promise.end() && *unit == "person";
}

}  // namespace dpreduce
