#pragma once

#include "common/kernels/matrix_view.hpp"
#include "common/lattice/lattice_rows.hpp"

namespace dpreduce {

inline Int16View view_of(const LatticeRows& chunk) {
  return chunk.energies().with({chunk.values(), chunk.rows(), chunk.dim(), chunk.dim()});
}

}  // namespace dpreduce
