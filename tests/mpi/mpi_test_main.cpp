// GoogleTest's main for programs that mpirun starts: one Communicator for all cases.
#include "tests/mpi/mpi_test.hpp"

namespace dpreduce {
namespace {
std::unique_ptr<Communicator> joined;
}
Communicator& test_ranks() {
  return *joined;
}
}  // namespace dpreduce

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  dpreduce::joined = std::make_unique<dpreduce::Communicator>(dpreduce::Communicator::join());
  const int status = RUN_ALL_TESTS();
  dpreduce::joined.reset();
  return status;
}
