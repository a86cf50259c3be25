// How a preparation of rows is archived (common/ranks/rank_archive.hpp, common/silos/payload_archive.hpp).
#pragma once

#include "common/base/archive_all.hpp"
#include "common/lattice/row_transform.hpp"

namespace dpreduce {

template <typename Archive>
void serialize(Archive& archive, Preprocessing& preprocessing, unsigned) {
  auto& [input_dim, pool, normalize, clip_norm, center, intercept, projection, selected] = preprocessing;
  archive_all(archive, input_dim, pool, normalize, clip_norm, center, intercept, projection, selected);
}

}  // namespace dpreduce
