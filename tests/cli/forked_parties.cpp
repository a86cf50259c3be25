#include "tests/cli/forked_parties.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>

#include <unistd.h>

#include "commands/job.hpp"
#include "common/base/output_file.hpp"
#include "common/ranks/party_process.hpp"
#include "tests/attacks/lying_sessions.hpp"
#include "tests/cli/program_run.hpp"

namespace dpreduce {
namespace {

constexpr auto kGrace = std::chrono::seconds(5);
constexpr useconds_t kPauseInMicroseconds = 500;

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

}  // namespace

std::vector<std::vector<std::string>> arguments_of_parties(const std::vector<std::string>& arguments, int ranks) {
  const auto colon = std::ranges::find(arguments, ":");
  std::vector<std::vector<std::string>> parties(static_cast<std::size_t>(ranks), {arguments.begin(), colon});
  if (colon == arguments.end()) return parties;
  constexpr std::ptrdiff_t kOfLauncher = 4;  // ":", "-n", a number, the program
  if (colon[3] != program_path()) return {};
  const auto further = arguments_of_parties({colon + kOfLauncher, arguments.end()}, std::stoi(colon[2]));
  if (further.empty()) return {};
  parties.insert(parties.end(), further.begin(), further.end());
  return parties;
}

int run_forked_parties(const std::vector<std::vector<std::string>>& arguments) {
  std::vector<PartyProcess> parties;
  ::setenv("OMPI_COMM_WORLD_LOCAL_SIZE", std::to_string(arguments.size()).c_str(), 1);
  for (std::size_t rank = 0; rank < arguments.size(); ++rank) {
    ::setenv("OMPI_COMM_WORLD_RANK", std::to_string(rank).c_str(), 1);
    const auto run = [&](const JobPlace& place) {
      std::vector<std::string> words = arguments[rank];
      const LyingSessions maker(take_fault(words));
      return run_party_of_job(place, words, maker);
    };
    const std::variant<PartyProcess, int> forked = fork_party(run, AtomicFile::remove_unfinished);
    if (const int* const code = std::get_if<int>(&forked)) return *code;
    parties.push_back(std::get<PartyProcess>(forked));
  }
  return run_parents(std::move(parties));
}

}  // namespace dpreduce
