// Descriptions that types give of themselves once, for all code that writes and reads them: the spellings of an
// enumeration, the members of a struct.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace dpreduce {

// One spelling for each value of an enumeration: on the command line, in model files, ledgers and reports.

/// spellings<E>: every value of E with its spelling, in the order in which help lists them.
template <typename E>
inline constexpr auto spellings = std::array<std::pair<std::string_view, E>, 0>{};

/// spellings<E> of an enumeration whose values are 0, 1, 2, ..., in the order of its declaration.
template <typename E, typename... Text>
constexpr auto spelled(const Text&... texts) {
  std::array<std::pair<std::string_view, E>, sizeof...(Text)> all;
  std::size_t next = 0;
  ((all[next] = std::pair(std::string_view(texts), static_cast<E>(next)), ++next), ...);
  return all;
}

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

// Members of a struct, described once for all code that writes and reads it.

/// Archives `members`, for the serialize of a struct.
template <typename Archive, typename... Member>
void archive_all(Archive& archive, Member&... members) {
  (void)(archive & ... & members);
}

/// Defines serialize of the struct `Type`, whose members are all named, in their order: where one is left out, it does
/// not compile.
#define DPREDUCE_ARCHIVE(Type, ...)                                  \
  template <typename Archive>                                        \
  void serialize(Archive& archive, Type& archived_value, unsigned) { \
    auto& [__VA_ARGS__] = archived_value;                            \
    ::dpreduce::archive_all(archive, __VA_ARGS__);                   \
  }

}  // namespace dpreduce
