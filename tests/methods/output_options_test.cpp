

#include "methods/fit_options.hpp"
#include "tests/methods/good_fit.hpp"
#include "tests/testing.hpp"

namespace dpreduce::output_options_test {

TEST(OutputOptions, AModelIsWritten) {
  EXPECT_THAT(refusal_of(OutputOptions()), IsEmpty());
  EXPECT_THAT(refusal_of(OutputOptions{.out = ""}), HasSubstr("--out"));
}

}  // namespace dpreduce::output_options_test
