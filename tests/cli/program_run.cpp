#include "tests/cli/program_run.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands/command_line.hpp"
#include "commands/commands.hpp"
#include "commands/job.hpp"
#include "common/base/output_file.hpp"
#include "common/base/standard_output.hpp"
#include "common/ranks/lifetime.hpp"
#include "common/ranks/party_process.hpp"
#include "tests/attacks/lying_sessions.hpp"
#include "tests/cli/process_watch.hpp"

extern "C" void __gcov_dump() __attribute__((weak));  // where launch/coverage has built

namespace dpreduce {
namespace {

constexpr const char* kMarkName = "DPREDUCE_TEST_RUN";
constexpr auto kGrace = std::chrono::seconds(5);
constexpr useconds_t kPauseInMicroseconds = 500;

[[noreturn]] void refuse(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// The ends of a pipe: to read, and to write.
std::array<int, 2> open_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) refuse("pipe");
  return ends;
}

// Puts --overwrite behind the command where that takes it.
Strings overwriting(Strings arguments) {
  constexpr std::array<std::string_view, 6> kWriters{"fit", "sweep", "predict", "evaluate", "synth", "report"};
  if (arguments.empty() || std::find(kWriters.begin(), kWriters.end(), arguments[0]) == kWriters.end())
    return arguments;
  auto place = arguments.begin() + 1;
  if (arguments[0] == "synth" && place != arguments.end() && *place == "partition") return arguments;
  if (arguments[0] == "synth" && place != arguments.end() && *place == "sanitize") ++place;
  arguments.insert(place, "--overwrite");
  return arguments;
}

const char* other_program() {
  return std::getenv("DPREDUCE_TESTED_PROGRAM");  // one with a planted bug
}

Strings command_line(const Strings& arguments, const RunOptions& options) {
  Strings line;
  if (options.ranks > 0) {
    line = {DPREDUCE_MPIRUN, "--quiet", "-n", std::to_string(options.ranks)};
    line.insert(line.end(), options.launcher_options.begin(), options.launcher_options.end());
  }
  if (options.first_rank_late_seconds > 0.0) {
    line.insert(line.end(), {"/bin/sh", "-c",
                             "[ $OMPI_COMM_WORLD_RANK -ne 0 ] || sleep " +
                                 std::to_string(options.first_rank_late_seconds) + "; exec \"$0\" \"$@\""});
  }
  const bool has_fault = std::ranges::find(arguments, "--fault") != arguments.end();
  line.push_back(has_fault && other_program() == nullptr ? DPREDUCE_ATTACKS : program_path());
  line.insert(line.end(), arguments.begin(), arguments.end());
  return line;
}

// What each party is told, where mpirun starts `ranks` of them with these arguments, and more with arguments of their
// own behind ":", "-n", a number and the path of this program. Nothing where another program takes part.
std::vector<Strings> arguments_of_parties(const Strings& arguments, int ranks) {
  const auto colon = std::ranges::find(arguments, ":");
  std::vector<Strings> parties(static_cast<std::size_t>(ranks), {arguments.begin(), colon});
  if (colon == arguments.end()) return parties;
  constexpr std::ptrdiff_t kOfLauncher = 4;  // ":", "-n", a number, the program
  if (colon[3] != program_path()) return {};
  const auto further = arguments_of_parties({colon + kOfLauncher, arguments.end()}, std::stoi(colon[2]));
  if (further.empty()) return {};
  parties.insert(parties.end(), further.begin(), further.end());
  return parties;
}

// What the parent of a rank does for its party (common/ranks/party_parent.cpp), for all of them.
int run_parents(std::vector<PartyProcess> parties) {
  for (std::size_t rank = 0; rank < parties.size(); ++rank) {
    parties[rank].place(static_cast<int>(rank), static_cast<int>(parties.size()), true);
  }
  for (int exchange = 0; exchange < kJobExchanges; ++exchange) {
    std::vector<JobText> texts;
    for (const PartyProcess& party : parties) texts.push_back(party.text());
    for (const PartyProcess& party : parties) party.tell(texts);
  }
  std::optional<WireClock::time_point> must_end;
  while (!std::ranges::all_of(parties, &PartyProcess::has_exited)) {
    for (PartyProcess& party : parties) party.notice_exit();
    if (!must_end && parties.front().has_exited()) must_end = WireClock::now() + kGrace;
    if (must_end && WireClock::now() > *must_end) std::ranges::for_each(parties, &PartyProcess::kill);
    ::usleep(kPauseInMicroseconds);
  }
  return parties.front().exit_code();
}

// The parties of a run among silos, each a working process of its own that is forked from this one, the parent of all
// of them (common/ranks/party_process.hpp): no launcher starts, and no MPI. Returns the coordinator's exit code, 5
// where it was killed, and in each of these processes that of its party. Parties that go on for 5 seconds after the
// coordinator has ended are killed.
int run_forked_parties(const std::vector<Strings>& arguments) {
  std::vector<PartyProcess> parties;
  ::setenv("OMPI_COMM_WORLD_LOCAL_SIZE", std::to_string(arguments.size()).c_str(), 1);
  for (std::size_t rank = 0; rank < arguments.size(); ++rank) {
    ::setenv("OMPI_COMM_WORLD_RANK", std::to_string(rank).c_str(), 1);
    const auto run = [&](const JobPlace& place) {
      Strings words = arguments[rank];
      const LyingSessions maker(take_fault(words));
      return run_party_of_job(place, words, maker);
    };
    const std::variant<PartyProcess, int> forked = fork_party(run, AtomicFile::remove_unfinished);
    if (const int* const code = std::get_if<int>(&forked)) return *code;
    parties.push_back(std::get<PartyProcess>(forked));
  }
  return run_parents(std::move(parties));
}

// What the ranks of a run are.
enum class Ranks { kThreads, kForkedParties, kProcesses };

Ranks ranks_of(const Strings& arguments, const RunOptions& options) {
  if (options.form == Form::kProgram || other_program() != nullptr || !options.environment.empty()) {
    return Ranks::kProcesses;
  }
  if (options.ranks == 0) return Ranks::kThreads;
  if (!options.launcher_options.empty() || options.first_rank_late_seconds > 0.0) return Ranks::kProcesses;
  auto parties = arguments_of_parties(arguments, options.ranks);
  if (parties.empty()) return Ranks::kProcesses;  // another program takes part
  take_fault(parties.front());
  if (requested_job(dpreduce_command(), parties.front()).is_of_silos) return Ranks::kForkedParties;
  const bool has_hdf5 =
      std::ranges::any_of(arguments, [](const std::string& word) { return word.find(".h5") != std::string::npos; });
  return has_hdf5 || parties.size() != static_cast<std::size_t>(options.ranks) ? Ranks::kProcesses : Ranks::kThreads;
}

// What main comes to (src/main.cpp), on ranks that are threads of this process, or for parties that are forks of it.
int run_in_fork(const Strings& arguments, int ranks, Ranks kind) {
  keep_errors_of_standard_output();
  if (kind == Ranks::kForkedParties) {
    return closed_standard_output(run_forked_parties(arguments_of_parties(arguments, ranks)));
  }
  const auto job = [&] {
    if (ranks == 0) {
      Communicator alone = Communicator::alone();
      return run_job(dpreduce_command(), arguments, alone);
    }
    ::setenv("OMPI_COMM_WORLD_RANK", "0", 1);  // as under a launcher: one thread a rank unless --threads says more
    std::vector<int> codes(static_cast<std::size_t>(ranks));
    Communicator::on_threads(ranks, [&](Communicator& rank) {
      codes[static_cast<std::size_t>(rank.rank())] = run_job(dpreduce_command(), arguments, rank);
    });
    return *std::ranges::max_element(codes);
  };
  return closed_standard_output(run_guarded(job, AtomicFile::remove_unfinished));
}

// With these bits root is an ordinary user after exec; without capabilities it is one at once.
bool give_privileges_up() {
  if (::geteuid() != 0) return true;
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  const __user_cap_data_struct none[2]{};
  return ::prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED) == 0 &&
         ::syscall(SYS_capset, &header, none) == 0;
}

