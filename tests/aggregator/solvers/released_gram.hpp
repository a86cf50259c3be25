// Gram matrices of tests, as they are released.
#pragma once

#include "common/ledger/released_block.hpp"
#include "tests/testing.hpp"

namespace dpreduce {

/// The matrix of that order with these entries, which are asked for row by row from the diagonal on; in such units.
template <typename Entry>
ReleasedBlock released_gram(std::size_t order, double unit, double sigma, const Entry& entry) {
  std::vector<std::int64_t> triangle;
  for (std::size_t a = 0; a < order; ++a) {
    for (std::size_t b = a; b < order; ++b) triangle.push_back(std::llround(unit * entry(a, b)));
  }
  return {"gram", std::move(triangle), sigma * unit};
}

}  // namespace dpreduce
