// The program itself on simulated ranks: its own code and its own MPI calls, under SimGrid's SMPI, in simulated time.
//
//     simulated_ranks RANKS NETWORK [--record FILE] [--charge FILE] -- fit OPTIONS...
//
// NETWORK: 100g, 25g: one port of that rate a rank, 1 us from it to a switch that blocks nobody; dragonfly: ports of
// 200 Gb/s and 0.5 us, 4 to a router, 4 routers to a chassis, at most 4 groups of 2 chassis or more, all linked to each
// other.
//
// All ranks are actors of one process, and one runs at a time. Between two calls of MPI a rank computes: its clock goes
// on by the CPU time which that takes here. --record writes it, call by call, of the first eight ranks. With --charge
// computation before a call takes what FILE says ("c ROLE SECONDS", call by call; role 0 is the coordinator). Where
// FILE also says how long messages are ("b KIND BYTES BYTES"), the program runs on narrow rows that many ranks have
// room for: what bench/scaling_page.py makes of records of few ranks with whole rows.
//
// What collectives bring goes through memory, which all ranks share here; their time is that of Passage's messages.
// Other calls are SMPI's. Parties among silos call no MPI: their messages go from mailbox to mailbox.
//
// Left out: sums that go on while a rank computes (MPI_Ireduce is over before it returns); failures of ranks; memory;
// of silos, the lines of their processes.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <mpi.h>
#include <simgrid/s4u.hpp>
#include <sys/syscall.h>
#include <unistd.h>

#include "commands/commands.hpp"
#include "commands/job.hpp"
#include "common/ranks/party_parent.hpp"

