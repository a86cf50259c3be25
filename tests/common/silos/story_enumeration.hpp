// All stories of a coordinator to few silos, up to symmetry.
//
// Below 32 silos all mask with all, so silos differ by what they are told, and by whether they collude: a story is how
// many of either kind play which role. Left out is what gives a coordinator nothing that another story does not:
//   - lists of fewer than t silos, which whoever is told them refuses (masking_test.cpp);
//   - a second story about lists in one attempt: silos go on only with t signatures on the lists that they were told,
//   which
//     2 t > k + c allows for one of them, and those who do not go on do nothing more than those who are told nothing
//     (any lists to any silo: any_lists.hpp; several lists of t signatures: drawn_stories.hpp);
//   - a silo that is not shown the signatures on its list where there are enough: it could only send more;
//   - lists that fewer than t - 1 silos have signed. That t - 1 are refused is seen.
#pragma once

#include "tests/common/silos/lied_to_run.hpp"
#include "tests/testing.hpp"

namespace dpreduce {

/// How many silos, how many of them must stay, and how many collude: the last ones.
struct Terms {
  std::uint32_t silos;
  std::uint32_t threshold;
  std::uint32_t colluding;

  bool is_allowed() const { return 2 * threshold > silos + colluding && threshold <= silos && threshold >= 2; }
  bool is_colluding(std::uint32_t silo) const { return silo > silos - colluding; }
  std::set<std::uint32_t> colluding_silos() const {
    std::set<std::uint32_t> last;
    for (std::uint32_t silo = silos - colluding + 1; silo <= silos; ++silo) last.insert(silo);
    return last;
  }
};

struct Search {
  std::size_t stories = 0;
  std::size_t sums = 0;  ///< stories that gave the coordinator a sum
  std::string leak;      ///< the first one that was found

  void add(const LiedToRun& run) {
    ++stories;
    if (!run.known().empty()) ++sums;
    leak = run.leak();
  }
};

/// What becomes of a silo in an attempt. Colluding ones are listed or not, and sign whatever there is to be signed.
enum class Part { kAbsent, kAdvertises, kShares, kSilentInSum, kMasks, kMasksInSum, kReveals };

/// Of a silo in a run: what it is told before each sum, and its part in each attempt at each.
struct Role {
  std::vector<std::uint32_t> public_values;
  std::vector<std::vector<Part>> parts;
};

class Enumeration {
 public:
  /// `honest` and `colluding`: the roles that there are.
  Enumeration(const SiloParties& parties, const Terms& terms, Protocol protocol, std::vector<Role> honest,
              std::vector<Role> colluding)
      : parties_(parties),
        terms_(terms),
        protocol_(protocol),
        honest_(std::move(honest)),
        colluding_(std::move(colluding)),
        places_(terms.silos) {}

  /// Ends with the first leak.
  Search run() {
    draw(0);
    return result_;
  }

 private:
  // Roles never fall from one honest silo to the next, nor from one colluding silo to the next.
  void draw(std::uint32_t place) {
    if (!result_.leak.empty()) return;
    if (place == terms_.silos) {
      play();
      return;
    }
    const std::uint32_t honest = terms_.silos - terms_.colluding;
    const std::size_t first = place == 0 || place == honest ? 0 : places_[place - 1];
    for (std::size_t role = first; role < (place < honest ? honest_ : colluding_).size(); ++role) {
      places_[place] = role;
      draw(place + 1);
    }
  }

  const Role& role(std::uint32_t silo) const {
    return (terms_.is_colluding(silo) ? colluding_ : honest_)[places_[silo - 1]];
  }
  template <typename Is>
  SiloList silos_that(const Is& is) const {
    SiloList list;
    for (std::uint32_t silo = 1; silo <= terms_.silos; ++silo) {
      if (is(silo)) list.push_back(silo);
    }
    return list;
  }

  // At most how many signatures there are on one text: of those that were told the same until then.
  std::size_t most_signers(std::size_t sum, std::size_t attempt, Part least, Part least_of_colluding) const {
    std::map<Values, std::size_t> count;
    std::size_t colluding = 0;
    for (std::uint32_t silo = 1; silo <= terms_.silos; ++silo) {
      const Role& of = role(silo);
      if (terms_.is_colluding(silo)) {
        colluding += of.parts[sum][attempt] >= least_of_colluding ? 1 : 0;
      } else if (of.parts[sum][attempt] >= least) {
        const auto public_values = of.public_values.begin() + static_cast<std::ptrdiff_t>(sum) + 1;
        ++count[protocol_ == Protocol::kNoTranscript ? Values() : Values(of.public_values.begin(), public_values)];
      }
    }
    std::size_t most = 0;
    for (const auto& entry : count) most = std::max(most, entry.second);
    return most + colluding;
  }

