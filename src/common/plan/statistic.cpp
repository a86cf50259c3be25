#include "common/plan/statistic.hpp"

#include <algorithm>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kMostElements = std::size_t{1} << 40;

void add_words(std::span<std::uint64_t> sum, std::span<const std::uint64_t> addend) {
  for (std::size_t word = 0; word < sum.size(); ++word) sum[word] += addend[word];
}

// A signed integer type may be read as its unsigned counterpart and back.
std::int64_t* as_signed(std::uint64_t* words) {
  return reinterpret_cast<std::int64_t*>(words);
}
const std::int64_t* as_signed(const std::uint64_t* words) {
  return reinterpret_cast<const std::int64_t*>(words);
}

std::string describe(const BlockShape& shape) {
  return shape.name + " (" + std::to_string(shape.elements) + ")";
}

}  // namespace

Statistic::Statistic(std::vector<BlockShape> shape) : shape_(std::move(shape)) {
  if (shape_.empty()) throw UsageError("a statistic needs at least one block");
  std::size_t total = 0;
  for (auto block = shape_.begin(); block != shape_.end(); ++block) {
    if (block->name.empty()) throw UsageError("a block of a statistic needs a name");
    if (std::any_of(shape_.begin(), block, [&](const BlockShape& earlier) { return earlier.name == block->name; })) {
      throw UsageError("block " + block->name + " occurs twice in a statistic");
    }
    if (block->elements == 0) throw UsageError("block " + block->name + " has no elements");
    if (block->elements > kMostElements - total) {
      throw UsageError("block " + describe(*block) + ": a statistic has at most 2^40 elements");
    }
    first_word_.push_back(total);
    total += block->elements;
  }
  words_.resize(total);
}

std::size_t Statistic::index_of(std::string_view name) const {
  const auto found =
      std::find_if(shape_.begin(), shape_.end(), [&](const BlockShape& shape) { return shape.name == name; });
  if (found == shape_.end()) throw UsageError("a statistic has no block " + std::string(name));
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

void Statistic::accumulate(std::size_t block, std::span<const std::int64_t> addend) {
  DPREDUCE_ASSERT(block < shape_.size());
  const std::size_t elements = shape_[block].elements;
  if (addend.size() != elements) {
    throw UsageError("block " + describe(shape_[block]) + " cannot take " + std::to_string(addend.size()) +
                     " elements");
  }
  add_words({words_.data() + first_word_[block], elements},
            {reinterpret_cast<const std::uint64_t*>(addend.data()), elements});
}

void Statistic::merge(const Statistic& other) {
  if (shape_.size() != other.shape_.size()) {
    throw UsageError("statistics of " + std::to_string(shape_.size()) + " and " + std::to_string(other.shape_.size()) +
                     " blocks cannot be merged");
  }
  for (std::size_t block = 0; block < shape_.size(); ++block) {
    if (shape_[block] == other.shape_[block]) continue;
    throw UsageError("block " + describe(shape_[block]) + " cannot be merged with block " +
                     describe(other.shape_[block]));
  }
  add_words(words_, other.words_);
}

}  // namespace dpreduce
