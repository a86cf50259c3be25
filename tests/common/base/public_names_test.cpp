#include "common/base/public_names.hpp"

#include "common/base/error.hpp"
#include "tests/testing.hpp"

namespace dpreduce::public_names_test {

using Names = std::vector<std::string>;

TEST(ClassNames, WordsOfAnyLanguageWithSpacesWithinAreNamesAndEveryFlawIsTold) {
  for (const std::string name : {"a", "0", "Iris setosa", "café, crème", "猫", "\"quoted\"", "a\\b"}) {
    EXPECT_EQ(class_name_fault(name), "") << name;
  }
  EXPECT_EQ(class_name_fault(std::string(1000, 'x')), "");
  EXPECT_EQ(class_name_fault(""), "is empty");
  EXPECT_EQ(class_name_fault(std::string(1001, 'x')), "is longer than 1000 bytes");
  EXPECT_EQ(class_name_fault("caf\xe9"), "is not UTF-8 text");
  for (const std::string name : {" a", "a ", " "}) {
    EXPECT_EQ(class_name_fault(name), "begins or ends with a space");
  }
  for (const std::string name : {"a\tb", "a\rb", "a\x7f", "a\xc2\x85", "a\xe2\x80\xa8"}) {
    EXPECT_EQ(class_name_fault(name), "holds a tab or another control character");
  }
}

TEST(ClassNames, AListOfNamesHasOneForEachClassAndWithoutItNumbersAreNames) {
  const auto refusal_of = [](const Names& names, std::size_t classes) {
    return refusal<UsageError>([&] { require_class_names(names, classes); });
  };
  EXPECT_EQ(refusal_of({}, 3), "");
  EXPECT_EQ(refusal_of({"a", "b", "c"}, 3), "");
  EXPECT_THAT(refusal_of({"a", "b"}, 3), HasSubstr("there are 2 for 3 classes"));
  EXPECT_THAT(refusal_of({"a", "b", "a"}, 3), HasSubstr("\"a\" names both class 0 and class 2"));
  EXPECT_THAT(refusal_of({"a", "b\t"}, 2), HasSubstr("the name of class 1, holds a tab"));
  EXPECT_EQ(name_of_class({}, 12), "12");
  EXPECT_EQ(name_of_class(std::vector<std::string>{"a", "b"}, 1), "b");
}

TEST(FeatureNames, AreAsManyAsFeaturesOrNone) {
  const auto refusal_of = [](const Names& names) {
    return refusal<UsageError>([&] { require_feature_names(names, 2); });
  };
  EXPECT_EQ(refusal_of({}), "");
  EXPECT_EQ(refusal_of({"age", "age"}), "");
  EXPECT_THAT(refusal_of({"age"}), HasSubstr("there are 1 for 2 features"));
  EXPECT_THAT(refusal_of({"age", "caf\xe9"}), HasSubstr("the name of feature 1 is not UTF-8"));
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

}  // namespace dpreduce::public_names_test
