// The exact statistic: named blocks of integers mod 2^64. Private until noise has been added.
//
//   block    a name and a fixed number of elements, e.g. "sum" with classes x d elements in row-major order
//   word     one element as it is added and sent: mod 2^64, unsigned; read as int64 (two's complement)
//
// Addition in Z mod 2^64 is commutative and associative, so the order of rows, shards and ranks cannot change one bit.
// All blocks lie one after the other in one array, so that one reduction carries the whole statistic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dpreduce {

struct PlannedSelection;  // noise_plan.hpp
struct ReleaseRequest;

/// Name and size of one block, and what its integers count.
struct BlockShape {
  std::string name;
  std::size_t elements;
  unsigned fraction_bits = 0;  ///< elements are in units of 2^-fraction_bits

  bool operator==(const BlockShape&) const = default;
};

/// Not copyable, and not printable: it holds exact private sums.
class Statistic {
 public:
  /// All blocks zero. Preconditions (asserted): at least one block; names not empty and all different; every block has
  /// at least one element. Throws UsageError where all blocks together have more than 2^40 elements; std::bad_alloc.
  explicit Statistic(std::vector<BlockShape> shape);

  Statistic(Statistic&&) noexcept = default;
  Statistic& operator=(Statistic&&) noexcept = default;
  Statistic(const Statistic&) = delete;
  Statistic& operator=(const Statistic&) = delete;

  const std::vector<BlockShape>& shape() const { return shape_; }

  /// Position of the block of that name in shape(). Precondition (asserted): there is one.
  std::size_t index_of(std::string_view name) const;

  /// The elements of one block. Precondition: block < shape().size().
  std::span<std::int64_t> block(std::size_t block);
  std::span<const std::int64_t> block(std::size_t block) const;

  /// Elements of that block, which nobody may ask for again; those of an only block are not copied.
  std::vector<std::int64_t> take_block(std::size_t block);

  /// All blocks, in the order of shape(), as words of the ring: what a reduction adds up.
  std::span<std::uint64_t> words();
  std::span<const std::uint64_t> words() const;

  friend std::ostream& operator<<(std::ostream&, const Statistic&) = delete;

 private:
  std::vector<BlockShape> shape_;
  std::vector<std::size_t> first_element_;  // of each block
  std::vector<std::int64_t> elements_;
};

/// An all-zero statistic with the blocks of `request`.
Statistic empty_statistic(const ReleaseRequest& request);

/// Zeros for a selection's utilities: one block "utilities", groups x candidates, row g holds group g. Precondition:
/// fault_of(selection.terms) is empty.
Statistic empty_utilities(const PlannedSelection& selection);

}  // namespace dpreduce
