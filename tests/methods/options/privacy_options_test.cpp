
#include "methods/options/fit_options.hpp"
#include "tests/methods/options/good_fit.hpp"
#include "tests/testing.hpp"

namespace dpreduce::privacy_options_test {

TEST(PrivacyOptions, ALedgerIsKept) {
  EXPECT_THAT(refusal_of(PrivacyOptions()), IsEmpty());
  EXPECT_THAT(refusal_of(PrivacyOptions{.ledger = ""}), HasSubstr("--ledger"));
}

}  // namespace dpreduce::privacy_options_test
