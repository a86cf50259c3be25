#include "fit/machine_memory.hpp"

#include "common/base/error.hpp"
#include "tests/common/data/data_files.hpp"
#include "tests/testing.hpp"

namespace dpreduce::machine_memory_test {

constexpr std::uint64_t kMib = 1 << 20;

// A /proc and /sys of our own.
class MachineMemoryTest : public testing::Test {
 protected:
  MachineMemoryTest() { write("proc/meminfo", "MemTotal: 999999 kB\nMemAvailable:  204800 kB\n"); }
  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder_ / name).parent_path());
    write_bytes(folder_ / name, text);
  }
  // A control group's limit, and what it has taken.
  void write_group(const std::string& path, const std::string& limit, std::uint64_t taken) {
    write("sys/fs/cgroup" + path + "/memory.max", limit + "\n");
    write("sys/fs/cgroup" + path + "/memory.current", std::to_string(taken) + "\n");
  }
  std::uint64_t available() const { return available_memory(folder_.path()).value(); }

  const TemporaryFolder folder_;
};

TEST_F(MachineMemoryTest, IsWhatTheMachineHasLeftAndUnknownWithoutMeminfo) {
  EXPECT_EQ(available(), 200 * kMib);
  EXPECT_FALSE(available_memory(folder_ / "nowhere").has_value());
}

TEST_F(MachineMemoryTest, IsBoundedByWhatIsLeftOfTheGroupsLimit) {
  write("proc/self/cgroup", "0::/job/step\n");
  write_group("/job/step", std::to_string(100 * kMib), 30 * kMib);
  EXPECT_EQ(available(), 70 * kMib);
  write("sys/fs/cgroup/job/step/memory.stat", "anon 5\ninactive_file " + std::to_string(10 * kMib) + "\n");
  EXPECT_EQ(available(), 80 * kMib) << "pages of files are given back";
}

TEST_F(MachineMemoryTest, IsBoundedByAGroupAround) {
  write("proc/self/cgroup", "0::/job/step\n");
  write_group("/job/step", "max", 1);
  write_group("/job", std::to_string(50 * kMib), 0);
  EXPECT_EQ(available(), 50 * kMib);
}

TEST_F(MachineMemoryTest, KnowsTheFirstVersionOfGroups) {
  write("proc/self/cgroup", "5:cpu:/x\n4:memory:/job\n");
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", std::to_string(60 * kMib) + "\n");
  write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", std::to_string(20 * kMib) + "\n");
  write("sys/fs/cgroup/memory/job/memory.stat", "total_inactive_file " + std::to_string(5 * kMib) + "\n");
  EXPECT_EQ(available(), 45 * kMib);
}

TEST_F(MachineMemoryTest, IsNothingWhereTheLimitIsPassed) {
  write_group("", std::to_string(10 * kMib), 20 * kMib);
  EXPECT_EQ(available(), 0u);
}

TEST_F(MachineMemoryTest, OfAProcessIsWhatItsLimitsLeave) {
  const std::string unlimited = "Max data size             unlimited            unlimited            bytes     \n";
  const auto limits = [&](const std::string& address_space) {
    write("proc/self/limits", "Limit                     Soft Limit           Hard Limit           Units     \n" +
                                  unlimited + "Max address space         " + address_space +
                                  "            unlimited            bytes     \n");
  };
  write("proc/self/status", "VmPeak:\t  999999 kB\nVmSize:\t   30720 kB\nVmData:\t   10240 kB\n");
  limits("unlimited");
  EXPECT_FALSE(left_of_process(folder_.path()).has_value());
  limits(std::to_string(100 * kMib));
  EXPECT_EQ(left_of_process(folder_.path()), 70 * kMib);
  limits(std::to_string(20 * kMib));
  EXPECT_EQ(left_of_process(folder_.path()), 0u);
  write("proc/self/limits", "Max data size   " + std::to_string(50 * kMib) + "   unlimited  bytes\nMax address space " +
                                std::to_string(100 * kMib) + " unlimited bytes\n");
  EXPECT_EQ(left_of_process(folder_.path()), 40 * kMib) << "the least";
  EXPECT_FALSE(left_of_process(folder_ / "nowhere").has_value());
}

TEST(MachineShare, IsDividedAmongTheRanksOfTheMachine) {
  const MachineShare machine{4, 100};
  EXPECT_EQ(machine.bytes_for_rank(), 25u);
  EXPECT_NO_THROW(machine.require(25));
  EXPECT_THROW(machine.require(26), UsageError);
  EXPECT_THROW((MachineShare{1000, 100}.require(std::uint64_t{1} << 62)), UsageError) << "no product overflows";
  expect_refusal<UsageError>(
      [&] {
        MachineShare{3, 500 * kMib}.require(300 * kMib);
      },
      {"301 MiB", "3 ranks on this machine have 500 MiB", "--memory"});
}

TEST(MachineShare, KeepsToWhatTheProcessMayTake) {
  const MachineShare machine{1, 1000, 100};
  EXPECT_EQ(machine.bytes_for_rank(), 100u);
  EXPECT_NO_THROW(machine.require(60, 40));
  EXPECT_THROW(machine.require(60, 41), UsageError);
  EXPECT_THROW(machine.require(101), UsageError);
  expect_refusal<UsageError>([&] { machine.require(101, 0, "sleep"); },
                             {"this process can allocate 0 MiB more", "ulimit -d), sleep"});
}

TEST(MachineShare, HasNoBoundWhereTheMachineDoesNotTell) {
  const MachineShare machine{2, std::nullopt};
  EXPECT_EQ(machine.bytes_for_rank(), std::numeric_limits<std::uint64_t>::max() / 2);
  EXPECT_NO_THROW(machine.require(std::uint64_t{1} << 62));
}

}  // namespace dpreduce::machine_memory_test
