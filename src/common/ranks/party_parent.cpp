#include "common/ranks/party_parent.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <optional>
#include <vector>

#include <mpi.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/output_file.hpp"
#include "common/ranks/lifetime.hpp"
#include "common/ranks/mpi_job.hpp"
#include "common/ranks/party_process.hpp"

namespace dpreduce {
namespace {

using Clock = WireClock;
constexpr auto kBeat = std::chrono::seconds(2);         // of the coordinator's parent, to the others
constexpr auto kSilence = std::chrono::seconds(20);     // of the coordinator's parent, after which it counts as lost
constexpr auto kGrace = std::chrono::seconds(5);        // for a party to end after the coordinator has ended
constexpr auto kLeaveTime = std::chrono::seconds(20);   // for silos' parties to end, and their parents to say so
constexpr auto kLastChance = std::chrono::seconds(10);  // for a coordinator that every silo has given up to end
constexpr useconds_t kLookInMicroseconds = 20'000;

// Messages between parents, a byte each: the exit code of a party that has ended; and from the coordinator's parent to
// all:
constexpr unsigned char kAlive = 255;
constexpr unsigned char kLeaveTogether = 254;
constexpr unsigned char kLeaveAlone = 253;

class PartyParent {
 public:
  explicit PartyParent(PartyProcess& party) : party_(party) {
    std::iota(bytes_.begin(), bytes_.end(), static_cast<unsigned char>(0));
    begin_mpi(MPI_THREAD_SINGLE, JobKind::kSilos);
    require_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &job_), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(job_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(job_, &rank_);
    MPI_Comm_size(job_, &size_);
  }

  int run() {
    MPI_Comm machine = MPI_COMM_NULL;
    int on_machine = 0;
    require_mpi(MPI_Comm_split_type(job_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine), "MPI_Comm_split_type");
    MPI_Comm_size(machine, &on_machine);
    MPI_Comm_free(&machine);
    party_.place(rank_, size_, on_machine == size_);
    for (int exchange = 0; exchange < kJobExchanges; ++exchange) exchange_texts();
    const bool is_left_alone = rank_ == 0 ? !lead() : !follow();
    if (is_left_alone || is_killed_) {
      std::fflush(nullptr);
      AtomicFile::remove_unfinished();
      ::_exit(exit_code());  // without MPI, whose end waits for all
    }
    end_mpi();
    return exit_code();
  }

 private:
  int exit_code() const {
    if (rank_ == 0) return party_.exit_code();
    return is_coordinator_lost_ ? static_cast<int>(ExitCode::kAggregationAborted) : 0;
  }

  static bool has_arrived(MPI_Request& request) {
    int is_done = 0;
    return MPI_Test(&request, &is_done, MPI_STATUS_IGNORE) == MPI_SUCCESS && is_done != 0;
  }

  void exchange_texts() {
    constexpr useconds_t kPause = 2000;
    const JobText own = party_.text();
    std::vector<JobText> all(static_cast<std::size_t>(size_));
    MPI_Request request = MPI_REQUEST_NULL;
    require_mpi(
        MPI_Iallgather(own.data(), own.size(), MPI_CHAR, all.front().data(), own.size(), MPI_CHAR, job_, &request),
        "MPI_Iallgather");
    while (!has_arrived(request)) ::usleep(kPause);
    party_.tell(all);
  }

  void send(int to, int byte) {
    MPI_Request request = MPI_REQUEST_NULL;
    const unsigned char& told = bytes_[static_cast<unsigned char>(byte)];
    if (MPI_Isend(&told, 1, MPI_UNSIGNED_CHAR, to, 0, job_, &request) == MPI_SUCCESS) MPI_Request_free(&request);
  }
  void send_to_silos(int byte) {
    for (int silo = 1; silo < size_; ++silo) send(silo, byte);
  }

  bool notice_exit(bool has_coordinator_ended) {
    if (!party_.notice_exit()) return false;
    if (party_.signal() != 0 && !has_coordinator_ended) {
      std::fprintf(stderr, "dpreduce: %s %d was lost: killed by signal %d (%s)\n",
                   rank_ == 0 ? "the coordinator, rank" : "silo", rank_, party_.signal(), strsignal(party_.signal()));
    }
    return true;
  }

  // A launcher that ends a job soon kills the parents, too: what they share is removed before that.
  void notice_end_of_job(int code_of_coordinator) {
    is_killed_ = is_told_to_end() && code_of_coordinator != 0;
    if (is_killed_) AtomicFile::remove_unfinished();
  }