namespace {

namespace s4u = simgrid::s4u;

constexpr int kRecordedRanks = 8;
constexpr double kLong = 65536;  // bytes, from which on messages go in parts

std::vector<std::string> words;  // of the program
bool is_running = false;
bool has_charges = false;
std::array<std::vector<double>, 2> charges;  // of the coordinator, and of another rank
std::map<std::pair<char, std::size_t>, std::size_t> full_bytes;
std::FILE* record = nullptr;
double bytes_added = 1.0;  // a second

double cpu_seconds() {
  timespec time{};
  ::syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

constexpr int kAll = -1;

struct Rank {
  double resumed = 0.0;  // CPU time at which the last call returned
  double computed = 0.0;
  std::size_t bytes = 0;     // of its collectives; of a party, of all its messages
  std::size_t count = 0;     // of collectives
  std::size_t meetings = 0;  // that it has come to
};
std::vector<Rank> all;

int own_number() {
  return static_cast<int>(s4u::this_actor::get_pid()) - 1;
}
Rank& own() {
  return all[static_cast<std::size_t>(own_number())];
}

double charged(const Rank& rank, double measured) {
  const std::vector<double>& of_role = charges[own_number() == 0 ? 0 : 1];
  const double seconds = rank.count < of_role.size() ? of_role[rank.count] : 0.0;
  // Of scaled runs some of the coordinator's work grows with the number of ranks.
  return own_number() == 0 && !full_bytes.empty() ? std::max(seconds, measured) : seconds;
}

// What all ranks bring to one collective call. They call them in one order, and have one memory.
struct Meeting {
  std::vector<std::byte> values;
  std::size_t left = 0;  // ranks that have what they came for

  void bring(const void* own, std::size_t bytes, std::size_t at = 0) {
    values.resize(std::max(values.size(), at + bytes));
    std::memcpy(values.data() + at, own, bytes);
  }
};
std::map<std::size_t, Meeting> meetings;

// The time that a collective's messages take. Short ones go along binomial trees, and by recursive doubling where all
// ranks get the sum. Long ones go in parts: a sum by halves, then gathered at the root (Rabenseifner); a broadcast as
// scattered parts, then gathered everywhere. So MPI libraries do. Of P ranks those beyond the largest power of two hand
// theirs to another, or get it from there.
class Passage {
 public:
  Passage(int root, double bytes)
      : root_(root),
        ranks_(static_cast<int>(all.size())),
        bytes_(bytes),
        place_((own_number() - root + ranks_) % ranks_) {
    while (2 * power_ <= ranks_) power_ *= 2;
  }

  void sum() const {
    if (place_ >= power_) return send(place_ - power_, bytes_);
    if (place_ + power_ < ranks_) receive(place_ + power_, bytes_);
    double part = bytes_;
    for (int step = power_ / 2; is_long() && step > 0; step /= 2) exchange(place_ ^ step, part /= 2);
    for (int step = 1; step < power_; step *= 2) {
      if ((place_ & step) != 0) return send(place_ - step, part);
      receive(place_ + step, is_long() ? 0.0 : part);
      if (is_long()) part *= 2;
    }
  }

  void broadcast() const {
    double part = bytes_;
    for (int step = power_ / 2; step > 0; step /= 2) {
      if (is_long()) part /= 2;
      if (place_ < power_ && place_ % (2 * step) == 0) send(place_ + step, part);
      if (place_ < power_ && place_ % (2 * step) == step) receive(place_ - step);
    }
    for (int step = 1; is_long() && step < power_ && place_ < power_; step *= 2, part *= 2) {
      exchange(place_ ^ step, part, 0.0);
    }
    if (place_ + power_ < ranks_ && place_ < power_) send(place_ + power_, bytes_);
    if (place_ >= power_) receive(place_ - power_);
  }

  void sum_for_all() const {
    if (is_long()) {
      sum();
      return broadcast();
    }
    if (place_ >= power_) {
      send(place_ - power_, bytes_);
      return receive(place_ - power_);
    }
    if (place_ + power_ < ranks_) receive(place_ + power_, bytes_);
    for (int step = 1; step < power_; step *= 2) exchange(place_ ^ step, bytes_);
    if (place_ + power_ < ranks_) send(place_ + power_, bytes_);
  }

 private:
  bool is_long() const { return bytes_ >= kLong; }
  s4u::Mailbox* line(int from, int to) const {
    return s4u::Mailbox::by_name(fmt::format("{}>{}", (from + root_) % ranks_, (to + root_) % ranks_));
  }
  void send(int to, double bytes) const {
    line(place_, to)->put(const_cast<Passage*>(this), static_cast<std::uint64_t>(bytes));
  }
  void receive(int from, double added = 0.0) const {
    line(from, place_)->get<Passage>();
    if (added > 0.0) smpi_execute(added / bytes_added);
  }
  void exchange(int with, double bytes, double added) const {
    const s4u::CommPtr sent =
        line(place_, with)->put_async(const_cast<Passage*>(this), static_cast<std::uint64_t>(bytes));
    receive(with, added);
    sent->wait();
  }
  void exchange(int with, double bytes) const { exchange(with, bytes, bytes); }

  int root_;
  int ranks_;
  double bytes_;
  int place_;  // the root has 0
  int power_ = 1;
};

// A rank's call: what it computed before goes by first.
class Call {
 public:
  explicit Call(char kind, std::size_t bytes = 0) : rank_(own()), bytes_(bytes) {
    double seconds = cpu_seconds() - rank_.resumed;
    const bool is_collective = kind != 'p';
    if (const auto found = full_bytes.find({kind, bytes}); found != full_bytes.end()) bytes_ = found->second;
    if (is_collective && record != nullptr && own_number() < kRecordedRanks)
      fmt::print(record, "{} {} {} {:.9f}\n", own_number(), kind, bytes, seconds);
    if (has_charges && is_collective) seconds = charged(rank_, seconds);
    if (has_charges && !is_collective && own_number() != 0) seconds = 0.0;
    if (is_collective) {
      rank_.bytes += bytes_;
      ++rank_.count;
    }
    rank_.computed += seconds;
    if (seconds > 0.0) smpi_execute(seconds);
  }
  ~Call() { rank_.resumed = cpu_seconds(); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  Passage passage(int root) const { return {root, static_cast<double>(bytes_)}; }

 private:
  Rank& rank_;
  std::size_t bytes_;
};

std::size_t bytes_of(int count, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  return static_cast<std::size_t>(count) * static_cast<std::size_t>(size);
}

// This rank's next collective. `pass` lets its time go by, between what the rank brings and what it takes.
void meet(const auto& bring, const auto& pass, const auto& take) {
  const std::size_t number = own().meetings++;
  bring(meetings[number]);
  pass();
  Meeting& met = meetings[number];
  take(met.values);
  if (++met.left == all.size()) meetings.erase(number);
}

int reduce(char kind, const void* send, void* values, int count, MPI_Datatype type, MPI_Op op, int root) {
  const std::size_t bytes = bytes_of(count, type);
  const void* const own_values = send == MPI_IN_PLACE ? values : send;
  const Call call(kind, bytes);
  meet(
      [&](Meeting& met) {
        if (met.values.empty()) return met.bring(own_values, bytes);
        PMPI_Reduce_local(own_values, met.values.data(), count, type, op);
      },
      [&] { root == kAll ? call.passage(0).sum_for_all() : call.passage(root).sum(); },
      [&](const std::vector<std::byte>& sum) {
        if (root == kAll || root == own_number()) std::memcpy(values, sum.data(), bytes);
      });
  return MPI_SUCCESS;
}

}  // namespace

// The clock of the program is the simulated one, and this rank's computation since its last call.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (clock != CLOCK_MONOTONIC || !is_running || ::syscall(SYS_gettid) != ::getpid() || s4u::this_actor::is_maestro()) {
    return static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
  }
  const double since = has_charges ? 0.0 : cpu_seconds() - own().resumed;
  const auto nanoseconds = static_cast<long>((s4u::Engine::get_clock() + since) * 1e9);
  *time = {nanoseconds / 1000000000, nanoseconds % 1000000000};
  return 0;
}

