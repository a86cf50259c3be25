// Sizes of classes, for their owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/data/worker_rows.hpp"
#include "common/ranks/communicator.hpp"

namespace dpreduce {

/// How many of these labels every class has, whether they are class indices or zeros and ones. Throws BadInput where
/// one is no class; PeerFailed where another rank fails.
std::vector<std::uint64_t> label_counts(ShardedArray& labels, const RowRange& range, std::size_t classes,
                                        Communicator& ranks);

}  // namespace dpreduce
