#include "common/base/output_file.hpp"
#include "tests/common/data/data_files.hpp"
#include "tests/testing.hpp"

namespace dpreduce::csv_writer_test {

using Columns = std::vector<std::string>;

class CsvWriterTest : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "t.csv";
};

TEST_F(CsvWriterTest, FieldsThatHoldSeparatorsStandInQuotes) {
  CsvWriter writer(path_, Columns{"name", "a \"b\", c"});
  writer.add(std::string_view("plain word"));
  writer.add(std::int64_t{-3});
  writer.add(std::string_view("two\nlines"));
  writer.add(0.1F);
  EXPECT_FALSE(is_file(path_));
  writer.commit();
  EXPECT_EQ(read_bytes(path_), "name,\"a \"\"b\"\", c\"\nplain word,-3\n\"two\nlines\",0.1\n");
}

TEST_F(CsvWriterTest, FloatsComeBackBitForBit) {
  const std::vector<float> numbers = {1.0F / 3.0F, -1e-40F, std::numeric_limits<float>::max(), 0.0F, 16777216.0F};
  CsvWriter writer(path_, Columns{"x"});
  for (const float number : numbers) writer.add(number);
  writer.commit();
  std::ifstream file(path_);
  std::string line;
  std::getline(file, line);
  for (const float number : numbers) {
    std::getline(file, line);
    EXPECT_EQ(std::strtof(line.c_str(), nullptr), number) << line;
  }
}

TEST_F(CsvWriterTest, ARowThatIsNotWholeIsABug) {
  CsvWriter writer(path_, Columns{"x", "y"});
  writer.add(1.0F);
  EXPECT_THROW(writer.commit(), std::logic_error);
  EXPECT_THROW(CsvWriter(folder_ / "u.csv", Columns{}), std::logic_error);
}

TEST_F(CsvWriterTest, AFileThatIsThereIsKept) {
  write_bytes(path_, "old");
  expect_bad_input([&] { CsvWriter(path_, Columns{"x"}); }, {"t.csv", "already exists"});
  CsvWriter writer(path_, Columns{"x"}, Existing::kReplace);
  EXPECT_EQ(read_bytes(path_), "old");
  writer.commit();
  EXPECT_EQ(read_bytes(path_), "x\n");
}

TEST(TablePath, TheSuffixTellsTheFormat) {
  for (const std::string path : {"a.csv", "folder.npy/a.CSV"}) EXPECT_TRUE(is_csv(path)) << path;
  for (const std::string path : {"a.npy", "/dev/stdout", "folder.csv/a"}) {
    EXPECT_FALSE(is_csv(path)) << path;
    EXPECT_NO_THROW(require_table_path("--out", path)) << path;
  }
}

TEST(TablePath, OtherSuffixesAreRefused) {
  for (const std::string path : {"a.txt", "a.csv.gz", "a.parquet", "a.npz"}) {
    EXPECT_EQ(refusal<UsageError>([&] { require_table_path("--scores", path); }),
              "--scores " + path + ": tables are written as .npy or .csv; end the name with one of these");
  }
}

}  // namespace dpreduce::csv_writer_test