  // A silo's party, as the coordinator's parent knows it: its exit code, once it has ended.
  struct SilosParty {
    unsigned char code = 0;
    MPI_Request end = MPI_REQUEST_NULL;
    bool has_ended = false;
  };

  // Waits until the coordinator's party has ended and those of silos have. Returns whether all have.
  bool lead() {
    std::vector<SilosParty> silos(static_cast<std::size_t>(size_ - 1));
    for (std::size_t place = 0; place < silos.size(); ++place) {
      MPI_Irecv(&silos[place].code, 1, MPI_UNSIGNED_CHAR, static_cast<int>(place) + 1, 0, job_, &silos[place].end);
    }
    auto next_beat = Clock::now();
    for (;;) {
      const auto now = Clock::now();
      if (now >= next_beat) {
        send_to_silos(kAlive);
        next_beat = now + kBeat;
      }
      for (SilosParty& silo : silos) silo.has_ended = silo.has_ended || has_arrived(silo.end);
      if (notice_exit(false)) {
        send_to_silos(party_.exit_code());
        notice_end_of_job(party_.exit_code());
        must_end_ = now + kLeaveTime;
      }
      end_what_silos_have_given_up(silos, now);
      const bool have_all_ended = std::ranges::all_of(silos, &SilosParty::has_ended);
      if (party_.has_exited() && (have_all_ended || now > *must_end_)) {
        send_to_silos(have_all_ended ? kLeaveTogether : kLeaveAlone);
        return have_all_ended;
      }
      ::usleep(kLookInMicroseconds);
    }
  }

  // No sum can be made any more; a coordinator that works notices that by itself.
  void end_what_silos_have_given_up(const std::vector<SilosParty>& silos, Clock::time_point now) {
    const auto has_failed = [](const SilosParty& silo) { return silo.has_ended && silo.code != 0; };
    if (party_.has_exited() || is_given_up_ || silos.empty() || !std::ranges::all_of(silos, has_failed)) return;
    if (!must_end_) must_end_ = now + kLastChance;
    if (now <= *must_end_) return;
    is_given_up_ = true;
    std::fprintf(stderr,
                 "dpreduce: the coordinator, rank 0 does not respond, and all silos have stopped waiting for it\n");
    party_.kill();
  }

  // Waits until the coordinator's parent reports that it leaves. Returns whether it does together with all others.
  bool follow() {
    unsigned char told = kAlive;
    MPI_Request coming = MPI_REQUEST_NULL;
    const auto listen = [&] { MPI_Irecv(&told, 1, MPI_UNSIGNED_CHAR, 0, 0, job_, &coming); };
    listen();
    auto heard = Clock::now();
    for (;;) {
      const auto now = Clock::now();
      if (notice_exit(must_end_.has_value())) send(0, party_.exit_code());
      if (has_arrived(coming)) {
        heard = now;
        if (told == kLeaveTogether || told == kLeaveAlone) return told == kLeaveTogether;
        if (told != kAlive) {
          must_end_ = now + kGrace;
          notice_end_of_job(told);
        }
        listen();
      }
      if (must_end_ && now > *must_end_) party_.kill();
      if (now > heard + kSilence && party_.has_exited()) {
        is_coordinator_lost_ = true;
        return false;
      }
      ::usleep(kLookInMicroseconds);
    }
  }

  PartyProcess& party_;
  std::array<unsigned char, 256> bytes_{};  // what is sent is read from here, whenever that is
  MPI_Comm job_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  std::optional<Clock::time_point> must_end_;  // the party, or at the coordinator, once it has ended, those of silos
  bool is_given_up_ = false;                   // by all silos: the coordinator's party
  bool is_coordinator_lost_ = false;
  bool is_killed_ = false;  // the whole job: MPI is not ended
};

}  // namespace

int run_with_parent(const std::function<int(const JobPlace&)>& party, void (*before_the_end)() noexcept) {
  std::variant<PartyProcess, int> forked = fork_party(party, before_the_end);
  if (const int* const code = std::get_if<int>(&forked)) return *code;
  PartyProcess& process = std::get<PartyProcess>(forked);
  try {
    return PartyParent(process).run();
  } catch (const PeerFailed& failure) {
    process.kill();
    return static_cast<int>(failure.code());
  } catch (const Error& error) {
    std::fprintf(stderr, "dpreduce: %s\n", error.what());
    process.kill();
    return static_cast<int>(error.code());
  }
}

}  // namespace dpreduce
