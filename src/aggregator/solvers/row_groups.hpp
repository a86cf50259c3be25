// Rows that are made in groups, by one rank or by ranks that trust each other, with the same bits.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "common/ranks/communicator.hpp"

namespace dpreduce {

/// `count` rows of one length, at most 192 in a group, and one group or an even number. What is made of a group may
/// depend on which rows it has, but groups do not depend on the number of ranks. `make` gets a group's first row, and
/// its rows.
class RowGroups {
 public:
  using Make = std::function<void(std::size_t first, std::span<double> group)>;

  explicit RowGroups(std::size_t count);

  /// Whether there are several groups, and `owners` (Communicator::owners) to make them.
  bool are_shared_by(int owners) const { return owners > 1 && groups_ > 1; }

  /// Makes each group, here. Precondition (asserted): whole rows.
  void make_all(std::span<double> rows, const Make& make) const;

  /// Makes each group on one of the owners (Communicator::owners); all ranks have all rows then. Collective.
  /// Precondition (asserted): whole rows.
  void make_on_ranks(Communicator& ranks, std::span<double> rows, const Make& make) const;

 private:
  std::size_t count_;
  std::size_t groups_;
};

}  // namespace dpreduce
