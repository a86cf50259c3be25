#include "common/data/array_formats.hpp"
#include "common/data/sharded_array.hpp"
#include "tests/common/data/array_reads.hpp"

namespace dpreduce::csv_array_test {

class CsvArray : public testing::Test {
 protected:
  std::unique_ptr<ArrayFile> opened(const std::string& text, ArrayRole role) {
    write_bytes(path_, text);
    return open_array(path_, role);
  }
  std::vector<float> features(const std::string& text) { return all_features(*opened(text, ArrayRole::kFeatures)); }
  std::vector<std::int32_t> labels(const std::string& text, const NamedClasses* names = nullptr) {
    return all_labels(*opened(text, ArrayRole::kLabels), names ? names->size() : 3, names);
  }
  std::vector<std::string> persons(const std::string& text) { return all_persons(*opened(text, ArrayRole::kPersons)); }
  void refused(const std::string& text, ArrayRole role, const std::string& message) {
    SCOPED_TRACE(text);
    expect_bad_input([&] { opened(text, role); }, {path_, message});
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
  EXPECT_THAT(features("7,8\n9,10\n"), ElementsAre(7, 8, 9, 10)) << "integers are features, too";
  EXPECT_TRUE(std::isnan(features("1,\n2,3\n")[1]));
  EXPECT_THAT(features("1e400,-1e400\n1e-400,2\n"), ElementsAre(INFINITY, -INFINITY, 0.0F, 2.0F));
}

// What a label stands for is no function of the others: with one that is no integer all are strings.
TEST_F(CsvArray, ALabelMeansTheSameWhateverTheOthersAre) {
  for (const char* const text : {"2\n0\n", "label\n2\n0\n"}) EXPECT_THAT(labels(text), ElementsAre(2, 0)) << text;
  const NamedClasses numerals({"1", "2", "3", "unknown"});
  for (const char* const text : {"0\n1\n", "0\nunknown\n", "4\n1\n", "01\nunknown\n"}) {
    EXPECT_THROW(labels(text, &numerals), BadInput) << text;
  }
  EXPECT_THAT(labels("1\n3\n2\n", &numerals), ElementsAre(0, 2, 1));
  EXPECT_THAT(labels("1\n3\n2\nunknown\n", &numerals), ElementsAre(0, 2, 1, 3));
  const NamedClasses animals({"cat", "dog, big"});
  EXPECT_THAT(labels("cat\n\"dog, big\"\ncat\n", &animals), ElementsAre(0, 1, 0));
  for (const char* const text : {"1\n0\n", "1\ncat\n"}) EXPECT_THAT(labels(text, &animals), ElementsAre(1, 0)) << text;
  const NamedClasses padded({"00", "01"});
  EXPECT_THAT(labels("01\n00\n", &padded), ElementsAre(1, 0));
}

// Else whoever says whether classes have names would learn whether one cell of a silo is no integer.
TEST_F(CsvArray, ANameAmongClassIndicesIsALabelThatIsNotListed) {
  const auto array = opened("1\nunknown\n7\n07\n0\n", ArrayRole::kLabels);
  EXPECT_THAT(all_labels(*array, 3, nullptr, UnlistedLabels::kTaken),
              ElementsAre(1, kUnlistedLabel, kUnlistedLabel, kUnlistedLabel, 0));
  expect_bad_input([&] { all_labels(*array, 3); }, {"labels are names"});
}

TEST_F(CsvArray, ALabelThatIsMissingOrWrittenAsAFloatIsToldByItsRow) {
  const auto refused_labels = [&](const std::string& text, const std::string& message) {
    SCOPED_TRACE(text);
    expect_bad_input([&] { labels(text); }, {message});
  };
  refused_labels("1\n2.0\n", "row 1 has label \"2.0\", which is no integer; write 2");
  refused_labels("1.0\n2\n0\n", "row 0 has label \"1.0\", which is no integer; write 1");
  refused_labels("y\n1\n\"\"\n0\n", "row 2 has no label");
  refused_labels("cat\n1\ndog\n", "labels are names: row 0 has \"cat\"");
  refused_labels("1\ncat\n", "labels are names: row 1 has \"cat\"; list all");
  refused_labels("1\n7\ncat\n", "row 1 has label 7, outside 0 to 2; correct it");
}

TEST_F(CsvArray, AnIdentifierIsThatOfOnePersonWhateverTheOthersAre) {
  EXPECT_THAT(persons("7\n8\n"), ElementsAre("7", "8"));
  EXPECT_THAT(persons("7\n07\n"), ElementsAre("7", "07"));
  EXPECT_THAT(persons("7\n07\nx1\n"), ElementsAre("7", "07", "x1"));
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
  refused(std::string("2\n1\0\n", 5), kLabels, "line 2 has a zero byte; write the table as UTF-8 text");
  refused(std::string(2000, 'a') + "\n", kLabels, "has a name of more than 1024 bytes");
  // What to_csv writes of columns without names, and of a table where cells are between semicolons.
  refused("0,1,2\n.5,.2,.1\n", kFeatures, "line 1 counts 0, 1, 2, ..., as pandas names columns");
  refused(",0,1,2\n0,.5,.2,.1\n", kFeatures, "line 1 has no name for the first column");
  refused("a;b\n0,5;1,25\n", kFeatures, "line 2 has cells between semicolons or tabs; write commas");
  EXPECT_NO_THROW(opened("0,1\n.5,.2\n", kFeatures)) << "a row of many tables";
  EXPECT_NO_THROW(opened("0,1,3\n.5,.2,.1\n", kFeatures));
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
    return std::pair(all_features(*array), array->column_names());
  };
  using Names = std::vector<std::string>;
  using Both = std::pair<std::vector<float>, Names>;
  EXPECT_EQ(read("\"height, cm\",age"), (Both{{180.5F, 30.0F, 170.0F, 40.0F}, {"height, cm", "age"}}));
  EXPECT_EQ(read("-id, ill,why"), (Both{{30.0F, 180.5F, 40.0F, 170.0F}, {"age", "height, cm"}}));
  EXPECT_THAT(all_labels(*open_array(path_ + ":ill", ArrayRole::kLabels), 2), ElementsAre(1, 0));
  const NamedClasses names({"c", "a,b"});
  EXPECT_THAT(all_labels(*open_array(path_ + ":why", ArrayRole::kLabels), 2, &names), ElementsAre(1, 0))
      << "the line of names is no label";

