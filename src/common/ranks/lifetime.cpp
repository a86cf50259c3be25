#include "common/ranks/lifetime.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

volatile std::sig_atomic_t guarded_child = 0;
volatile std::sig_atomic_t launcher_ends_job = 0;  // then how the child ends need not be reported
void (*last_act)() noexcept = nullptr;

// Two texts: a handler writes the one that is whole while the other is made. Each ends in a zero.
std::array<std::array<char, kLongestLastWords + 1>, 2> last_words;
std::atomic<unsigned> current_last_words = 0;
std::atomic_flag is_ending;

// Async-signal-safe.
void write_line(std::string_view text) {
  for (const std::string_view part : {std::string_view("dpreduce: "), text, std::string_view("\n")}) {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, part.data(), part.size());
  }
}

// First of these that a launcher has set: Open MPI, PMIx (srun --mpi=pmix), PMI (srun --mpi=pmi2, MPICH).
const char* launcher_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
    if (const char* value = std::getenv(name)) return value;
  }
  return nullptr;
}

// Async-signal-safe. A launcher and this process's guard may both send a signal, which two threads then take: one ends
// the process, and speaks.
void end_at_once(int signal) {
  while (is_ending.test_and_set()) ::pause();
  last_act();
  const bool is_alone = launcher_rank() == nullptr;
  if (is_alone) {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, "\n", 1);
    write_line("interrupted; unfinished output is discarded");
  }
  const char* const words = last_words[current_last_words].data();
  if (*words != '\0') write_line(words);
  if (!is_alone) _exit(static_cast<int>(ExitCode::kAggregationAborted));
  _exit(signal == SIGINT ? static_cast<int>(ExitCode::kInterrupted) : 128 + signal);
}

void forward_to_child(int signal) {
  launcher_ends_job = 1;
  if (guarded_child > 0) kill(guarded_child, signal);
}

void on_signals(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, SIGINT);
  sigaddset(&action.sa_mask, SIGTERM);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

int wait_for_child(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
  }
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  const int signal = WTERMSIG(status);
  if (launcher_ends_job == 0 && signal != SIGTERM && signal != SIGINT) {
    std::fprintf(stderr,
                 "dpreduce: rank %s was lost: killed by signal %d (%s); the job ends, unfinished output is discarded\n",
                 launcher_rank(), signal, strsignal(signal));
  }
  return static_cast<int>(ExitCode::kAggregationAborted);
}

}  // namespace

void report_when_ended(std::string_view words) {
  const unsigned next = 1 - current_last_words;
  const std::size_t kept = std::min(words.size(), kLongestLastWords);
  std::copy_n(words.begin(), kept, last_words[next].begin());
  last_words[next][kept] = '\0';
  current_last_words = next;
}

bool is_told_to_end() {
  return launcher_ends_job != 0;
}

bool launched_by_mpi() {
  return launcher_rank() != nullptr;
}

unsigned default_threads() {
  return launched_by_mpi() ? 1U : std::max(1U, std::thread::hardware_concurrency());
}

void require_single_process() {
  const char* const meant = std::getenv("DPREDUCE_SINGLE_PROCESS");
  if (meant != nullptr && std::string_view(meant) == "1") return;
  const auto number = [](const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? 0L : std::strtol(value, nullptr, 10);
  };
  const auto require_at_most = [&](const char* name, long most) {
    if (number(name) <= most) return;
    throw UsageError(
        "{}={}: a launcher started several processes, but this one is alone in its MPI job: each would do "
        "a full run, and charge it. Start them as one job (mpirun; srun --mpi=pmix or --mpi=pmi2, see srun "
        "--mpi=list). For single processes on purpose, set DPREDUCE_SINGLE_PROCESS=1",
        name, std::getenv(name));
  };
  // Processes that were started together: Open MPI, PMI (MPICH, Intel MPI, Cray, Flux, srun --mpi=pmi2), MVAPICH, PALS,
  // and srun whatever its --mpi. An allocation sets SLURM_NTASKS too, in which nothing has been started yet.
  for (const char* count :
       {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "PALS_LOCAL_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    require_at_most(count, 1);
  }
  if (std::getenv("SLURM_STEP_ID") != nullptr && std::getenv("SLURM_STEP_NUM_TASKS") == nullptr) {
    require_at_most("SLURM_NTASKS", 1);
  }
  // Launchers that do not report a count.
  for (const char* rank : {"PMIX_RANK", "PALS_RANKID"}) require_at_most(rank, 0);
}

std::optional<pid_t> fork_worker(void (*before_the_end)() noexcept) {
  last_act = before_the_end;
  const pid_t guard = getpid();
  on_signals(forward_to_child);
  const pid_t child = fork();
  if (child < 0) {
    std::perror("dpreduce: fork");
    return std::nullopt;
  }
  if (child > 0) {
    guarded_child = child;
    prctl(PR_SET_NAME, "dpreduce-guard");
    return child;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != guard) _exit(static_cast<int>(ExitCode::kAggregationAborted));
  on_signals(end_at_once);
  return 0;
}

int run_guarded(const std::function<int()>& job, void (*before_the_end)() noexcept) {
  if (!launched_by_mpi()) {
    last_act = before_the_end;
    on_signals(end_at_once);
    return job();
  }
  const std::optional<pid_t> child = fork_worker(before_the_end);
  if (!child) return static_cast<int>(ExitCode::kInternal);
  return *child == 0 ? job() : wait_for_child(*child);
}

}  // namespace dpreduce
