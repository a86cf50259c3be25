#include "common/ledger/statistic.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "common/base/error.hpp"
#include "common/ledger/noise_plan.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kMostElements = std::size_t{1} << 40;

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
    first_element_.push_back(total);
    total += block.elements;
  }
  elements_.resize(total);
}

std::size_t Statistic::index_of(std::string_view name) const {
  const auto found = std::ranges::find(shape_, name, &BlockShape::name);
  DPREDUCE_ASSERT(found != shape_.end());
  return static_cast<std::size_t>(found - shape_.begin());
}

std::span<std::int64_t> Statistic::block(std::size_t block) {
  DPREDUCE_ASSERT(block < shape_.size());
  return std::span(elements_).subspan(first_element_[block], shape_[block].elements);
}

std::span<const std::int64_t> Statistic::block(std::size_t block) const {
  DPREDUCE_ASSERT(block < shape_.size());
  return std::span(elements_).subspan(first_element_[block], shape_[block].elements);
}

std::vector<std::int64_t> Statistic::take_block(std::size_t block) {
  if (shape_.size() == 1) return std::move(elements_);
  const std::span<const std::int64_t> elements = this->block(block);
  return {elements.begin(), elements.end()};
}

// A signed integer type may be read as its unsigned counterpart.
std::span<std::uint64_t> Statistic::words() {
  return {reinterpret_cast<std::uint64_t*>(elements_.data()), elements_.size()};
}

std::span<const std::uint64_t> Statistic::words() const {
  return {reinterpret_cast<const std::uint64_t*>(elements_.data()), elements_.size()};
}

Statistic empty_statistic(const ReleaseRequest& request) {
  std::vector<BlockShape> shape;
  for (const BlockRequest& block : request.blocks) shape.push_back({block.name, block.elements, block.fraction_bits});
  return Statistic(std::move(shape));
}

Statistic empty_utilities(const PlannedSelection& selection) {
  return Statistic({{"utilities", selection.terms.groups * selection.terms.candidates, selection.fraction_bits}});
}

}  // namespace dpreduce