  const auto refused_columns = [&](const std::string& columns, const std::string& message) {
    expect_bad_input([&] { open_array(path_ + ":" + columns, ArrayRole::kFeatures); }, {path_, message});
  };
  refused_columns("age,weight", "names no column \"weight\", but \"id, age, height, cm, ill, why\"");
  refused_columns("age,id,age", "the path lists column \"age\" twice; list it once");
  refused_columns("-id,age,\"height, cm\",ill,why", "names no column but those that");
  refused_columns("why", "line 2 has the cell \"a,b\", which is not a number");
  write_bytes(path_, "a,a\n1,2\n");
  expect_bad_input([&] { open_array(path_ + ":a", ArrayRole::kFeatures); }, {"more than one column \"a\""});
}

TEST_F(CsvArray, ATableOfIdentifiersAndLabelsAsksForTheColumn) {
  using enum ArrayRole;
  refused("a,b\nc,d\n", kLabels, "line 1 has 2 cells; name the column to read, as in " + path_ + ":label");
  refused("id,sick\n17,1\n18,0\n", kLabels, "2 columns of labels that are not all 0 or 1");
  refused("id,sick\n17,1\n18,0\n", kLabels, "name the column to read in the path, as in " + path_ + ":sick");
  EXPECT_EQ(opened("cat,dog\n1,1\n1,0\n", kLabels)->columns(), 2U) << "rows of several classes";
}

}  // namespace dpreduce::csv_array_test
