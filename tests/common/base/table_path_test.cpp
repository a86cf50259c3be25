
#include "common/base/csv_writer.hpp"
#include "common/base/error.hpp"
#include "tests/testing.hpp"

namespace dpreduce::table_path_test {

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

}  // namespace dpreduce::table_path_test
