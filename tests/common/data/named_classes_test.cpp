#include "common/data/named_classes.hpp"

#include "common/base/error.hpp"
#include "tests/testing.hpp"

namespace dpreduce::named_classes_test {

const std::vector<std::string> kNames = {"setosa", "versicolor", "virginica"};

TEST(NamedClasses, ANameIsTheClassOfItsPlace) {
  const NamedClasses classes(kNames);
  ASSERT_EQ(classes.size(), 3u);
  for (std::int32_t k = 0; k < 3; ++k) EXPECT_EQ(classes.find(kNames[static_cast<std::size_t>(k)]), k);
  for (const std::string other : {"", "Setosa", "setosa ", "0"}) EXPECT_FALSE(classes.find(other)) << other;
}

TEST(NamedClasses, ARefusalNamesTheNearestClass) {
  const NamedClasses classes(kNames);
  EXPECT_THAT(classes.refusal("setoas"), AllOf(HasSubstr("label \"setoas\""), HasSubstr("did you mean \"setosa\"?")));
  EXPECT_THAT(classes.refusal("Virginica"), HasSubstr("did you mean \"virginica\"?"));
  EXPECT_THAT(classes.refusal("rose"), AllOf(HasSubstr("not in the list"), Not(HasSubstr("did you mean"))));
}

TEST(NamedClasses, ALabelOfSeveralNamesIsToldHowToBeWritten) {
  const NamedClasses classes(kNames);
  for (const std::string label : {"setosa,virginica", "setosa; virginica", "setosa versicolor|virginica"}) {
    EXPECT_THAT(classes.refusal(label), HasSubstr("several classes")) << label;
  }
  EXPECT_THAT(classes.refusal("setosa,"), HasSubstr("did you mean \"setosa\"?"));
  EXPECT_THAT(classes.refusal("setosa,rose"), HasSubstr("not in the list"));
}

TEST(NamedClasses, NoNamesAreNoList) {
  EXPECT_EQ(named_classes({}), nullptr);
  EXPECT_EQ(named_classes(kNames)->size(), 3u);
  EXPECT_THROW(NamedClasses({"a", "a"}), UsageError);
}

}  // namespace dpreduce::named_classes_test
