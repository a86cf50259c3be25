// Sums, one after the other, among real silos whose coordinator may tell each of them any story at any message, and any
// public value before any sum; and what it knows afterwards.
//
// A silo's statistic in a sum is an unknown for each choice of what it may have been told until then, and zero where
// the last value is 0: a projection that leaves nothing. Every sum may be attempted more than once.
#pragma once

#include <list>

#include "common/silos/frame.hpp"
#include "tests/common/silos/lied_to_attempt.hpp"

namespace dpreduce {

/// One sum: silo i is told the value public_values[i] before it, and stories[i] in each attempt; [0] is of no meaning.
struct SumStory {
  std::vector<std::uint32_t> public_values;
  std::vector<std::vector<Story>> attempts;
};

class LiedToRun {
 public:
  /// `parties` outlive this.
  LiedToRun(const SiloParties& parties, std::uint32_t threshold, std::set<std::uint32_t> colluding, Protocol protocol)
      : cast_{parties, std::move(colluding), protocol}, threshold_(threshold), transcripts_(parties.silos() + 1) {}

  /// The next sum.
  void play(const SumStory& story) {
    const std::uint32_t silos = cast_.parties.silos();
    round_ += 2;  // a broadcast, and a sum
    SumOfSilos& sum = sums_.emplace_back();
    for (std::uint32_t silo = 1; silo <= silos; ++silo) {
      const std::uint32_t value = story.public_values[silo];
      transcripts_[silo].add(FrameKind::kBroadcast, round_ - 1, std::as_bytes(std::span(&value, 1)));
      public_values_[silo].push_back(value);
      if (refusals_.contains(silo)) continue;
      SumAttempt terms{{}, round_, 0, 1, threshold_, static_cast<std::uint32_t>(cast_.colluding.size()), {}};
      if (cast_.protocol != Protocol::kNoTranscript) terms.broadcast_digest = transcripts_[silo].digest();
      sum.terms.emplace(silo, terms);
      sum.public_values.emplace(silo, public_values_[silo]);
      begin(sum, silo);
    }
    std::uint32_t number = 0;
    for (const std::vector<Story>& attempt : story.attempts) {
      if (number > 0 && cast_.protocol == Protocol::kSignsAgain) {
        sum.silos.clear();
        for (const auto& entry : sum.terms) begin(sum, entry.first);
      }
      attempts_.emplace_back(cast_, sum, ++number, refusals_).play(attempt);
    }
  }

  /// The attempts at all sums so far.
  const std::list<LiedToAttempt>& attempts() const { return attempts_; }
  /// What a silo said when it refused.
  const std::map<std::uint32_t, std::string>& refusals() const { return refusals_; }

  /// A basis of the sums of honest silos' statistics that the coordinator can make.
  std::vector<Combination> known() const {
    std::vector<SeenWord> words;
    for (const LiedToAttempt& attempt : attempts_) {
      for (SeenWord& word : attempt.words()) words.push_back(std::move(word));
    }
    return known_sums(words);
  }

  /// Why the goal is missed: empty, or which sums are known that must not be.
  std::string leak() const { return leak_in(known(), threshold_ - cast_.colluding.size()); }

 private:
  void begin(SumOfSilos& sum, std::uint32_t silo) const {
    sum.silos.emplace(silo, SiloSum(cast_.parties.self(silo), sum.terms.at(silo), all_silos(cast_.parties.silos())));
  }

  Cast cast_;
  std::uint32_t threshold_;
  std::uint64_t round_ = 0;
  std::vector<Transcript> transcripts_;
  std::map<std::uint32_t, Values> public_values_;
  std::map<std::uint32_t, std::string> refusals_;
  std::list<SumOfSilos> sums_;
  std::list<LiedToAttempt> attempts_;
};

/// A run of one sum in one attempt, of which all silos were told the same value.
class LiedToSum : public LiedToRun {
 public:
  using LiedToRun::LiedToRun;
  void play(const std::vector<Story>& stories) {
    LiedToRun::play({std::vector<std::uint32_t>(stories.size(), 1), {stories}});
  }
  std::set<std::uint32_t> masked() const { return attempts().front().masked(); }
  const std::set<std::uint32_t>& revealed() const { return attempts().front().revealed(); }
  std::optional<std::uint64_t> opened(std::uint32_t silo) const { return attempts().front().opened(silo); }
};

}  // namespace dpreduce