// The calls that the program makes, in place of SMPI's of that name.
extern "C" {
int MPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm) {
  return reduce('A', send, receive, count, type, op, kAll);
}
int MPI_Bcast(void* values, int count, MPI_Datatype type, int root, MPI_Comm) {
  const std::size_t bytes = bytes_of(count, type);
  const Call call('B', bytes);
  const bool is_root = root == own_number();
  meet(
      [&](Meeting& met) {
        if (is_root) met.bring(values, bytes);
      },
      [&] { call.passage(root).broadcast(); },
      [&](const std::vector<std::byte>& brought) {
        if (!is_root) std::memcpy(values, brought.data(), bytes);
      });
  return MPI_SUCCESS;
}
int MPI_Reduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm) {
  return reduce('R', send, receive, count, type, op, root);
}
int MPI_Ireduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm,
                MPI_Request* request) {
  *request = MPI_REQUEST_NULL;
  return reduce('I', send, receive, count, type, op, root);
}
int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  const Call call('p');
  return PMPI_Waitall(count, requests, statuses);
}
int MPI_Iprobe(int, int, MPI_Comm, int* is_there, MPI_Status*) {
  *is_there = 0;  // no rank fails here
  return MPI_SUCCESS;
}
int MPI_Gather(const void* send, int count, MPI_Datatype type, void* receive, int, MPI_Datatype, int root, MPI_Comm) {
  const std::size_t bytes = bytes_of(count, type), at = bytes * static_cast<std::size_t>(own_number());
  const Call call('G');
  meet([&](Meeting& met) { met.bring(send, bytes, at); }, [&] { Passage(root, 0.0).sum(); },
       [&](const auto& values) {
         if (root == own_number()) std::memcpy(receive, values.data(), values.size());
       });
  return MPI_SUCCESS;
}
int MPI_Alltoall(const void* send, int count, MPI_Datatype type, void* receive, int each, MPI_Datatype other,
                 MPI_Comm comm) {
  const Call call('X');
  return PMPI_Alltoall(send, count, type, receive, each, other, comm);
}
int MPI_Send(const void* values, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  const Call call('p');
  return PMPI_Send(values, count, type, to, tag, comm);
}
int MPI_Recv(void* values, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {
  const Call call('p');
  return PMPI_Recv(values, count, type, from, tag, comm, status);
}
int MPI_Irecv(void* values, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request) {
  const Call call('p');
  return PMPI_Irecv(values, count, type, from, tag, comm, request);
}
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* copy) {
  const Call call('D');
  return PMPI_Comm_dup(comm, copy);
}
int MPI_Comm_split_type(MPI_Comm, int, int, MPI_Info, MPI_Comm* machine) {  // of one rank each
  const Call call('D');
  return PMPI_Comm_dup(MPI_COMM_SELF, machine);
}
int MPI_Finalize() {
  const Call call('F');
  return PMPI_Finalize();
}
}

