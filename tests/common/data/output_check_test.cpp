#include "common/base/error.hpp"
#include "common/data/npy_writer.hpp"
#include "common/data/worker_rows.hpp"
#include "tests/common/data/data_files.hpp"
#include "tests/testing.hpp"

namespace dpreduce::output_check_test {

class OutputCheckTest : public testing::Test {
 protected:
  OutputCheckTest() {
    NpyWriter x(folder_ / "x.npy", DType::kFloat32, {2, 1});
    x.append(std::vector<float>{1.0F, 2.0F});
    x.commit();
    NpyWriter y(folder_ / "y.npy", DType::kInt64, {2});
    y.append(std::vector<std::int64_t>{0, 1});
    y.commit();
  }

  void check(const std::string& output) const {
    const WorkerRows rows = WorkerRows::open({folder_ / "x.npy"}, {folder_ / "y.npy"}, 0, 1);
    require_not_read(std::array{NamedPath{"--report", ""}, NamedPath{"--out", output}}, rows);
  }

  TemporaryFolder folder_;
};

TEST_F(OutputCheckTest, AFileOfFeaturesOrLabelsIsRefusedByBothNames) {
  for (const char* name : {"x.npy", "y.npy"}) {
    EXPECT_EQ(
        refusal<UsageError>([&] { check(folder_ / name); }),
        "--out " + (folder_ / name) + ": is the input " + (folder_ / name) + "; name another file for the output");
  }
}

TEST_F(OutputCheckTest, LinksOfBothKindsAreSeenThrough) {
  std::filesystem::create_symlink(folder_ / "x.npy", folder_ / "soft");
  std::filesystem::create_hard_link(folder_ / "y.npy", folder_ / "hard");
  std::filesystem::create_directory(folder_ / "inner");
  EXPECT_THROW(check(folder_ / "soft"), UsageError);
  EXPECT_THROW(check(folder_ / "hard"), UsageError);
  EXPECT_THROW(check(folder_ / "inner/../x.npy"), UsageError);
}

TEST_F(OutputCheckTest, OtherFilesAndDevicesMayBeOutputs) {
  std::filesystem::copy_file(folder_ / "x.npy", folder_ / "copy.npy");
  EXPECT_NO_THROW(check(folder_ / "copy.npy"));
  EXPECT_NO_THROW(check(folder_ / "new.npy"));
  EXPECT_NO_THROW(check("/dev/null"));
  EXPECT_NO_THROW(check("/dev/stdout"));
}

}  // namespace dpreduce::output_check_test
