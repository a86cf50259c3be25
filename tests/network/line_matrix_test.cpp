// Every line cut, reset and silenced at every record of TLS, every party killed, and every message changed, in turn:
// the run ends right, with the same bytes everywhere, or refused with its reason; never wrong, and never later than it
// may. Parties are threads with a wire each, over TCP. The long form plays all stories; its figures stand in
// docs/experiments/silos.md.
#include <atomic>
#include <fstream>

#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include "tests/common/silos/memory_wire.hpp"
#include "tests/network/network_parties.hpp"
#include "tests/slow_tests.hpp"

namespace dpreduce::line_matrix_test {

using testing::AnyOf;
using testing::Eq;

constexpr std::uint32_t kSilos = 3;
// A line is silent for a quarter of it, broken for a quarter, and a party leaves within half of it; the rest is for a
// busy machine.
constexpr std::chrono::seconds kTimeout{4};
// The same where a line is cut: a party waits for the end of these times, or only on a busy machine.
constexpr std::chrono::seconds kWaited{8};
constexpr std::chrono::seconds kPatience{20};
constexpr std::chrono::seconds kLongest{12};

struct LineStory {
  std::uint32_t silo = 1;  // whose line it is
  std::optional<LineFault> cut = std::nullopt;
  std::chrono::milliseconds delay{0};
  std::uint64_t rate = 0;
  SiloRunPlan plan = {.terms = {kSilos, 2, 0}, .timeout = kTimeout, .rounds = 2};
  std::chrono::seconds line_timeout = kTimeout;
  std::chrono::seconds run_timeout{60};
  bool overrules = false;  // the coordinator tells all that nobody has failed

  std::string text() const {
    std::string text = fmt::format("silo {}", silo);
    if (cut) {
      text += fmt::format(", {} at record {} {} the coordinator, place {}", static_cast<int>(cut->kind), cut->record,
                          cut->to_coordinator ? "to" : "from", static_cast<int>(cut->place));
    }
    if (plan.fault) {
      text += fmt::format(", party {}: fault {} at {}#{}", plan.fault->party, static_cast<int>(plan.fault->kind),
                          to_string(plan.fault->at), plan.fault->number);
    }
    return text;
  }
};

LineStory patient(LineStory story, std::chrono::seconds timeout = kPatience) {
  story.plan.timeout = story.line_timeout = timeout;
  return story;
}

struct Outcome {
  SiloRunResult run;
  std::map<std::uint32_t, std::vector<std::vector<std::uint64_t>>> told;  // the sums that each silo has
  std::uint64_t records_up = 0;
  std::uint64_t records_down = 0;
  std::uint64_t connections = 0;
  std::chrono::duration<double> seconds{};
};

// What is to be done where a party kills itself: its wire goes without a word.
const SelfHarm kDies{[] { throw Killed(); }, [] { throw Killed(); }};

class StoryRun {
 public:
  explicit StoryRun(const LineStory& story) : story_(story), parties_(kSilos, story.line_timeout, story.run_timeout) {
    proxy_.set_delay(story.delay);
    proxy_.set_rate(story.rate);
    if (story.cut) proxy_.set_fault(*story.cut);
    proxy_.begin(parties_.port());
  }

  Outcome play() {
    const auto began = WireClock::now();
    for (std::uint32_t silo = 1; silo <= kSilos; ++silo) outcome_.told[silo];
    std::vector<std::jthread> silos;
    for (std::uint32_t silo = 1; silo <= kSilos; ++silo) silos.emplace_back([this, silo] { take_part(silo); });
    lead();
    silos.clear();
    outcome_.seconds = WireClock::now() - began;
    outcome_.records_up = proxy_.records(true);
    outcome_.records_down = proxy_.records(false);
    outcome_.connections = proxy_.connections();
    return std::move(outcome_);
  }

 private:
  // What the party enters with.
  SiloEntry entry_on(NetworkWire& wire) const {
    SiloEntry entry = simulated_entry(story_.plan);
    wire.set_send_timeout(entry.timeout);
    return entry;
  }

  // Sessions with the fault that one party may have. One that overrules has it in its wire.
  LyingSessions sessions() const {
    const Fault overrules{.party = 0, .kind = FaultKind::kOverrule, .at = FrameKind::kVerdict};
    return LyingSessions(story_.overrules ? std::optional(overrules) : story_.plan.fault, kDies);
  }

  void take_part(std::uint32_t silo) {
    const auto wire = parties_.silo(silo, silo == story_.silo ? proxy_.port() : 0);
    try {
      wire->wait_for_run([](const std::string&) {});
      take_silos_part(*wire, silo, story_.plan, entry_on(*wire), outcome_.told.at(silo), sessions());
    } catch (const Killed&) {
      return;
    } catch (const Error& error) {
      const std::lock_guard guard(lock_);
      outcome_.run.silo_refusals[silo] = error.what();
    }
    wire->leave("it has ended");
  }

