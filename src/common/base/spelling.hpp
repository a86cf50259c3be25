// One spelling for each value of an enumeration: on the command line, in model files, ledgers and reports.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace dpreduce {

/// spellings<E>: every value of E with its spelling, in the order in which help lists them.
template <typename E>
inline constexpr auto spellings = std::array<std::pair<std::string_view, E>, 0>{};

template <typename E>
requires std::is_enum_v<E>
constexpr std::string_view to_string(E choice) {
  for (const auto& [spelling, value] : spellings<E>) {
    if (value == choice) return spelling;
  }
  return "unknown";
}

/// The choice of this spelling, or nothing.
template <typename E>
constexpr std::optional<E> choice_of(std::string_view text) {
  for (const auto& [spelling, value] : spellings<E>) {
    if (spelling == text) return value;
  }
  return std::nullopt;
}

}  // namespace dpreduce
