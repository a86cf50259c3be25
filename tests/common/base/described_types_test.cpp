#include "common/accounting/budget.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/base/standard_output.hpp"
#include "common/data/row_files.hpp"
#include "common/data/synthetic.hpp"
#include "common/lattice/row_transform.hpp"
#include "common/ledger/metric.hpp"
#include "methods/fit_options.hpp"
#include "tests/testing.hpp"

namespace dpreduce::described_types_test {

template <typename E>
class Choices : public testing::Test {};

using AllChoices =
    testing::Types<OutputFormat, Metric, Centering, Normalize, BadRows, Adjacency, Accountant, ClassMeans>;
TYPED_TEST_SUITE(Choices, AllChoices);

TYPED_TEST(Choices, EverySpellingReadsBackAndIsUsedOnce) {
  std::set<std::string_view> seen;
  for (const auto& [spelling, value] : spellings<TypeParam>) {
    EXPECT_EQ(choice_of<TypeParam>(to_string(value)), value);
    EXPECT_EQ(to_string(value), spelling);
    EXPECT_TRUE(seen.insert(spelling).second) << spelling;
  }
  EXPECT_FALSE(seen.empty());
}

TYPED_TEST(Choices, OtherTextIsNoChoice) {
  for (const char* text : {"", " ", "unknown", "Add-Remove", "add_remove", "GDP"}) {
    EXPECT_FALSE(choice_of<TypeParam>(text).has_value()) << text;
  }
}

}  // namespace dpreduce::described_types_test