  void lead() {
    try {
      parties_.begin();
      NetworkWire& wire = parties_.coordinator();
      const std::optional<Fault>& fault = story_.plan.fault;
      std::optional<FaultyWire> faulty;
      if (story_.overrules && fault && fault->party == 0) faulty.emplace(wire, *fault, kDies);
      Wire& used = faulty ? static_cast<Wire&>(*faulty) : wire;
      take_coordinators_part(used, story_.plan, entry_on(wire), outcome_.run, sessions());
    } catch (const Error& error) {
      outcome_.run.refusal = error.what();
    }
    if (outcome_.run.refusal != "the coordinator was killed") parties_.coordinator().leave("it has ended");
    parties_.end_coordinator();
  }

  const LineStory& story_;
  NetworkParties parties_;
  LineProxy proxy_;
  std::mutex lock_;
  Outcome outcome_;
};

// What a run has come to, in a word; "wrong" where it may not have come to that.
std::string word_of(const LineStory& story, const Outcome& outcome) {
  const SiloRunResult& run = outcome.run;
  if (!sums_are_right(run, story.plan)) return "wrong: a sum";
  for (const auto& [silo, told] : outcome.told) {
    for (std::size_t round = 0; round < told.size(); ++round) {
      if (round < run.sums.size() && told[round] != run.sums[round]) return "wrong: what a silo was told";
    }
  }
  for (const LostSilo& lost : run.lost) {
    if (lost.reason.empty()) return "wrong: lost without a reason";
  }
  for (const auto& [silo, why] : run.silo_refusals) {
    if (why.empty()) return "wrong: refused without a reason";
  }
  if (outcome.seconds > kLongest) return "wrong: too late";
  if (!run.refusal.empty()) return "refused";
  if (run.sums.size() != story.plan.rounds) return "wrong: a sum is missing";
  if (!run.lost.empty()) return "right, without a silo";
  for (const auto& [silo, why] : run.silo_refusals) {
    if (outcome.told.at(silo).size() != story.plan.rounds) return "wrong: a silo refused, and was not lost";
  }
  return run.silo_refusals.empty() ? "right" : "right, and a silo refuses the last word";
}

// Most of the time of a run is waiting.
constexpr std::size_t kAtOnce = 12;

struct Played {
  LineStory story;
  Outcome outcome;
  std::string word;

