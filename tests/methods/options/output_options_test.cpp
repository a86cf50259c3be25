

#include "methods/options/fit_options.hpp"
#include "tests/methods/options/good_fit.hpp"
#include "tests/testing.hpp"

namespace dpreduce::output_options_test {

TEST(OutputOptions, AModelIsWritten) {
  EXPECT_THAT(refusal_of(OutputOptions()), IsEmpty());
  EXPECT_THAT(refusal_of(OutputOptions{.out = ""}), HasSubstr("--out"));
}

TEST(OutputOptions, ACheckpointIsWrittenEverySoManySeconds) {
  EXPECT_THAT(refusal_of(OutputOptions{.checkpoint = "folder", .checkpoint_every = 3.0}), IsEmpty());
  EXPECT_THAT(refusal_of(OutputOptions{.checkpoint_every = 3.0}),
              HasSubstr("--checkpoint-every goes with --checkpoint"));
  for (const double seconds : {-1.0, 1e7, std::nan("")}) {
    EXPECT_THAT(refusal_of(OutputOptions{.checkpoint = "folder", .checkpoint_every = seconds}),
                HasSubstr("--checkpoint-every"))
        << seconds;
  }
}

}  // namespace dpreduce::output_options_test
