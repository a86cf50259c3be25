#include "common/data/named_classes.hpp"

#include "tests/common/data/data_files.hpp"

namespace dpreduce::named_classes_test {

using Names = std::vector<std::string>;

const Names kNames = {"setosa", "versicolor", "virginica"};

TEST(NamedClasses, ANameIsTheClassOfItsPlace) {
  const NamedClasses classes(kNames);
  ASSERT_EQ(classes.size(), 3u);
  for (std::int32_t k = 0; k < 3; ++k) EXPECT_EQ(classes.find(kNames[static_cast<std::size_t>(k)]), k);
  for (const std::string other : {"", "Setosa", "setosa ", "0"}) EXPECT_FALSE(classes.find(other)) << other;
  EXPECT_EQ(named_classes({}), nullptr);
  EXPECT_EQ(named_classes(kNames)->size(), 3u);
  EXPECT_THROW(NamedClasses({"a", "a"}), UsageError);
}

TEST(NamedClasses, ARefusalNamesTheNearestClassAndTellsHowSeveralAreWritten) {
  const NamedClasses classes(kNames);
  EXPECT_THAT(classes.refusal("setoas"), AllOf(HasSubstr("label \"setoas\""), HasSubstr("did you mean \"setosa\"?")));
  EXPECT_THAT(classes.refusal("Virginica"), HasSubstr("did you mean \"virginica\"?"));
  EXPECT_THAT(classes.refusal("rose"), AllOf(HasSubstr("not in the list"), Not(HasSubstr("did you mean"))));
  for (const std::string label : {"setosa,virginica", "setosa; virginica", "setosa versicolor|virginica"}) {
    EXPECT_THAT(classes.refusal(label), HasSubstr("several classes")) << label;
  }
  EXPECT_THAT(classes.refusal("setosa,"), HasSubstr("did you mean \"setosa\"?"));
  EXPECT_THAT(classes.refusal("setosa,rose"), HasSubstr("not in the list"));
}

TEST(ClassNamesFile, EachLineNamesTheNextClass) {
  for (const std::string text :
       {"setosa\nIris versicolor\nvirginica, större", "setosa\nIris versicolor\nvirginica, större\n",
        "\xef\xbb\xbfsetosa\r\nIris versicolor\r\nvirginica, större\r\n"}) {
    EXPECT_THAT(parse_class_names(text, "n"), ElementsAre("setosa", "Iris versicolor", "virginica, större")) << text;
  }
}

TEST(ClassNamesFile, ABadNameIsToldWithItsLine) {
  const auto refused = [](const std::string& text, const std::vector<std::string>& parts) {
    SCOPED_TRACE(text);
    expect_bad_input([&] { parse_class_names(text, "names.txt"); }, parts);
  };
  refused("a\n\nb\n", {"--class-names names.txt, line 2", "is empty"});
  refused("a\nb\n\n", {"names.txt, line 3", "is empty"});
  refused("a\nb\tc\n", {"names.txt, line 2", "control character"});
  refused("a\nb\nc\nb\n", {"names.txt, line 4", "\"b\" is already in line 2"});
  refused("", {"names.txt: lists 0 classes"});
  refused("only\n", {"names.txt: lists 1 classes", "at least 2"});
}

TEST(ClassNamesFile, AFileThatCannotBeReadIsNamed) {
  const TemporaryFolder folder;
  write_bytes(folder / "names.txt", "a\nb\n");
  EXPECT_EQ(read_class_names(folder / "names.txt"), (Names{"a", "b"}));
  expect_bad_input([&] { read_class_names(folder / "absent.txt"); }, {"absent.txt", "No such file"});
  expect_bad_input([&] { read_class_names(folder.path()); }, {"is a folder"});
  write_bytes(folder / "large.txt", std::string(kLargestClassNamesFile + 1, 'x'));
  expect_bad_input([&] { read_class_names(folder / "large.txt"); }, {"large.txt", "larger than 16 MiB"});
}

}  // namespace dpreduce::named_classes_test