// In the child: from here to the program's end, in whichever form. Returns only where something failed.
void become_program(const Strings& arguments, const RunOptions& options) {
  if (::chdir(options.folder.c_str()) != 0) return;
  ::setpgid(0, 0);
  for (const std::string& entry : split_arguments(DPREDUCE_MPI_ENVIRONMENT)) {
    const std::size_t sign = entry.find('=');
    ::setenv(entry.substr(0, sign).c_str(), entry.substr(sign + 1).c_str(), 1);
  }
  for (const auto& [name, value] : options.environment) ::setenv(name.c_str(), value.c_str(), 1);
  if (options.largest_file) {
    const struct rlimit limit { *options.largest_file, *options.largest_file };
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return;
  }
  if (options.privileges == Privileges::kNone && !give_privileges_up()) return;
  if (const Ranks kind = ranks_of(arguments, options); kind != Ranks::kProcesses) {
    const int code = run_in_fork(arguments, options.ranks, kind);
    if (__gcov_dump != nullptr) __gcov_dump();
    ::_exit(code);  // what tests have made is not this child's to destroy
  }
  const Strings line = command_line(arguments, options);
  std::vector<char*> argv;
  for (const std::string& word : line) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
}

std::string next_mark() {
  static int runs = 0;
  return std::to_string(::getpid()) + "-" + std::to_string(++runs);
}

