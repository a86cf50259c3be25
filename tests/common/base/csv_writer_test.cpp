#include "common/base/csv_writer.hpp"

#include "tests/common/data/data_files.hpp"
#include "tests/testing.hpp"

namespace dpreduce::csv_writer_test {

using Columns = std::vector<std::string>;

TEST(CsvWriter, FieldsThatHoldSeparatorsStandInQuotes) {
  const TemporaryFolder folder;
  CsvWriter writer(folder / "t.csv", Columns{"name", "a \"b\", c"});
  writer.add(std::string_view("plain word"));
  writer.add(std::int64_t{-3});
  writer.add(std::string_view("two\nlines"));
  writer.add(0.1F);
  EXPECT_FALSE(is_file(folder / "t.csv"));
  writer.commit();
  EXPECT_EQ(read_bytes(folder / "t.csv"), "name,\"a \"\"b\"\", c\"\nplain word,-3\n\"two\nlines\",0.1\n");
}

TEST(CsvWriter, FloatsComeBackBitForBit) {
  const TemporaryFolder folder;
  const std::vector<float> numbers = {1.0F / 3.0F, -1e-40F, std::numeric_limits<float>::max(), 0.0F, 16777216.0F};
  CsvWriter writer(folder / "t.csv", Columns{"x"});
  for (const float number : numbers) writer.add(number);
  writer.commit();
  std::ifstream file(folder / "t.csv");
  std::string line;
  std::getline(file, line);
  for (const float number : numbers) {
    std::getline(file, line);
    EXPECT_EQ(std::strtof(line.c_str(), nullptr), number) << line;
  }
}

TEST(CsvWriter, ARowThatIsNotWholeIsABug) {
  const TemporaryFolder folder;
  CsvWriter writer(folder / "t.csv", Columns{"x", "y"});
  writer.add(1.0F);
  EXPECT_THROW(writer.commit(), std::logic_error);
  EXPECT_THROW(CsvWriter(folder / "u.csv", Columns{}), std::logic_error);
}

TEST(CsvWriter, AFileThatIsThereIsKept) {
  const TemporaryFolder folder;
  write_bytes(folder / "t.csv", "old");
  expect_bad_input([&] { CsvWriter(folder / "t.csv", Columns{"x"}); }, {"t.csv", "already exists"});
  CsvWriter writer(folder / "t.csv", Columns{"x"}, Existing::kReplace);
  EXPECT_EQ(read_bytes(folder / "t.csv"), "old");
  writer.commit();
  EXPECT_EQ(read_bytes(folder / "t.csv"), "x\n");
}

}  // namespace dpreduce::csv_writer_test
