// Messages go to whoever takes them by a reader.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "common/silos/payload.hpp"

namespace dpreduce {

/// Returns what `take` makes of that message; `before` stands in front of the reader.
template <typename Take, typename... Before>
decltype(auto) give(const std::vector<std::byte>& message, Take take, Before&&... before) {
  PayloadReader reader(message);
  return std::invoke(take, std::forward<Before>(before)..., reader);
}

}  // namespace dpreduce
