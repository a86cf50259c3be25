// A job of 128 silos on whatever cores there are, one of them stopped for longer than any party may be silent, while
// another process takes most of the memory: the parent of a party beats for it, so that none is lost.
#include <csignal>
#include <cstdlib>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cli/process_watch.hpp"
#include "tests/cli/program_test.hpp"

namespace dpreduce::many_silos_test {

constexpr int kSilos = 128;
constexpr int kStopped = 60;
constexpr unsigned kSecondsStopped = 45;
constexpr double kSecondsToStart = 120.0;
constexpr double kSecondsOfRun = 600.0;

std::size_t free_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string name, size, unit; file >> name >> size && std::getline(file, unit);) {
    if (name == "MemAvailable:") return std::size_t{std::strtoull(size.c_str(), nullptr, 10)} << 10;
  }
  return 0;
}

// Takes two thirds of the free memory, and writes to all of it again and again.
class MemoryHog {
 public:
  MemoryHog() : process_(::fork()) {
    if (process_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // also where the test is killed
    std::vector<char> taken(free_bytes() / 3 * 2);
    for (int value = 1;; ++value) {
      std::memset(taken.data(), value, taken.size());
      ::usleep(100'000);
    }
  }
  ~MemoryHog() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  MemoryHog(const MemoryHog&) = delete;
  MemoryHog& operator=(const MemoryHog&) = delete;

 private:
  pid_t process_;
};

class ManySilosTest : public ProgramTest {};

TEST_F(ManySilosTest, NoneIsLostWhereOneIsStoppedAndMemoryIsShort) {
  for (std::size_t silo = 1; silo <= kSilos; ++silo) {
    write_rows(make_rows({30, 20 + silo % 7, 40}, 16), numbered_npy("x", silo), numbered_npy("y", silo));
  }
  const MemoryHog hog;
  RunningProgram program(
      split_arguments("fit --secure-aggregation --threshold 96 --classes 3 --method gd --rounds 3 --mu 1 --threads 1 "
                      "--train-x x{rank}.npy --train-y y{rank}.npy --report report.json --out model.safetensors"),
      {.folder = folder_.path(), .ranks = kSilos + 1, .form = Form::kProgram, .timeout_seconds = kSecondsOfRun});
  const std::optional<pid_t> stopped = awaited_worker(program.mark(), kStopped, kSecondsToStart);
  ASSERT_TRUE(stopped);
  ASSERT_EQ(::kill(*stopped, SIGSTOP), 0);
  ::sleep(kSecondsStopped);
  ASSERT_EQ(::kill(*stopped, SIGCONT), 0) << "it has ended: " << program.finish().err;
  const ProgramRun run = program.finish();
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json silos = document("report.json")["silos"];
  EXPECT_EQ(silos["summed"], kSilos);
  EXPECT_TRUE(silos["lost"].empty());
}

}  // namespace dpreduce::many_silos_test
