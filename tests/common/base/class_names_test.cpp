#include "common/base/class_names.hpp"

#include "common/base/error.hpp"
#include "tests/testing.hpp"

namespace dpreduce::class_names_test {

TEST(ClassNames, WordsOfAnyLanguageWithSpacesWithinAreNames) {
  for (const std::string name : {"a", "0", "Iris setosa", "café, crème", "猫", "\"quoted\"", "a\\b"}) {
    EXPECT_EQ(flaw_of_class_name(name), "") << name;
  }
  EXPECT_EQ(flaw_of_class_name(std::string(1000, 'x')), "");
}

TEST(ClassNames, EveryFlawIsTold) {
  EXPECT_EQ(flaw_of_class_name(""), "is empty");
  EXPECT_EQ(flaw_of_class_name(std::string(1001, 'x')), "is longer than 1000 bytes");
  EXPECT_EQ(flaw_of_class_name("caf\xe9"), "is no UTF-8 text");
  for (const std::string name : {" a", "a ", " "}) {
    EXPECT_EQ(flaw_of_class_name(name), "begins or ends with a space");
  }
  for (const std::string name : {"a\tb", "a\rb", "a\x7f", "a\xc2\x85", "a\xe2\x80\xa8"}) {
    EXPECT_EQ(flaw_of_class_name(name), "holds a tab or another control character");
  }
}

TEST(ClassNames, AListOfNamesHasOneForEachClass) {
  const auto refusal_of = [](const std::vector<std::string>& names, std::size_t classes) {
    return refusal<UsageError>([&] { check_class_names(names, classes); });
  };
  EXPECT_EQ(refusal_of({}, 3), "");
  EXPECT_EQ(refusal_of({"a", "b", "c"}, 3), "");
  EXPECT_THAT(refusal_of({"a", "b"}, 3), HasSubstr("there are 2 for 3 classes"));
  EXPECT_THAT(refusal_of({"a", "b", "a"}, 3), HasSubstr("\"a\" is that of class 0 and of class 2"));
  EXPECT_THAT(refusal_of({"a", "b\t"}, 2), HasSubstr("that of class 1, holds a tab"));
}

TEST(ClassNames, AClassWithoutANameGoesByItsNumber) {
  EXPECT_EQ(name_of_class({}, 12), "12");
  EXPECT_EQ(name_of_class(std::vector<std::string>{"a", "b"}, 1), "b");
}

}  // namespace dpreduce::class_names_test
