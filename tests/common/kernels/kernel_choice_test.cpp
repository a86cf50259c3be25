#include "common/kernels/kernel_choice.hpp"

#include "common/base/error.hpp"
#include "tests/testing.hpp"

namespace dpreduce::kernel_choice_test {

TEST(KernelChoice, PlainestKernelsComeFirst) {
  ASSERT_GE(supported_kernels().size(), 2U);
  EXPECT_EQ(supported_kernels()[0], &reference_kernel());
  EXPECT_EQ(supported_kernels()[0]->name(), "reference");
  EXPECT_EQ(supported_kernels()[1]->name(), "portable");
}

TEST(KernelChoice, AutoIsTheLastSupportedKernel) {
  EXPECT_EQ(&select_kernel(), supported_kernels().back());
  EXPECT_EQ(&select_kernel("auto"), supported_kernels().back());
  EXPECT_NE(&select_kernel(), &reference_kernel());
}

TEST(KernelChoice, EverySupportedKernelIsChosenByItsName) {
  for (const IntegerKernel* kernel : supported_kernels()) EXPECT_EQ(&select_kernel(kernel->name()), kernel);
}

TEST(KernelChoice, UnknownNameIsRejectedWithTheChoices) {
  EXPECT_THAT([] { select_kernel("mmx"); },
              ::testing::ThrowsMessage<UsageError>(
                  ::testing::AllOf(::testing::HasSubstr("'mmx'"), ::testing::HasSubstr("auto, reference, portable"))));
  EXPECT_THROW(select_kernel(""), UsageError);
}

}  // namespace dpreduce::kernel_choice_test
