
#include "methods/fit_options.hpp"
#include "tests/methods/good_fit.hpp"
#include "tests/testing.hpp"

namespace dpreduce::machine_options_test {

TEST(MachineOptions, ThreadsAndMemoryHaveLimits) {
  EXPECT_THAT(refusal_of(MachineOptions()), IsEmpty());
  EXPECT_THAT(refusal_of(MachineOptions{.threads = 100'000}), HasSubstr("--threads 100000"));
  EXPECT_THAT(refusal_of(MachineOptions{.memory_mib = 0}), HasSubstr("--memory 0"));
  EXPECT_THAT(refusal_of(MachineOptions{.memory_mib = std::size_t{1} << 30}), HasSubstr("--memory"));
}

}  // namespace dpreduce::machine_options_test
