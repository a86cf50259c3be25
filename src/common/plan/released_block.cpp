#include "common/plan/released_block.hpp"

#include <algorithm>

#include "common/base/error.hpp"

namespace dpreduce {

const ReleasedBlock& Release::block(std::string_view name) const {
  const auto found =
      std::find_if(blocks_.begin(), blocks_.end(), [&](const auto& block) { return block.name() == name; });
  DPREDUCE_ASSERT(found != blocks_.end());
  return *found;
}

}  // namespace dpreduce
