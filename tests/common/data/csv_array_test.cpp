#include "common/data/csv_array.hpp"

#include "common/data/sharded_array.hpp"
#include "tests/common/data/data_files.hpp"

namespace dpreduce::csv_array_test {

class CsvArray : public testing::Test {
 protected:
  std::unique_ptr<ArrayFile> opened(const std::string& text, ArrayRole role) {
    write_bytes(path_, text);
    return open_array(path_, role);
  }
  std::vector<float> features(const std::string& text) {
    const auto array = opened(text, ArrayRole::kFeatures);
    array->require_holds_features();
    std::vector<float> values(array->rows() * array->columns());
    array->read_features(0, array->rows(), values);
    return values;
  }
  void refused(const std::string& text, ArrayRole role, const std::string& message) {
    expect_refusal<BadInput>([&] { opened(text, role); }, {path_, message});
  }

  TemporaryFolder folder_;
  std::string path_ = folder_ / "x.csv";
};

TEST_F(CsvArray, FeaturesAreNumbersWithOrWithoutALineOfNames) {
  const std::vector<float> expected = {0.5F, -1.0F, 1000.0F, 3.0F};
  for (const char* const text :
       {"0.5,-1\n1e3,3\n", "f0,f1\n0.5,-1\n1e3,3", "\xef\xbb\xbf\"f0\",\"f1\"\r\n0.5, -1\r\n+1e3,3\r\n\r\n"}) {
    EXPECT_EQ(features(text), expected) << text;
  }
  const std::vector<float> whole = features("7,8\n9,10\n");
  EXPECT_EQ(whole, (std::vector<float>{7, 8, 9, 10})) << "integers are features, too";
  EXPECT_TRUE(std::isnan(features("1,\n2,3\n")[1]));
}

TEST_F(CsvArray, LabelsAreIntegersOrNames) {
  for (const char* const text : {"2\n0\n", "label\n2\n0\n"}) {
    const auto array = opened(text, ArrayRole::kLabels);
    std::vector<std::int32_t> labels(2);
    array->require_holds_labels(nullptr);
    array->read_labels(0, 2, 3, labels);
    EXPECT_EQ(labels, (std::vector<std::int32_t>{2, 0})) << text;
  }
  const NamedClasses names({"cat", "dog, big"});
  std::vector<std::int32_t> labels(3);
  const auto array = opened("cat\n\"dog, big\"\ncat\n", ArrayRole::kLabels);
  array->require_holds_labels(&names);
  array->read_labels(0, 3, 2, labels, &names);
  EXPECT_EQ(labels, (std::vector<std::int32_t>{0, 1, 0}));
}

// What a label stands for is no function of the others: with one that is no integer all are strings.
TEST_F(CsvArray, ALabelMeansTheSameWhateverTheOthersAre) {
  const auto labels = [&](const std::string& text, const NamedClasses& names) {
    const auto array = opened(text, ArrayRole::kLabels);
    array->require_holds_labels(&names);
    std::vector<std::int32_t> classes(array->rows());
    array->read_labels(0, array->rows(), names.size(), classes, &names);
    return classes;
  };
  const NamedClasses numerals({"1", "2", "3", "unknown"});
  EXPECT_EQ(labels("1\n3\n2\n", numerals), (std::vector<std::int32_t>{0, 2, 1}));
  EXPECT_EQ(labels("1\n3\n2\nunknown\n", numerals), (std::vector<std::int32_t>{0, 2, 1, 3}));
  for (const char* const text : {"0\n1\n", "0\nunknown\n", "4\n1\n", "01\nunknown\n"}) {
    EXPECT_THROW(labels(text, numerals), BadInput) << text;
  }
  const NamedClasses animals({"cat", "dog"});
  EXPECT_EQ(labels("1\n0\n", animals), (std::vector<std::int32_t>{1, 0}));
  EXPECT_EQ(labels("1\ncat\n", animals), (std::vector<std::int32_t>{1, 0}));
  const NamedClasses padded({"00", "01"});
  EXPECT_EQ(labels("01\n00\n", padded), (std::vector<std::int32_t>{1, 0}));
}

// Else whoever says whether classes have names would learn whether one cell of a silo is no integer.
TEST_F(CsvArray, ANameAmongClassIndicesIsALabelThatIsNotListed) {
  const auto array = opened("1\nunknown\n7\n07\n0\n", ArrayRole::kLabels);
  std::vector<std::int32_t> labels(5);
  array->require_holds_labels(nullptr);
  array->read_labels(0, 5, 3, labels, nullptr, UnlistedLabels::kTaken);
  EXPECT_EQ(labels, (std::vector<std::int32_t>{1, kUnlistedLabel, kUnlistedLabel, kUnlistedLabel, 0}));
  EXPECT_THAT([&] { array->read_labels(0, 5, 3, labels); }, ThrowsMessage<BadInput>(HasSubstr("labels are names")));
}

TEST_F(CsvArray, ALabelThatIsMissingOrWrittenAsAFloatIsToldByItsRow) {
  const auto refused = [&](const std::string& text) {
    const auto array = opened(text, ArrayRole::kLabels);
    std::vector<std::int32_t> labels(array->rows());
    try {
      array->read_labels(0, array->rows(), 3, labels);
    } catch (const BadInput& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refused("1\n2.0\n"), HasSubstr("row 1 has label \"2.0\", which is no integer; write 2"));
  EXPECT_THAT(refused("y\n1\n\"\"\n0\n"), HasSubstr("row 2 has no label"));
  EXPECT_THAT(refused("cat\n1\ndog\n"), HasSubstr("labels are names: row 0 has \"cat\""));
  EXPECT_THAT(refused("1\ncat\n"), HasSubstr("labels are names: row 1 has \"cat\"; list all"));
  EXPECT_THAT(refused("1\n7\ncat\n"), HasSubstr("row 1 has label 7, outside 0 to 2; correct it"));
}

// What to_csv writes of columns without names, and of a table where cells are between semicolons.
TEST_F(CsvArray, LinesThatAreNoRowsAreRefused) {
  const auto refused = [&](const std::string& text) {
    try {
      opened(text, ArrayRole::kFeatures);
    } catch (const BadInput& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refused("0,1,2\n.5,.2,.1\n"), HasSubstr("line 1 counts 0, 1, 2, ..., as pandas names columns"));
  EXPECT_THAT(refused(",0,1,2\n0,.5,.2,.1\n"), HasSubstr("line 1 has no name for the first column"));
  EXPECT_EQ(refused("0,1\n.5,.2\n"), "") << "a row of many tables";
  EXPECT_EQ(refused("0,1,3\n.5,.2,.1\n"), "");
  EXPECT_THAT(refused("a;b\n0,5;1,25\n"), HasSubstr("line 2 has cells between semicolons or tabs; write commas"));
}

TEST_F(CsvArray, AnIdentifierIsThatOfOnePersonWhateverTheOthersAre) {
  const auto persons = [&](const std::string& text) {
    std::vector<std::string> seen;
    const VisitPersons visit{[&](std::span<const std::int64_t> some) {
                               for (const std::int64_t person : some) seen.push_back(std::to_string(person));
                             },
                             [&](std::string_view person) { seen.emplace_back(person); }};
    const auto array = opened(text, ArrayRole::kPersons);
    array->visit_persons(0, 2, visit);
    return seen;
  };
  EXPECT_EQ(persons("7\n07\n"), (std::vector<std::string>{"7", "07"}));
  EXPECT_EQ(persons("7\n07\nx1\n"), (std::vector<std::string>{"7", "07"}));
}

TEST_F(CsvArray, IdentifiersAreIntegersOrStrings) {
  std::vector<std::string> seen;
  const VisitPersons visit{[&](std::span<const std::int64_t> persons) {
                             for (const std::int64_t person : persons) seen.push_back(std::to_string(person));
                           },
                           [&](std::string_view person) { seen.emplace_back(person); }};
  for (const char* const text : {"7\n8\n", "a1\nb2\n"}) {
    const auto array = opened(text, ArrayRole::kPersons);
    array->require_holds_persons();
    array->visit_persons(0, 2, visit);
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"7", "8", "a1", "b2"}));
}

TEST_F(CsvArray, WhatIsNoTableIsRefusedWithItsLine) {
  using enum ArrayRole;
  refused("1,2\n3\n", kFeatures, "line 2 has 1 cells where the first line has 2");
  refused("1,2\n3,x\n", kFeatures, "line 2 has the cell \"x\", which is not a number");
  refused("1,NA\n3,4\n", kFeatures, "line 1 has the cell \"NA\", which is not a number");
  refused("1;2\n3;4\n", kFeatures, "line 2 has the cell \"3;4\", which is not a number; separate cells by commas");
  refused("1,2\n\n3,4\n", kFeatures, "line 2 is empty; leave it out");
  refused(",f0\n0,1\n", kFeatures, "index=False");
  refused("a,b\n", kFeatures, "has no row");
  refused("NA,NA\n1,2\n", kFeatures, "line 1 has the same in every cell, as a row without values does");
  refused("b\xff,c\n1,2\n", kTargets, "a name of a column is not UTF-8 text");
  refused("1,2\n3,x\n", kFeatures, "leave it out by its name, as in t.csv:-name");
  refused(std::string(2000, 'a') + "\n", kLabels, "has a name of more than 1024 bytes");
}

TEST_F(CsvArray, ANumberWithADecimalCommaIsRefusedByNameAndNeverReadAsTwo) {
  using enum ArrayRole;
  const std::string unquoted = "has \"10,744\", two cells, or one number with a decimal comma; write 10.744";
  for (const ArrayRole role : {kFeatures, kTargets, kWeights}) {
    refused("price\n10,744\n", role, "line 2 " + unquoted);
    refused("price\n9.5\n10,744\n", role, "line 3 " + unquoted);
    refused("7\n10,744\n", role, "line 2 " + unquoted);
    refused("price\n\"10,744\"\n", role, "line 2 has the cell \"10,744\", which is not a number");
  }
  for (const ArrayRole role : {kTargets, kWeights}) refused("-3,25\n10,744\n", role, "line 2 " + unquoted);
  EXPECT_EQ(opened("a,b\n10,744\n", kTargets)->columns(), 2U);
  EXPECT_EQ(opened("10,744\n1.5,2\n", kTargets)->columns(), 2U);
}

TEST_F(CsvArray, ATableOfFeaturesStandsBesideOtherFiles) {
  write_bytes(path_, "0,1\n2,3\n");
  write_features(folder_ / "x.npy", 2, 2, 4.0F);
  const ShardedArray both({path_, folder_ / "x.npy"}, ArrayRole::kFeatures);
  EXPECT_EQ(both.rows(), 4u);
  EXPECT_EQ(both.held_bytes(), 4 * sizeof(float)) << "the table is in memory, the other file is not";
}

TEST_F(CsvArray, ColumnsAreChosenByTheirNames) {
  write_bytes(path_, "id,age,\"height, cm\",ill,why\np1,30,180.5,1,\"a,b\"\np2,40,170,0,c\n");
  const auto read = [&](const std::string& columns) {
    const auto array = open_array(path_ + ":" + columns, ArrayRole::kFeatures);
    std::vector<float> values(array->rows() * array->columns());
    array->read_features(0, array->rows(), values);
    return std::pair(values, array->column_names());
  };
  using Names = std::vector<std::string>;
  const std::vector<float> both = {180.5F, 30.0F, 170.0F, 40.0F};
  EXPECT_EQ(read("\"height, cm\",age"), std::pair(both, (Names{"height, cm", "age"})));
  EXPECT_EQ(read("-id, ill,why"),
            std::pair((std::vector<float>{30.0F, 180.5F, 40.0F, 170.0F}), (Names{"age", "height, cm"})));
  const auto labels = open_array(path_ + ":ill", ArrayRole::kLabels);
  std::vector<std::int32_t> classes(2);
  labels->read_labels(0, 2, 2, classes);
  EXPECT_EQ(classes, (std::vector<std::int32_t>{1, 0}));
  const NamedClasses names({"c", "a,b"});
  open_array(path_ + ":why", ArrayRole::kLabels)->read_labels(0, 2, 2, classes, &names);
  EXPECT_EQ(classes, (std::vector<std::int32_t>{1, 0})) << "the line of names is no label";

  const auto refused_columns = [&](const std::string& columns, const std::string& message) {
    expect_refusal<BadInput>([&] { open_array(path_ + ":" + columns, ArrayRole::kFeatures); }, {path_, message});
  };
  refused_columns("age,weight", "names no column \"weight\", but \"id, age, height, cm, ill, why\"");
  refused_columns("-id,age,\"height, cm\",ill,why", "names no column but those that");
  refused_columns("why", "line 2 has the cell \"a,b\", which is not a number");
  write_bytes(path_, "a,a\n1,2\n");
  expect_refusal<BadInput>([&] { open_array(path_ + ":a", ArrayRole::kFeatures); }, {"more than one column \"a\""});
}

TEST_F(CsvArray, ATableOfIdentifiersAndLabelsAsksForTheColumn) {
  using enum ArrayRole;
  refused("a,b\nc,d\n", kLabels, "line 1 has 2 cells; name the column to read, as in " + path_ + ":label");
  refused("id,sick\n17,1\n18,0\n", kLabels, "2 columns of labels that are not all 0 or 1");
  refused("id,sick\n17,1\n18,0\n", kLabels, "name the column to read in the path, as in " + path_ + ":sick");
  EXPECT_EQ(opened("cat,dog\n1,1\n1,0\n", kLabels)->columns(), 2U) << "rows of several classes";
}

}  // namespace dpreduce::csv_array_test
