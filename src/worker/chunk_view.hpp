#pragma once

#include "dpreduce/kernels/matrix_view.hpp"
#include "dpreduce/lattice/lattice_rows.hpp"

namespace dpreduce {

inline Int16View view_of(const LatticeRows& chunk) {
  return {chunk.values(), chunk.rows(), chunk.dim(), chunk.dim()};
}

}  // namespace dpreduce
