#include "common/files/line_file.hpp"

#include "tests/common/data/data_files.hpp"
#include "tests/testing.hpp"

namespace dpreduce::line_file_test {

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class LineFileTest : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "lines";
};

TEST_F(LineFileTest, LinesAreThereAsSoonAsTheyAreWritten) {
  LineFile file(path_, Existing::kKeep);
  file.write("one");
  EXPECT_EQ(read(path_), "one\n");
  file.write("two");
  EXPECT_EQ(read(path_), "one\ntwo\n");
}

TEST_F(LineFileTest, AFileThatIsThereIsKept) {
  write_bytes(path_, "mine");
  EXPECT_THROW(LineFile(path_, Existing::kKeep), BadInput);
  EXPECT_EQ(read(path_), "mine");
}

TEST_F(LineFileTest, AFileIsReplacedByTheFirstLineAndNotSooner) {
  write_bytes(path_, "a longer text than the new one");
  { const LineFile unwritten(path_, Existing::kReplace); }
  EXPECT_EQ(read(path_), "a longer text than the new one");
  LineFile file(path_, Existing::kReplace);
  file.write("new");
  EXPECT_EQ(read(path_), "new\n");
}

TEST_F(LineFileTest, WithoutALineThereIsNoFile) {
  { const LineFile unwritten(path_, Existing::kKeep); }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(LineFileTest, AFolderAndAnEmptyNameAreRefused) {
  EXPECT_THROW(LineFile(folder_.path(), Existing::kReplace), BadInput);
  EXPECT_THROW(LineFile(folder_ / "absent/lines", Existing::kKeep), BadInput);
  EXPECT_THROW(LineFile("", Existing::kKeep), BadInput);
}

TEST_F(LineFileTest, AFullDiskIsAnError) {
  LineFile file("/dev/full", Existing::kKeep);
  EXPECT_THROW(file.write("line"), BadInput);
}

}  // namespace dpreduce::line_file_test