namespace {

// Messages of parties, without a network: nobody is lost here. They come while their party computes.
class MailboxWire final : public dpreduce::Wire {
 public:
  MailboxWire() {
    const Call call('p');
    box(own_number())->set_receiver(s4u::Actor::self());
  }
  void send(std::uint32_t to, std::vector<std::byte> bytes) override {
    const Call call('p');
    const std::uint64_t length = bytes.size();
    own().bytes += length;
    auto message = std::make_unique<dpreduce::Message>(static_cast<std::uint32_t>(own_number()), std::move(bytes));
    box(static_cast<int>(to))->put_init(message.release(), length)->detach();
  }
  std::optional<dpreduce::Message> receive(dpreduce::WireClock::time_point until) override {
    const Call call('p');
    if (coming_ == nullptr) coming_ = box(own_number())->get_async(&message_);
    if (until > dpreduce::WireClock::now()) {
      coming_->wait();
    } else if (!coming_->test()) {
      return std::nullopt;
    }
    coming_ = nullptr;
    own().bytes += message_->bytes.size();
    return std::move(*std::unique_ptr<dpreduce::Message>(message_));
  }

 private:
  static s4u::Mailbox* box(int party) { return s4u::Mailbox::by_name(fmt::format("party{}", party)); }

  s4u::CommPtr coming_;
  dpreduce::Message* message_ = nullptr;
};

void run_rank() {
  own().resumed = cpu_seconds();
  int code = 0;
  if (std::find(words.begin(), words.end(), "--secure-aggregation") != words.end()) {
    MailboxWire wire;
    code = dpreduce::run_party(words, wire, own_number(), static_cast<int>(all.size()));
    const Call call('F');
  } else {
    dpreduce::Communicator ranks = dpreduce::Communicator::join();
    code = dpreduce::run_job(dpreduce::dpreduce_command(), words, ranks);
  }
  if (code == 0) return;
  fmt::print(stderr, "simulated_ranks: rank {} ends with exit code {}\n", own_number(), code);
  std::exit(code);
}

std::vector<s4u::Host*> network(const std::string& name, unsigned ranks) {
  constexpr const char* kSpeed = "1Gf";  // in which a second is a second
  if (name == "dragonfly") {
    const unsigned chassis = std::max(2U, (ranks + 63) / 64);  // at most 4 groups: SimGrid finds no way between more
    const unsigned groups = (ranks + 16 * chassis - 1) / (16 * chassis);
    const auto make = [](s4u::NetZone* zone, const std::vector<unsigned long>&, unsigned long id) {
      s4u::Host* host = zone->create_host(fmt::format("node{}", id), kSpeed)->seal();
      return std::make_pair(host->get_netpoint(), static_cast<simgrid::kernel::routing::NetPoint*>(nullptr));
    };
    s4u::create_dragonfly_zone("cluster", nullptr, {{groups, 1}, {chassis, 1}, {4, 1}, 4}, s4u::ClusterCallbacks(make),
                               25e9, 0.5e-6, s4u::Link::SharingPolicy::SPLITDUPLEX)
        ->seal();
    return s4u::Engine::get_instance()->get_all_hosts();
  }
  const std::map<std::string, double> rates{{"100g", 12.5e9}, {"25g", 3.125e9}};
  const auto rate = rates.find(name);
  if (rate == rates.end()) {
    fmt::print(stderr, "simulated_ranks: network '{}': must be 100g, 25g or dragonfly\n", name);
    std::exit(2);
  }
  s4u::NetZone* const zone = s4u::create_star_zone("cluster");
  std::vector<s4u::Host*> hosts;
  for (unsigned rank = 0; rank < ranks; ++rank) {
    hosts.push_back(zone->create_host(fmt::format("node{}", rank), kSpeed)->seal());
    const s4u::Link* port =
        zone->create_split_duplex_link(fmt::format("port{}", rank), rate->second)->set_latency(1e-6)->seal();
    zone->add_route(hosts.back()->get_netpoint(), nullptr, nullptr, nullptr, {{port, s4u::LinkInRoute::Direction::UP}},
                    true);
  }
  zone->seal();
  return hosts;
}

bool read_charges(const char* path) {
  std::ifstream file(path);
  for (std::string kind, first, second; file >> kind >> first >> second;) {
    if (kind == "c") {
      charges.at(std::stoul(first)).push_back(std::stod(second));
    } else {
      full_bytes[{first[0], std::stoul(first.substr(1))}] = std::stoul(second);
    }
  }
  return file.eof() && !charges[1].empty();
}

}  // namespace