int exit_code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

RunningProgram::RunningProgram(const Strings& arguments, const RunOptions& options)
    : mark_(std::string(kMarkName) + "=" + next_mark()),
      timeout_seconds_(options.timeout_seconds),
      started_(seconds_now()) {
  const Strings given = options.keeps_files ? arguments : overwriting(arguments);
  const int in = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (in < 0) refuse("/dev/null");
  const auto [out_read, out_write] = open_pipe();
  const auto [err_read, err_write] = open_pipe();
  pid_ = ::fork();
  if (pid_ < 0) refuse("fork");
  if (pid_ == 0) {
    ::setenv(kMarkName, mark_.substr(mark_.find('=') + 1).c_str(), 1);
    ::dup2(in, STDIN_FILENO);
    ::dup2(out_write, STDOUT_FILENO);
    ::dup2(err_write, STDERR_FILENO);
    become_program(given, options);
    std::perror("cannot start the program");
    ::_exit(127);
  }
  ::close(in);
  ::close(out_write);
  ::close(err_write);
  out_ = out_read;
  err_ = err_read;
}

RunningProgram::~RunningProgram() {
  if (pid_ >= 0) {
    kill_all();
    ::waitpid(pid_, nullptr, 0);
  }
  ::close(out_);
  ::close(err_);
}

void RunningProgram::kill_all() const {
  ::kill(pid_, SIGKILL);
  for (const ProcessEntry& process : processes_with(mark_)) ::kill(process.pid, SIGKILL);
}

ProgramRun RunningProgram::finish() {
  ProgramRun run;
  bool timed_out = false;
  pollfd streams[] = {{out_, POLLIN, 0}, {err_, POLLIN, 0}};
  std::string* const texts[] = {&run.out, &run.err};
  for (int open = 2; open > 0;) {
    const double left = started_ + timeout_seconds_ - seconds_now();
    if (left <= 0.0 && !timed_out) {
      timed_out = true;
      kill_all();
    }
    const int wait_ms = timed_out ? 1000 : static_cast<int>(left * 1000.0) + 1;
    const int ready = ::poll(streams, 2, wait_ms);
    if (ready < 0 && errno != EINTR) refuse("poll");
    if (ready == 0 && timed_out) break;  // a process without the mark holds the pipe
    for (int stream = 0; stream < 2 && ready > 0; ++stream) {
      if (streams[stream].fd < 0 || streams[stream].revents == 0) continue;
      char piece[65536];
      const ssize_t got = ::read(streams[stream].fd, piece, sizeof piece);
      if (got > 0) {
        texts[stream]->append(piece, static_cast<std::size_t>(got));
      } else {
        streams[stream].fd = -1;
        --open;
      }
    }
  }
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  run.exit_code = exit_code_of(status);
  run.seconds = seconds_now() - started_;
  return run;
}

std::string program_path() {
  return other_program() != nullptr ? other_program() : DPREDUCE_PROGRAM;
}

ProgramRun run_program(const Strings& arguments, const RunOptions& options) {
  return RunningProgram(arguments, options).finish();
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool is_so_within(double seconds, const std::function<bool()>& is_so) {
  for (const double end = seconds_now() + seconds; !is_so(); ::usleep(1000)) {
    if (seconds_now() > end) return false;
  }
  return true;
}

Strings split_arguments(const std::string& text) {
  std::istringstream stream(text);
  Strings found;
  for (std::string word; stream >> word;) {
    std::ranges::replace(word, '~', ' ');
    found.push_back(word);
  }
  return found;
}

Strings joined(Strings first, const Strings& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Strings lines_of(const std::string& text) {
  std::istringstream stream(text);
  Strings found;
  for (std::string line; std::getline(stream, line);) found.push_back(line);
  return found;
}

Strings messages_in(const std::string& text) {
  Strings messages = lines_of(text);
  std::erase_if(messages, [](const std::string& line) { return !line.starts_with("dpreduce: "); });
  return messages;
}

Strings charges_in(const std::string& text) {
  Strings charges = lines_of(text);
  std::erase_if(charges, [](const std::string& line) { return line.find(R"("kind":"charge")") == std::string::npos; });
  return charges;
}

}  // namespace dpreduce
