// What a silo does when it fails and is told that all is well, or is told of failures that there are not, or hears from
// somebody else than the coordinator: all stories of three phases, as Communicator and SiloSession play them. A party
// that can be overruled is planted, and found.

#include "common/ranks/communicator.hpp"
#include "common/ranks/silo_job.hpp"
#include "tests/common/silos/lying_coordinator.hpp"
#include "tests/testing.hpp"

namespace dpreduce::verdict_stories_test {

constexpr int kPhases = 3;
constexpr std::size_t kWords = 4;

enum class OwnFailure { kNone, kBadInput, kInternal };

// What else comes while the silo works in a phase.
enum class Event { kNone, kCoordinatorEnds, kOtherSiloEnds, kOtherSiloTalks };

struct Story {
  std::vector<std::int64_t> verdicts;  // of each phase
  OwnFailure own = OwnFailure::kNone;
  int failing_phase = 0;
  Event event = Event::kNone;
  int phase_of_event = 0;

  std::string text() const {
    return fmt::format("verdicts {}; own failure {} in phase {}; event {} in phase {}", fmt::join(verdicts, " "),
                       static_cast<int>(own), failing_phase, static_cast<int>(event), phase_of_event);
  }
};

// How it ended for the silo, and what it had sent when it had to stop, then.
struct Outcome {
  std::optional<ExitCode> code;  // none: all phases were done, and the sum had begun
  bool is_own = false;           // its own error, not another's
  std::size_t phases = 0;        // that were done
  std::vector<FrameKind> sent;
  bool sends_more = false;  // asked to go on after its end
  bool operator==(const Outcome&) const = default;
};

/// Silos as they are.
class TrueParty {
 public:
  explicit TrueParty(Wire& wire)
      : ranks_(
            Communicator::among_silos(std::make_unique<SiloJob>(wire, 1, LyingCoordinator::entry(), nullptr), 1, 3)) {}
  void together(const std::function<void()>& work) { ranks_.together(work); }
  void check() { ranks_.check_peers(); }
  void share_number() { ranks_.max_everywhere(1.0); }
  void sum() {
    ranks_.silos()->agree_on_plan({});
    std::vector<std::uint64_t> values(kWords, 1);
    ranks_.sum_to_coordinator(values);
  }

 private:
  Communicator ranks_;
};

/// One that takes the coordinator's word: it asks whether it has failed.
class ObedientParty {
 public:
  explicit ObedientParty(Wire& wire) : session_(wire, 1, LyingCoordinator::entry()) { session_.connect(); }
  void together(const std::function<void()>& work) {
    std::exception_ptr error;
    try {
      work();
    } catch (...) {
      error = std::current_exception();
    }
    if (session_.agree(kNobodyFailed) == kNobodyFailed) return;
    if (error) std::rethrow_exception(error);
    throw PeerFailed(ExitCode::kAggregationAborted, 0);
  }
  void check() { session_.check(); }
  void share_number() { session_.largest(1.0); }
  void sum() {
    session_.agree_on_plan({});
    session_.sum(std::vector<std::uint64_t>(kWords, 1));
  }

