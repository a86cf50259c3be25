
#include "methods/options/fit_options.hpp"
#include "tests/methods/options/good_fit.hpp"
#include "tests/testing.hpp"

namespace dpreduce::privacy_options_test {

TEST(PrivacyOptions, ALedgerIsKept) {
  EXPECT_THAT(refusal_of(PrivacyOptions()), IsEmpty());
  EXPECT_THAT(refusal_of(PrivacyOptions{.ledger = ""}), HasSubstr("--ledger"));
}

TEST(PrivacyOptions, ADataSetHasNoSpaceAroundItsName) {
  EXPECT_THAT(refusal_of(PrivacyOptions{.data_set = "the test rows"}), IsEmpty());
  for (const char* name : {" test", "test "}) {
    EXPECT_THAT(refusal_of(PrivacyOptions{.data_set = name}), HasSubstr("has a space before or after the name"));
  }
}

}  // namespace dpreduce::privacy_options_test
