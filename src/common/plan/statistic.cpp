#include "common/plan/statistic.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kMostElements = std::size_t{1} << 40;

// A signed integer type may be read as its unsigned counterpart and back.
std::int64_t* as_signed(std::uint64_t* words) {
  return reinterpret_cast<std::int64_t*>(words);
}
const std::int64_t* as_signed(const std::uint64_t* words) {
  return reinterpret_cast<const std::int64_t*>(words);
}

}  // namespace

Statistic::Statistic(std::vector<BlockShape> shape) : shape_(std::move(shape)) {
  DPREDUCE_ASSERT(!shape_.empty());
  std::set<std::string_view> names;
  std::size_t total = 0;
  for (const BlockShape& block : shape_) {
    DPREDUCE_ASSERT(!block.name.empty() && block.elements > 0 && names.insert(block.name).second);
    if (block.elements > kMostElements - total) {
      throw UsageError("block " + block.name + " (" + std::to_string(block.elements) +
                       "): a statistic has at most 2^40 elements");
    }
    first_word_.push_back(total);
    total += block.elements;
  }
  words_.resize(total);
}

std::size_t Statistic::index_of(std::string_view name) const {
  const auto found = std::ranges::find(shape_, name, &BlockShape::name);
  DPREDUCE_ASSERT(found != shape_.end());
  return static_cast<std::size_t>(found - shape_.begin());
}

std::span<std::int64_t> Statistic::block(std::size_t block) {
  DPREDUCE_ASSERT(block < shape_.size());
  return {as_signed(words_.data() + first_word_[block]), shape_[block].elements};
}

std::span<const std::int64_t> Statistic::block(std::size_t block) const {
  DPREDUCE_ASSERT(block < shape_.size());
  return {as_signed(words_.data() + first_word_[block]), shape_[block].elements};
}

}  // namespace dpreduce
