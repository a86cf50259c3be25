#include "common/base/feature_names.hpp"

#include <string>
#include <vector>

#include "common/base/error.hpp"
#include "tests/testing.hpp"

namespace dpreduce::feature_names_test {

using Names = std::vector<std::string>;

TEST(FeatureNames, AreAsManyAsFeaturesOrNone) {
  const auto refusal_of = [](const Names& names) {
    return refusal<UsageError>([&] { require_feature_names(names, 2); });
  };
  EXPECT_EQ(refusal_of({}), "");
  EXPECT_EQ(refusal_of({"age", "age"}), "");
  EXPECT_THAT(refusal_of({"age"}), HasSubstr("there are 1 for 2 features"));
  EXPECT_THAT(refusal_of({"age", "caf\xe9"}), HasSubstr("that of feature 1 is no UTF-8"));
}

TEST(FeatureNames, TheFirstColumnThatDiffersIsNamed) {
  const auto refusal_of = [](const Names& names, const Names& expected) {
    return refusal<BadInput>([&] { require_same_features(names, expected, "rank 2", "on rank 0"); });
  };
  EXPECT_EQ(refusal_of({"a", "b"}, {"a", "b"}), "");
  EXPECT_EQ(refusal_of({}, {}), "");
  EXPECT_THAT(refusal_of({"a", "c", "b"}, {"a", "b", "c"}),
              HasSubstr("rank 2: column 1 is \"c\", but on rank 0 it is \"b\""));
  EXPECT_THAT(refusal_of({"a"}, {"a", "b"}), HasSubstr("there are 1 columns, but on rank 0 2"));
  EXPECT_THAT(refusal_of({}, {"a"}), HasSubstr("columns have no names, but on rank 0 they have names"));
  EXPECT_THAT(refusal_of({"a"}, {}), HasSubstr("columns have names, but on rank 0 they have none"));
}

}  // namespace dpreduce::feature_names_test
