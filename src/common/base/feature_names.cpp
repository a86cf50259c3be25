#include "common/base/feature_names.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/utf8.hpp"

namespace dpreduce {

void require_feature_names(std::span<const std::string> names, std::size_t features) {
  if (!names.empty() && names.size() != features) {
    throw UsageError(
        fmt::format("names of features: there are {} for {} features; name all or none", names.size(), features));
  }
  const auto wrong = std::ranges::find_if_not(names, [](const std::string& name) { return is_utf8(name); });
  if (wrong == names.end()) return;
  throw UsageError(fmt::format("names of features: that of feature {} is no UTF-8 text", wrong - names.begin()));
}

void require_same_features(std::span<const std::string> names, std::span<const std::string> expected,
                           std::string_view whose, std::string_view where) {
  constexpr const char* kWhatToDo = "give the same columns in the same order everywhere";
  if (names.empty() != expected.empty()) {
    throw BadInput(fmt::format("{}: columns have {}, but {} they have {}; {}", whose,
                               names.empty() ? "no names" : "names", where, names.empty() ? "names" : "none",
                               kWhatToDo));
  }
  const std::size_t shared = std::min(names.size(), expected.size());
  for (std::size_t column = 0; column < shared; ++column) {
    if (names[column] == expected[column]) continue;
    throw BadInput(fmt::format("{}: column {} is {}, but {} it is {}; {}", whose, column, in_quotes(names[column]),
                               where, in_quotes(expected[column]), kWhatToDo));
  }
  if (names.size() == expected.size()) return;
  throw BadInput(
      fmt::format("{}: there are {} columns, but {} {}; {}", whose, names.size(), where, expected.size(), kWhatToDo));
}

}  // namespace dpreduce
