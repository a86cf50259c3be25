#include <fcntl.h>
#include <sys/stat.h>

#include "common/base/file_descriptor.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/without_calls.hpp"

namespace dpreduce::file_features_test {

TEST(FileFeatures, WhatAFileSystemLacksIsTheCauseAndHasACure) {
  for (const int missing : {ENOSYS, EOPNOTSUPP, ENOLCK}) {
    EXPECT_THAT(reason_of(missing, FileFeature::kLocks), HasSubstr("has no locks (flock)"));
    EXPECT_THAT(reason_of(missing, FileFeature::kLocks), HasSubstr("name a path on a local disk"));
  }
  EXPECT_THAT(reason_of(EPERM, FileFeature::kLinks), HasSubstr("has no hard links"));
  EXPECT_THAT(reason_of(EPERM, FileFeature::kModes), HasSubstr("keeps no permissions"));
  EXPECT_EQ(reason_of(ENOSPC, FileFeature::kLinks), "No space left on device");
  EXPECT_EQ(reason_of(EPERM, FileFeature::kLocks), "Operation not permitted");
}

TEST(FileFeatures, PermissionsThatAreForcedAreTold) {
  const TemporaryFolder folder;
  const FileDescriptor file(::open((folder / "x").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  ASSERT_EQ(::fchmod(file.get(), 0755), 0);
  std::string forced;
  std::string refused;
  if (!run_without({SYS_fchmod}, 0, [&] { forced = forced_mode(file.get()); })) GTEST_SKIP();
  run_without({SYS_fchmod}, EPERM, [&] { refused = forced_mode(file.get()); });
  EXPECT_THAT(forced, HasSubstr("but the file system forces 0755"));
  EXPECT_THAT(refused, HasSubstr("mounted with file mode 0600"));
  EXPECT_EQ(forced_mode(file.get()), "");
  struct stat status {};
  ASSERT_EQ(::fstat(file.get(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0600u);
}

}  // namespace dpreduce::file_features_test