 private:
  SiloSession session_;
};

template <typename Party>
Outcome play(const Story& story) {
  LyingCoordinator coordinator(story.verdicts);
  Party party(coordinator);
  Outcome outcome;
  const auto run = [&] {
    for (int phase = 0; phase < kPhases; ++phase) {
      party.together([&] {
        if (phase == story.phase_of_event) {
          if (story.event == Event::kCoordinatorEnds) coordinator.post(Message{0, {}, true});
          if (story.event == Event::kOtherSiloEnds) coordinator.post(Message{2, {}, true});
          if (story.event == Event::kOtherSiloTalks) coordinator.post(Message{2, std::vector<std::byte>(1), false});
        }
        if (story.own == OwnFailure::kBadInput && phase == story.failing_phase) throw BadInput("row 7 is not finite");
        if (story.own == OwnFailure::kInternal && phase == story.failing_phase) throw std::runtime_error("no memory");
        party.check();
      });
      party.share_number();
      ++outcome.phases;
    }
    coordinator.begin_after_plan(PayloadWriter().u32(1).u64(kWords).take());
    party.sum();
  };
  try {
    run();
  } catch (const PeerFailed& failure) {
    outcome.code = failure.code();
  } catch (const Error& error) {
    outcome.code = error.code();
    outcome.is_own = true;
  } catch (const std::exception&) {
    outcome.code = ExitCode::kInternal;
    outcome.is_own = true;
  }
  outcome.sent = coordinator.sent();
  for (const std::function<void()>& go_on :
       {std::function<void()>([&] { party.together([] {}); }), std::function<void()>([&] { party.share_number(); }),
        std::function<void()>([&] { party.sum(); })}) {
    try {
      go_on();
      outcome.sends_more = true;
    } catch (const std::exception&) {
      outcome.sends_more |= coordinator.sent().size() != outcome.sent.size();
    }
  }
  return outcome;
}

// What must come of a story.
Outcome due(const Story& story) {
  Outcome outcome;
  for (int phase = 0; phase < kPhases; ++phase) {
    outcome.sent.push_back(FrameKind::kStatus);
    if (story.own != OwnFailure::kNone && phase == story.failing_phase) {
      outcome.code = story.own == OwnFailure::kBadInput ? ExitCode::kBadInput : ExitCode::kInternal;
      outcome.is_own = true;
      return outcome;
    }
    if (story.event == Event::kCoordinatorEnds && phase == story.phase_of_event) {
      outcome.sent.pop_back();
      outcome.code = ExitCode::kAggregationAborted;
      return outcome;
    }
    const std::int64_t told = story.verdicts[static_cast<std::size_t>(phase)];
    if (told != kNobodyFailed) {
      outcome.code = ExitCode::kAggregationAborted;  // whatever code is told
      return outcome;
    }
    outcome.sent.push_back(FrameKind::kNumber);
    ++outcome.phases;
  }
  outcome.sent.push_back(FrameKind::kPlan);
  outcome.sent.push_back(FrameKind::kAdvertise);
  outcome.code = ExitCode::kAggregationAborted;  // the coordinator says nothing more
  outcome.is_own = true;
  return outcome;
}

struct Search {
  std::size_t stories = 0;
  std::size_t sums = 0;     // stories in which the silo took part in a sum
  std::string first_wrong;  // the first story that ends otherwise than it must
};

template <typename Party>
Search search() {
  // Of silo 2: a failure, one with the code of success, one with a code that there is not; of this silo; nonsense.
  const std::vector<std::int64_t> told{kNobodyFailed,          failure_of(2, ExitCode::kBadInput), 2 * kCodesOfParty,
                                       2 * kCodesOfParty + 77, failure_of(1, ExitCode::kBadInput), -1};
  Search result;
  const auto try_story = [&](const Story& story) {
    const Outcome expected = due(story);
    const Outcome found = play<Party>(story);
    ++result.stories;
    if (!found.sent.empty() && found.sent.back() == FrameKind::kAdvertise) ++result.sums;
    if (found != expected) result.first_wrong = story.text();
    return found == expected;
  };
  for (std::size_t verdicts = 0; verdicts < told.size() * kPhases; ++verdicts) {
    Story story;
    story.verdicts.assign(kPhases, kNobodyFailed);  // what is told after a failure changes nothing any more
    story.verdicts[verdicts / told.size()] = told[verdicts % told.size()];
    for (const OwnFailure own : {OwnFailure::kNone, OwnFailure::kBadInput, OwnFailure::kInternal}) {
      for (story.failing_phase = 0; story.failing_phase < (own == OwnFailure::kNone ? 1 : kPhases);
           ++story.failing_phase) {
        story.own = own;
        for (const Event event :
             {Event::kNone, Event::kCoordinatorEnds, Event::kOtherSiloEnds, Event::kOtherSiloTalks}) {
          for (story.phase_of_event = 0; story.phase_of_event < (event == Event::kNone ? 1 : kPhases);
               ++story.phase_of_event) {
            story.event = event;
            if (!try_story(story)) return result;
          }
        }
      }
    }
  }
  return result;
}

TEST(VerdictStories, NoSiloGoesOnOnceItHasFailedAndNoneEndsWellOnAWord) {
  const Search result = search<TrueParty>();
  EXPECT_EQ(result.first_wrong, "");
  EXPECT_GT(result.sums, 10U);
  fmt::print("{} stories, {} with a sum\n", result.stories, result.sums);
}

TEST(VerdictStories, APartyThatCanBeOverruledIsFound) {
  EXPECT_THAT(search<ObedientParty>().first_wrong, HasSubstr("own failure 1 in phase 0"));
}

}  // namespace dpreduce::verdict_stories_test
