#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "methods/options/fit_options.hpp"
#include "tests/methods/options/good_fit.hpp"

namespace dpreduce {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(PrivacyOptions, ALedgerIsKept) {
  EXPECT_THAT(refusal_of(PrivacyOptions()), IsEmpty());
  EXPECT_THAT(refusal_of(PrivacyOptions{.ledger = ""}), HasSubstr("--ledger"));
}

}  // namespace
}  // namespace dpreduce