// In place of that of common/ranks/party_parent.cpp, which forks: a process cannot here.
int dpreduce::run_with_parent(const std::function<int(const JobPlace&)>&, void (*)() noexcept) {
  std::abort();
}

int main(int argc, char** argv) {
  const std::vector<std::string> given(argv + 1, argv + argc);
  const auto dashes = std::find(given.begin(), given.end(), "--");
  const unsigned ranks = given.empty() ? 0U : static_cast<unsigned>(std::strtoul(given[0].c_str(), nullptr, 10));
  bool is_usable =
      ranks > 0 && dashes - given.begin() >= 2 && (dashes - given.begin()) % 2 == 0 && dashes != given.end();
  for (auto option = given.begin() + 2; is_usable && option != dashes; option += 2) {
    if (*option == "--record") {
      is_usable = (record = std::fopen(option[1].c_str(), "w")) != nullptr;
    } else {
      is_usable = has_charges = *option == "--charge" && read_charges(option[1].c_str());
    }
  }
  if (!is_usable) {
    fmt::print(stderr,
               "usage: simulated_ranks RANKS 100g|25g|dragonfly [--record FILE] [--charge FILE] -- fit OPTIONS...\n");
    return 2;
  }
  words.assign(dashes + 1, given.end());
  ::setenv("OMPI_COMM_WORLD_RANK", "0", 1);  // so that the program looks for an MPI job
  std::array<char*, 3> settings{argv[0], const_cast<char*>("--log=root.thresh:error"), nullptr};
  int setting_count = 2;
  s4u::Engine engine(&setting_count, settings.data());
  for (const char* setting : {"network/model:CM02", "network/crosstraffic:no", "contexts/stack-size:4096"}) {
    s4u::Engine::set_config(setting);
  }
  smpi_init_options();
  s4u::Engine::set_config("smpi/send-is-detached-thresh:0");  // SimGrid searches a list of these with each message
  SMPI_init();
  for (const char* setting : {"smpi/privatization:no", "smpi/simulate-computation:no", "smpi/host-speed:1Gf"}) {
    s4u::Engine::set_config(setting);
  }
  const std::vector<s4u::Host*> hosts = network(given[1], ranks);
  std::vector<std::uint64_t> sum(std::size_t{1} << 21);
  const std::vector<std::uint64_t> addend(sum.size(), 1);
  const double began = cpu_seconds();
  for (int repeat = 0; repeat < 8; ++repeat) {
    for (std::size_t word = 0; word < sum.size(); ++word) sum[word] += addend[word];
  }
  bytes_added = static_cast<double>(sum[0] * sum.size() * sizeof(sum[0])) / (cpu_seconds() - began);
  SMPI_app_instance_register("dpreduce", nullptr, static_cast<int>(ranks));
  all.resize(ranks);
  for (unsigned rank = 0; rank < ranks; ++rank) {
    const s4u::ActorPtr actor = s4u::Actor::init(fmt::format("rank{}", rank), hosts[rank]);
    actor->set_property("instance_id", "dpreduce");
    actor->set_property("rank", std::to_string(rank));
    actor->start(run_rank);
  }
  is_running = true;
  engine.run();
  is_running = false;
  double of_others = 0.0;
  for (std::size_t rank = 1; rank < all.size(); ++rank) of_others = std::max(of_others, all[rank].computed);
  fmt::print(
      "{{\"ranks\": {}, \"seconds\": {:.6f}, \"coordinator_computes\": {:.6f}, \"others_compute\": {:.6f}, \"bytes\": "
      "{}, \"calls\": {}}}\n",
      ranks, s4u::Engine::get_clock(), all[0].computed, of_others, all.back().bytes, all.back().count);
  if (record != nullptr) std::fclose(record);
  SMPI_finalize();
  return 0;
}
