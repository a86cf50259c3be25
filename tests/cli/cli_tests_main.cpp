#include <gtest/gtest.h>

#include "aggregator/solvers/blas.hpp"

int main(int argc, char** argv) {
  dpreduce::choose_blas_kernels(argv);  // as the program does: forks of this process make the same models
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
