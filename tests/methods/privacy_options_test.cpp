
#include "methods/fit_options.hpp"
#include "tests/methods/good_fit.hpp"
#include "tests/testing.hpp"

namespace dpreduce::privacy_options_test {

TEST(PrivacyOptions, ALedgerIsKept) {
  EXPECT_THAT(refusal_of(PrivacyOptions()), IsEmpty());
  EXPECT_THAT(refusal_of(PrivacyOptions{.ledger = ""}), HasSubstr("--ledger"));
}

}  // namespace dpreduce::privacy_options_test