  // Empty where the attempt is not worth playing.
  std::vector<Story> stories_of(std::size_t sum, std::size_t attempt) const {
    const auto part = [&](std::uint32_t silo) { return role(silo).parts[sum][attempt]; };
    const SiloList participants = silos_that([&](std::uint32_t silo) { return part(silo) >= Part::kAdvertises; });
    const SiloList sharing = silos_that([&](std::uint32_t silo) { return part(silo) >= Part::kShares; });
    const SiloList summed = silos_that(
        [&](std::uint32_t silo) { return part(silo) == Part::kSilentInSum || part(silo) >= Part::kMasksInSum; });
    if (sharing.size() < terms_.threshold) return {};
    if (most_signers(sum, attempt, Part::kMasks, Part::kShares) + 1 < terms_.threshold) return {};
    const bool is_one_attempt = role(1).parts.size() * role(1).parts.front().size() == 1;
    if (!(is_one_attempt && summed.empty()) &&
        (summed.size() < terms_.threshold ||
         most_signers(sum, attempt, Part::kReveals, Part::kSilentInSum) + 1 < terms_.threshold)) {
      return {};
    }
    std::vector<Story> stories(terms_.silos + 1);
    for (std::uint32_t silo = 1; silo <= terms_.silos; ++silo) {
      Story& story = stories[silo];
      if (part(silo) >= Part::kAdvertises) story.participants = participants;
      if (terms_.is_colluding(silo)) continue;
      if (part(silo) >= Part::kMasks) story.sharing = sharing;
      if (part(silo) >= Part::kReveals) story.summed = summed;
    }
    return stories;
  }

  void play() {
    std::vector<SumStory> story(role(1).parts.size());
    for (std::size_t sum = 0; sum < story.size(); ++sum) {
      story[sum].public_values.assign(terms_.silos + 1, 1);
      for (std::uint32_t silo = 1; silo <= terms_.silos; ++silo)
        story[sum].public_values[silo] = role(silo).public_values[sum];
      for (std::size_t attempt = 0; attempt < role(1).parts[sum].size(); ++attempt) {
        story[sum].attempts.push_back(stories_of(sum, attempt));
        if (story[sum].attempts.back().empty()) return;
      }
    }
    LiedToRun run(parties_, terms_.threshold, terms_.colluding_silos(), protocol_);
    for (const SumStory& sum : story) run.play(sum);
    result_.add(run);
  }

  const SiloParties& parties_;
  Terms terms_;
  Protocol protocol_;
  std::vector<Role> honest_;
  std::vector<Role> colluding_;
  std::vector<std::size_t> places_;
  Search result_;
};

/// All stories of one attempt at one sum, before which each silo is told a projection to zero or another value.
inline Enumeration one_attempt(const SiloParties& parties, const Terms& terms, Protocol protocol) {
  std::vector<Role> honest;
  std::vector<Role> colluding;
  for (const Part part : {Part::kAbsent, Part::kAdvertises, Part::kShares, Part::kSilentInSum}) {
    honest.push_back({{1}, {{part}}});
    colluding.push_back({{1}, {{part}}});
  }
  for (const Part part : {Part::kMasks, Part::kMasksInSum, Part::kReveals}) {
    for (const std::uint32_t value : {0U, 1U}) honest.push_back({{value}, {{part}}});
  }
  return {parties, terms, protocol, honest, colluding};
}

/// All stories of two attempts at one sum, both of which have lists that t - 1 silos or more have signed: others are
/// stories of one attempt.
inline Enumeration two_attempts(const SiloParties& parties, const Terms& terms, Protocol protocol) {
  std::vector<Role> honest;
  std::vector<Role> colluding;
  constexpr std::array kHonest{Part::kAbsent, Part::kMasks, Part::kMasksInSum, Part::kReveals};
  constexpr std::array kColluding{Part::kAbsent, Part::kShares, Part::kSilentInSum};
  for (const Part first : kHonest) {
    for (const Part second : kHonest) honest.push_back({{1}, {{first, second}}});
  }
  for (const Part first : kColluding) {
    for (const Part second : kColluding) colluding.push_back({{1}, {{first, second}}});
  }
  return {parties, terms, protocol, honest, colluding};
}

/// Likewise of two sums, before each of which each silo is told a projection to zero or another value.
inline Enumeration two_sums(const SiloParties& parties, const Terms& terms, Protocol protocol) {
  std::vector<Role> honest;
  std::vector<Role> colluding;
  constexpr std::array kHonest{Part::kAbsent, Part::kMasks, Part::kReveals};
  constexpr std::array kColluding{Part::kAbsent, Part::kShares, Part::kSilentInSum};
  for (const Part first : kHonest) {
    for (const Part second : kHonest) {
      for (const std::uint32_t before_first : {0U, 1U}) {
        for (const std::uint32_t before_second : {0U, 1U}) {
          honest.push_back({{before_first, before_second}, {{first}, {second}}});
        }
      }
    }
  }
  for (const Part first : kColluding) {
    for (const Part second : kColluding) colluding.push_back({{1, 1}, {{first}, {second}}});
  }
  return {parties, terms, protocol, honest, colluding};
}

}  // namespace dpreduce