  std::string text() const {
    std::string text =
        fmt::format("{}\n{:.2f} s, coordinator: \"{}\"", story.text(), outcome.seconds.count(), outcome.run.refusal);
    for (const LostSilo& lost : outcome.run.lost) text += fmt::format("; lost {}: {}", lost.silo, lost.reason);
    for (const auto& [silo, why] : outcome.run.silo_refusals) text += fmt::format("; silo {}: {}", silo, why);
    return text;
  }
};

Played played(const LineStory& story) {
  Outcome outcome = StoryRun(story).play();
  std::string word = word_of(story, outcome);
  return {story, std::move(outcome), std::move(word)};
}

// The figures of a class of stories go to the file that the environment names.
void write_figures(const std::string& name, const std::vector<Played>& all, double seconds) {
  const char* const path = std::getenv("DPREDUCE_FIGURES");
  if (path == nullptr) return;
  nlohmann::json figures{{"stories", name}, {"runs", all.size()}, {"seconds", seconds}};
  double longest = 0;
  std::uint64_t connections = 0;
  for (const Played& one : all) {
    longest = std::max(longest, one.outcome.seconds.count());
    connections = std::max(connections, one.outcome.connections);
    auto& count = figures["outcomes"][one.word];
    count = count.is_null() ? 1 : count.get<int>() + 1;
  }
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  figures["longest"] = longest;
  figures["most_connections"] = connections;
  figures["peak_mib"] = static_cast<double>(used.ru_maxrss) / 1024.0;
  std::ofstream(path, std::ios::app) << figures.dump() << '\n';
}

// Plays all of them, and expects that each comes to such a word.
std::vector<Played> play_all(const std::string& name, const std::vector<LineStory>& stories,
                             const testing::Matcher<const std::string&>& allowed) {
  const auto began = WireClock::now();
  std::vector<Played> all(stories.size());
  std::atomic<std::size_t> next{0};
  std::vector<std::jthread> players;
  for (std::size_t player = 0; player < kAtOnce; ++player) {
    players.emplace_back([&] {
      for (std::size_t story = next++; story < stories.size(); story = next++) all[story] = played(stories[story]);
    });
  }
  players.clear();
  write_figures(name, all, std::chrono::duration<double>(WireClock::now() - began).count());
  for (const Played& one : all) EXPECT_THAT(one.word, allowed) << one.text();
  return all;
}

// The long form plays all stories, the other every so many-th.
std::vector<LineStory> some_of(std::vector<LineStory> all, std::size_t step) {
  if (runs_slow_tests()) return all;
  std::vector<LineStory> some;
  for (std::size_t story = 0; story < all.size(); story += step) some.push_back(std::move(all[story]));
  return some;
}

// Every record that a line has carried in a run without faults, and some more: how many there are depends on what
// goes together.
std::vector<LineStory> cuts(const std::vector<LineFault::Place>& places, LineFault::Kind kind) {
  const Played whole = played(patient({}));
  EXPECT_EQ(whole.word, "right") << whole.text();
  constexpr std::uint64_t kMore = 3;
  constexpr std::uint64_t kFarewells = 6;  // of the last records: whoever misses the answer to one waits for it
  std::vector<LineStory> stories;
  for (const bool to_coordinator : {true, false}) {
    const std::uint64_t records = to_coordinator ? whole.outcome.records_up : whole.outcome.records_down;
    for (std::uint64_t record = 1; record <= records + kMore; ++record) {
      const bool waits = kind == LineFault::Kind::kSilence || record + kFarewells > records;
      for (const LineFault::Place place : places) {
        for (std::uint32_t silo = 1; silo <= (runs_slow_tests() ? kSilos : 1); ++silo) {
          const LineStory story{.silo = silo, .cut = LineFault{to_coordinator, record, place, kind}};
          stories.push_back(patient(story, waits ? kWaited : kPatience));
        }
      }
    }
  }
  return stories;
}

constexpr LineFault::Place kPlaces[] = {LineFault::Place::kBefore, LineFault::Place::kWithin, LineFault::Place::kAfter};

// A line that is cut is made again, wherever that was: nobody is lost.
TEST(LineMatrix, LinesThatAreCutAtAnyRecordChangeNothing) {
  for (const auto& [kind, name] : {std::pair{LineFault::Kind::kClose, "a connection is closed"},
                                   std::pair{LineFault::Kind::kReset, "a connection is reset"}}) {
    play_all(name, some_of(cuts({std::begin(kPlaces), std::end(kPlaces)}, kind), 7), Eq("right"));
  }
}

TEST(LineMatrix, LinesThatGoSilentAtAnyRecordAreDialedAgain) {
  play_all("a connection goes silent", some_of(cuts({LineFault::Place::kAfter}, LineFault::Kind::kSilence), 6),
           Eq("right"));
}

TEST(LineMatrix, SlowLinesTakeTheirTime) {
  std::vector<LineStory> stories;
  for (const std::chrono::milliseconds delay : {std::chrono::milliseconds(0), std::chrono::milliseconds(10)}) {
    for (const std::uint64_t rate : {0U, 400'000U, 200'000U}) stories.push_back({.delay = delay, .rate = rate});
  }
  for (LineStory& story : stories) story.plan.words = 3'000;
  const std::vector<Played> all = play_all("a line is slow", stories, Eq("right"));
  const auto seconds = [&](std::size_t story) { return all[story].outcome.seconds.count(); };
  const double both_ways = 2 * 2 * 24'000;  // bytes at least: two rounds, both ways
  EXPECT_GT(seconds(1), both_ways / 400'000 / 2);
  EXPECT_GT(seconds(2), both_ways / 200'000 / 2);
  EXPECT_GT(seconds(3), 0.25) << "some twenty answers are waited for, 20 ms each";
}

// Which messages a party sends in a run, each with its number among those of its kind.
std::vector<Fault> messages_of_run(const SiloRunPlan& plan, FaultKind kind) {
  std::map<std::pair<std::uint32_t, FrameKind>, std::uint32_t> seen;
  std::vector<Fault> all;
  SiloRunPlan watched = plan;
  watched.watcher = [&](std::uint32_t, const Message& message) {
    const auto header = message.is_farewell ? std::nullopt : claimed_header(message.bytes);
    if (!header) return;
    const std::uint32_t number = ++seen[{message.from, header->kind}];
    all.push_back({.party = message.from, .kind = kind, .at = header->kind, .number = number});
  };
  run_silos(watched);
  return all;
}

// At every so many-th message of the coordinator, or of silos; the long form at each.
std::vector<LineStory> at_messages(FaultKind kind, bool of_coordinator, std::size_t step) {
  std::vector<LineStory> stories;
  for (const Fault& fault : messages_of_run(LineStory{}.plan, kind)) {
    if ((fault.party == 0) == of_coordinator) stories.emplace_back().plan.fault = fault;
  }
  return some_of(std::move(stories), step);
}

TEST(LineMatrix, ASiloKilledAtAnyMessageLeavesARightSumOfTheOthers) {
  const auto stories = at_messages(FaultKind::kKill, false, 7);
  for (const Played& one : play_all("a silo is killed", stories, Eq("right, without a silo"))) {
    EXPECT_EQ(one.outcome.run.lost.size(), 1U) << one.text();
    for (const auto& [silo, told] : one.outcome.told) {
      if (silo == one.story.plan.fault->party) continue;
      EXPECT_EQ(told.size(), 2U) << one.text();
    }
  }
}

TEST(LineMatrix, ACoordinatorKilledAtAnyMessageEndsTheRunAtEverySilo) {
  auto stories = at_messages(FaultKind::kKill, true, 9);
  // A silo that has had nothing of the run when its coordinator dies waits for another one, as long as it may.
  for (LineStory& story : stories) story.run_timeout = kTimeout / 2;
  for (const Played& one : play_all("the coordinator is killed", stories, Eq("refused"))) {
    const Fault& fault = *one.story.plan.fault;
    const bool is_last = fault.at == FrameKind::kVerdict && fault.number > 2 * kSilos;
    const auto& refusals = one.outcome.run.silo_refusals;
    for (std::uint32_t silo = 1; silo <= kSilos; ++silo) {
      const auto refusal = refusals.find(silo);
      if (refusal == refusals.end()) {
        EXPECT_TRUE(is_last) << one.text();  // it has had the last verdict
        continue;
      }
      EXPECT_THAT(refusal->second, AnyOf(HasSubstr("the coordinator is unreachable"), HasSubstr("rank 0"),
                                         HasSubstr("within --run-timeout")))
          << one.text();
    }
  }
}

// Whatever a coordinator changes a silo refuses, which ends that silo, whatever it is told then; and the other way
// round.
TEST(LineMatrix, AMessageThatIsChangedIsRefusedByWhoGetsIt) {
  for (const bool of_coordinator : {true, false}) {
    std::vector<LineStory> stories = at_messages(FaultKind::kCorrupt, of_coordinator, 9);
    for (LineStory& story : stories) story.overrules = of_coordinator;
    const std::vector<Played> all =
        play_all(of_coordinator ? "the coordinator changes a message" : "a silo changes a message", stories,
                 AnyOf("right, without a silo", "right, and a silo refuses the last word"));
    for (const Played& one : all) EXPECT_EQ(one.outcome.run.silo_refusals.size(), 1U) << one.text();
  }
}

// How long a silo computes may tell of a person: one that is late ends the run for all, and is not left out.
TEST(LineMatrix, ALateSiloEndsTheRunForAll) {
  std::vector<LineStory> stories;
  for (const FrameKind at : {FrameKind::kStatus, FrameKind::kMasked, FrameKind::kReveal}) {
    SiloRunPlan& plan = stories.emplace_back().plan;
    plan.fault = Fault{2, FaultKind::kSlow, at, 1, 4.0};
    plan.timeout = std::chrono::seconds(2);  // a busy machine keeps the others waiting too
  }
  for (const Played& one : play_all("a silo is late", stories, Eq("refused"))) {
    EXPECT_THAT(one.outcome.run.refusal, HasSubstr("silo 2: alive, but no"));
    EXPECT_TRUE(one.outcome.run.lost.empty());
    EXPECT_EQ(one.outcome.run.silo_refusals.size(), kSilos);
  }
}

// A silo fails in any round, and the coordinator tells all that nobody has: it is found out, and no round more is made.
TEST(LineMatrix, AFailureThatIsAnsweredWithAllWellEndsTheRun) {
  std::vector<LineStory> stories;
  for (std::uint32_t silo = 1; silo <= kSilos; ++silo) {
    for (std::size_t round = 0; round < LineStory{}.plan.rounds; ++round) {
      for (const bool overrules : {true, false}) {
        stories.push_back({.silo = silo, .overrules = overrules});
        stories.back().plan.failure = std::pair(silo, round);
      }
    }
  }
  for (const Played& one : play_all("a silo fails and is told that all is well", stories, Eq("refused"))) {
    const SiloRunResult& run = one.outcome.run;
    EXPECT_EQ(run.sums.size(), one.story.plan.failure->second) << one.text();
    EXPECT_EQ(run.silo_refusals.size(), kSilos);
    EXPECT_EQ(run.silo_refusals.at(one.story.silo), "a row of its own");
    EXPECT_THAT(run.refusal, HasSubstr(one.story.overrules ? "was told that nobody has" : "a silo has failed"));
  }
}

}  // namespace dpreduce::line_matrix_test
