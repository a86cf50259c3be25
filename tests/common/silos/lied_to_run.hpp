// Sums, one after the other, among real silos whose coordinator may tell each of them any story at any message, and any
// public value before any sum; and what it knows afterwards: which sums of statistics it can make of the masked words
// that it has seen.
//
// A silo's statistic in a sum is an unknown for each choice of what it may have been told until then, and zero where
// the last value is 0: a projection that leaves nothing. Every sum may be attempted more than once.
//
// Legend: word i = x_(n_i) + sum of the masks that the coordinator does not know, each with a sign. A mask is of one
// silo, in its word alone, or of a pair, in the words of both with opposite signs, and in each attempt another one. So
// a combination of words is free of masks where it has the same factor on all words that masks connect, and 0 where a
// mask of one of them is in that word alone: what is known is spanned by the sums over connected words without such a
// mask. Words of different attempts hold the same statistics, so these sums are brought into reduced echelon form over
// a large prime field.
#pragma once

#include <compare>
#include <list>

#include <fmt/ranges.h>

#include "common/base/error.hpp"
#include "common/silos/frame.hpp"
#include "common/silos/mask_stream.hpp"
#include "common/silos/masking_silo.hpp"
#include "common/silos/shamir.hpp"
#include "tests/common/silos/silo_parties.hpp"
#include "tests/testing.hpp"

namespace dpreduce {

/// What a silo was told before a sum, each public value by a number of its own. 0: one that makes every statistic zero.
using Values = std::vector<std::uint32_t>;

struct StatisticName {
  std::uint32_t sum = 0;
  std::uint32_t silo = 0;
  Values public_values;

  auto operator<=>(const StatisticName&) const = default;
};

struct MaskName {
  std::uint32_t sum = 0;
  std::uint32_t attempt = 0;
  std::uint32_t one = 0;
  std::uint32_t other = 0;  ///< the same silo: its own

  auto operator<=>(const MaskName&) const = default;
};

struct SeenWord {
  std::optional<StatisticName> statistic;  ///< none: it is zero
  std::map<MaskName, int> unknown_masks;   ///< with their signs
};

using Combination = std::map<StatisticName, FieldElement>;

/// left <- left - factor right
inline void subtract(Combination& left, FieldElement factor, const Combination& right) {
  for (const auto& [name, value] : right) {
    const auto entry = left.try_emplace(name).first;
    entry->second = entry->second - factor * value;
    if (entry->second == FieldElement()) left.erase(entry);
  }
}

/// A basis in reduced echelon form.
inline std::vector<Combination> echelon_form(const std::vector<Combination>& combinations) {
  std::vector<Combination> basis;
  for (Combination next : combinations) {
    for (const Combination& of_basis : basis) {
      const auto found = next.find(of_basis.begin()->first);
      if (found != next.end()) subtract(next, found->second, of_basis);
    }
    if (next.empty()) continue;
    const FieldElement inverse = next.begin()->second.inverse();
    for (auto& entry : next) entry.second = entry.second * inverse;
    for (Combination& of_basis : basis) {
      const auto found = of_basis.find(next.begin()->first);
      if (found != of_basis.end()) subtract(of_basis, found->second, next);
    }
    basis.push_back(std::move(next));
  }
  return basis;
}

/// A basis of the sums of statistics that can be made of these words.
inline std::vector<Combination> known_sums(const std::vector<SeenWord>& words) {
  std::vector<std::size_t> parent(words.size());
  std::iota(parent.begin(), parent.end(), std::size_t{0});
  const auto root = [&](std::size_t word) {
    while (parent[word] != word) word = parent[word] = parent[parent[word]];
    return word;
  };
  std::map<MaskName, std::vector<std::size_t>> words_with;
  for (std::size_t word = 0; word < words.size(); ++word) {
    for (const auto& entry : words[word].unknown_masks) words_with[entry.first].push_back(word);
  }
  for (const auto& [mask, with] : words_with) {
    if (with.size() == 1) continue;
    DPREDUCE_ASSERT(with.size() == 2 &&
                    words[with[0]].unknown_masks.at(mask) + words[with[1]].unknown_masks.at(mask) == 0);
    parent[root(with[0])] = root(with[1]);
  }
  std::set<std::size_t> hidden_roots;
  for (const auto& entry : words_with) {
    if (entry.second.size() == 1) hidden_roots.insert(root(entry.second.front()));
  }
  std::map<std::size_t, Combination> sums;
  for (std::size_t word = 0; word < words.size(); ++word) {
    if (!words[word].statistic || hidden_roots.contains(root(word))) continue;
    FieldElement& factor = sums[root(word)][*words[word].statistic];
    factor = factor + FieldElement(1);
  }
  std::vector<Combination> combinations;
  for (auto& entry : sums) combinations.push_back(std::move(entry.second));
  return echelon_form(combinations);
}

inline SiloList silos_in(const Combination& sum) {
  std::set<std::uint32_t> silos;
  for (const auto& term : sum) silos.insert(term.first.silo);
  return SiloList(silos.begin(), silos.end());
}

/// Why the goal is missed: empty, or which sums are known that must not be. Of each statistic one sum may be, over at
/// least that many silos, plain, and at the same public values.
inline std::string leak_in(const std::vector<Combination>& sums, std::size_t least_silos) {
  std::string leak;
  std::set<std::uint32_t> statistics;
  for (const Combination& sum : sums) {
    const SiloList silos = silos_in(sum);
    const StatisticName& first = sum.begin()->first;
    const FieldElement factor = sum.begin()->second;
    const auto all = [&](const auto& is) { return std::ranges::all_of(sum, is); };
    std::vector<std::string> reasons;
    if (silos.size() < least_silos) reasons.push_back(fmt::format("over {} silos", silos.size()));
    if (!all([&](const auto& term) { return term.second == factor && term.first.sum == first.sum; })) {
      reasons.emplace_back("with factors");
    }
    if (!all([&](const auto& term) { return term.first.public_values == first.public_values; })) {
      reasons.emplace_back("at different values");
    }
    if (!statistics.insert(first.sum).second) reasons.emplace_back("a second one");
    if (!reasons.empty()) {
      leak += fmt::format("[{}] of sum {}: {}; ", fmt::join(silos, " "), first.sum, fmt::join(reasons, ", "));
    }
  }
  return leak;
}

/// What one silo is told in an attempt; an empty list: nothing any more, from there on.
struct Story {
  SiloList participants;   ///< U1
  SiloList sharing;        ///< U2
  SiloList summed;         ///< U3
  bool may_mask = true;    ///< it is shown what signatures there are on its U2
  bool may_reveal = true;  ///< likewise on its U3
  bool operator==(const Story&) const = default;
};

/// What is planted: each is a protocol that must be seen to fail.
enum class Protocol {
  kOurs,
  kNoAgreement,   ///< lists are not agreed on: the coordinator can sign for everybody
  kNoSelfMasks,   ///< y_u = x_u + the masks of pairs
  kBothSecrets,   ///< a reveal holds shares of both secrets of each silo
  kNoTranscript,  ///< no digest of the public values is signed with the lists
  kSignsAgain     ///< who has signed who is summed signs so in another attempt too
};

/// Who is who in a run.
struct Cast {
  const SiloParties& parties;
  std::set<std::uint32_t> colluding;  ///< they show the coordinator all they are given, and sign whatever it wants
  Protocol protocol = Protocol::kOurs;
};

// One attempt at a masked sum among these silos, and what the coordinator has seen afterwards.
//
// Legend: x_u the statistic of silo u, B_u its own mask, P_uv the mask of a pair. The coordinator sees
//     y_u = x_u + B_u + sum_v +-P_uv      of every silo that masks, v over its neighbors in the U2 that it was told
// and knows B_u where t' shares of b_u are revealed to it or held by colluding silos, every P_uv where that holds of
// the mask key of u or v, and every P_uv with a colluding silo.

/// Everybody's side of one sum, and what each silo was told before.
struct SumOfSilos {
  std::map<std::uint32_t, SiloSum> silos;
  std::map<std::uint32_t, SumAttempt> terms;  ///< as that silo has them, attempt 0
  std::map<std::uint32_t, Values> public_values;
};

class LiedToAttempt {
 public:
  /// All outlive this. Who refuses anything says why in `refusals`, and is told nothing any more.
  LiedToAttempt(const Cast& cast, SumOfSilos& sum, std::uint32_t number, std::map<std::uint32_t, std::string>& refusals)
      : cast_(cast), sum_(sum), number_(number), refusals_(refusals) {}

  /// Tells silo i stories[i]; [0] is of no meaning.
  void play(const std::vector<Story>& stories) {
    stories_ = stories;
    std::set<std::uint32_t> needed;
    for (const Story& story : stories) needed.insert(story.participants.begin(), story.participants.end());
    for (const std::uint32_t silo : needed) attempt_to([&] { begin(silo); }, silo);
    each(&LiedToAttempt::send_keys);
    each(&LiedToAttempt::send_sharing);
    each([](LiedToAttempt& of, std::uint32_t silo) { of.show_quorum(silo, ListStage::kSharing); });
    each(&LiedToAttempt::send_summed);
    each([](LiedToAttempt& of, std::uint32_t silo) { of.show_quorum(silo, ListStage::kSummed); });
  }

  std::set<std::uint32_t> masked() const {
    std::set<std::uint32_t> silos;
    for (const auto& entry : sent_) silos.insert(entry.first);
    return silos;
  }
  const std::set<std::uint32_t>& revealed() const { return revealed_; }

  /// The words of honest silos, without what the coordinator knows of them.
  std::vector<SeenWord> words() const {
    std::vector<SeenWord> words;
    for (const auto& [silo, word] : sent_) {
      if (cast_.colluding.contains(silo)) continue;
      SeenWord& seen = words.emplace_back();
      const auto round = static_cast<std::uint32_t>(sum_.terms.at(silo).round);
      const Values& public_values = sum_.public_values.at(silo);
      if (public_values.back() != 0) seen.statistic = StatisticName{round, silo, public_values};
      if (cast_.protocol != Protocol::kNoSelfMasks && !knows(silo, SecretKind::kSelfMask)) {
        seen.unknown_masks.emplace(MaskName{round, number_, silo, silo}, 1);
      }
      for (const std::uint32_t neighbor : masked_with(silo)) {
        if (cast_.colluding.contains(neighbor) || knows(silo, SecretKind::kMaskKey) ||
            knows(neighbor, SecretKind::kMaskKey)) {
          continue;
        }
        seen.unknown_masks.emplace(MaskName{round, number_, std::min(silo, neighbor), std::max(silo, neighbor)},
                                   silo < neighbor ? 1 : -1);
      }
    }
    return words;
  }

  /// The statistic of a silo, by the real bytes that were sent and revealed; nothing where masks are missing.
  std::optional<std::uint64_t> opened(std::uint32_t silo) const {
    if (!sent_.contains(silo) || !knows(silo, SecretKind::kSelfMask)) return std::nullopt;
    const SumAttempt attempt = attempt_of(silo);
    MaskStreams masks;
    masks.add(self_mask_key(attempt, silo, secret(silo, SecretKind::kSelfMask)), MaskSign::kSubtract);
    for (const std::uint32_t neighbor : masked_with(silo)) {
      if (!knows(neighbor, SecretKind::kMaskKey)) return std::nullopt;
      const auto bytes = secret(neighbor, SecretKind::kMaskKey);
      add_pair_mask(masks, attempt, neighbor, silo, AgreementKey(bytes), advertisements_.at(silo).mask_key);
    }
    std::vector<std::uint64_t> word{sent_.at(silo)};
    masks.apply(0, word);
    return word.front();
  }
  /// What the silos of these sums have as their statistic.
  static std::uint64_t statistic_of(std::uint32_t silo) { return 0x9e3779b97f4a7c15U * silo; }

 private:
  template <typename Step>
  void attempt_to(const Step& step, std::uint32_t silo) {
    if (refusals_.contains(silo)) return;
    try {
      step();
    } catch (const AggregationAborted& refusal) {
      refusals_.emplace(silo, refusal.what());
    }
  }
  template <typename Step>
  void each(const Step& step) {
    for (std::uint32_t silo = 1; silo <= cast_.parties.silos(); ++silo) {
      if (!stories_[silo].participants.empty()) attempt_to([&] { std::invoke(step, *this, silo); }, silo);
    }
  }
  std::vector<std::byte> answer(std::uint32_t silo, FrameKind kind, const std::vector<std::byte>& body) {
    return give(body, &SiloSum::take, sum_.silos.at(silo), kind, number_).payload;
  }
  std::uint32_t threshold() const { return sum_.terms.begin()->second.threshold; }
  SumAttempt attempt_of(std::uint32_t silo) const {
    SumAttempt attempt = sum_.terms.at(silo);
    attempt.attempt = number_;
    return attempt;
  }

  void begin(std::uint32_t silo) {
    const auto advertised = answer(silo, FrameKind::kBegin, PayloadWriter().u64(1).take());
    advertisements_.emplace(silo, give(advertised, &PayloadReader::plain<Advertisement>));
  }

  void send_keys(std::uint32_t silo) {
    const SiloList& participants = stories_[silo].participants;
    PayloadWriter writer;
    writer.numbers(participants);
    if (participants.size() < std::max(threshold(), 2U)) {  // it refuses
      answer(silo, FrameKind::kKeys, writer.take());
      return;
    }
    graphs_.try_emplace(silo, participants, threshold(), sum_.terms.at(silo).colluding);
    for (const std::uint32_t neighbor : graphs_.at(silo).neighbors(silo)) {
      // Nobody but a silo itself signs a mask key for it.
      if (!advertisements_.contains(neighbor)) return;
      writer.plain(advertisements_.at(neighbor));
    }
    const auto shares = answer(silo, FrameKind::kKeys, writer.take());
    PayloadReader sealed(shares);
    for (const std::uint32_t holder : graphs_.at(silo).holders(silo)) {
      const auto commitments = sealed.bytes(sizeof(ShareCommitments));
      std::vector<std::byte> both(commitments.begin(), commitments.end());
      if (holder != silo) {
        const auto box = sealed.bytes(kSealedSharesBytes);
        both.insert(both.end(), box.begin(), box.end());
      }
      shares_[silo].emplace(holder, std::move(both));
    }
  }

  void send_sharing(std::uint32_t silo) {
    const Story& story = stories_[silo];
    if (story.sharing.empty() || !shares_.contains(silo)) return;
    PayloadWriter writer;
    writer.numbers(story.sharing);
    for (const std::uint32_t from : story.sharing) {
      if (!graphs_.at(silo).contains(from) || !graphs_.at(silo).are_neighbors(silo, from)) continue;
      // Where a neighbor has shared nothing with this silo there is nothing to show it.
      const auto all = shares_.find(from);
      if (all == shares_.end() || !all->second.contains(silo)) return;
      writer.bytes(all->second.at(silo));
    }
    take_consent(silo, ListStage::kSharing, answer(silo, FrameKind::kDelivery, writer.take()));
  }

  void send_summed(std::uint32_t silo) {
    if (!sent_.contains(silo) || stories_[silo].summed.empty()) return;
    take_consent(silo, ListStage::kSummed,
                 answer(silo, FrameKind::kUnmask, PayloadWriter().numbers(stories_[silo].summed).take()));
  }

  SumLists lists_of(std::uint32_t silo) const {
    return {stories_[silo].participants, stories_[silo].sharing, stories_[silo].summed};
  }

  void take_consent(std::uint32_t silo, ListStage stage, const std::vector<std::byte>& consent) {
    PayloadReader reader(consent);
    reader.u32();
    auto text = signed_part(attempt_of(silo), stage, lists_of(silo));
    signatures_[text].emplace(silo, reader.array<64>());
    signed_text_[stage].emplace(silo, std::move(text));
  }

  // t signatures on what this silo was told, or all that there are.
  void show_quorum(std::uint32_t silo, ListStage stage) {
    const auto text = signed_text_[stage].find(silo);
    const Story& story = stories_[silo];
    if (text == signed_text_[stage].end() || !(stage == ListStage::kSharing ? story.may_mask : story.may_reveal)) {
      return;
    }
    std::map<std::uint32_t, Signature>& known = signatures_.at(text->second);
    std::map<std::uint32_t, Signature> shown;
    const SumLists lists = lists_of(silo);
    for (const std::uint32_t signer : lists.of(stage)) {
      if (shown.size() == threshold()) break;
      if (!known.contains(signer) && (cast_.colluding.contains(signer) || cast_.protocol == Protocol::kNoAgreement)) {
        known.emplace(signer, cast_.parties.identity(signer).sign(text->second));
      }
      if (const auto found = known.find(signer); found != known.end()) shown.insert(*found);
    }
    const auto reveal = answer(silo, FrameKind::kQuorum, make_quorum(stage, shown));
    if (stage == ListStage::kSharing) {
      std::vector<std::uint64_t> words{statistic_of(silo)};
      sum_.silos.at(silo).mask(0, words);
      sent_.emplace(silo, words.front());
    } else {
      take_reveal(silo, reveal);
      revealed_.insert(silo);
    }
  }

  void take_reveal(std::uint32_t silo, const std::vector<std::byte>& reveal) {
    PayloadReader reader(reveal);
    while (reader.size_left() > 0) {
      const std::uint32_t of = reader.u32();
      const auto kind = static_cast<SecretKind>(reader.u32());
      known_shares_[{of, kind}].emplace(silo, read_share(reader, silo).share);
      if (cast_.protocol == Protocol::kBothSecrets) {
        const auto other = kind == SecretKind::kSelfMask ? SecretKind::kMaskKey : SecretKind::kSelfMask;
        known_shares_[{of, other}].emplace(silo, Share());
      }
    }
  }

  // t' shares of that secret are the coordinator's: revealed, or given to colluding silos.
  bool knows(std::uint32_t silo, SecretKind kind) const {
    const auto graph = graphs_.find(silo);
    if (graph == graphs_.end()) return false;
    std::size_t holders = 0;
    const auto revealed = known_shares_.find({silo, kind});
    if (revealed != known_shares_.end()) holders = revealed->second.size();
    const auto dealt = shares_.find(silo);
    for (const std::uint32_t holder : cast_.colluding) {
      if (dealt == shares_.end() || !dealt->second.contains(holder)) continue;
      holders += revealed == known_shares_.end() || !revealed->second.contains(holder) ? 1 : 0;
    }
    return holders >= graph->second.share_threshold();
  }

  SecretVector<std::byte> secret(std::uint32_t silo, SecretKind kind) const {
    std::vector<Share> shares;
    for (const auto& entry : known_shares_.at({silo, kind})) shares.push_back(entry.second);
    return reconstruct_secret(std::span<const Share>(shares).first(graphs_.at(silo).share_threshold()));
  }

  SiloList masked_with(std::uint32_t silo) const {
    SiloList with;
    for (const std::uint32_t other : stories_[silo].sharing) {
      if (graphs_.at(silo).are_neighbors(silo, other)) with.push_back(other);
    }
    return with;
  }

  const Cast& cast_;
  SumOfSilos& sum_;
  std::uint32_t number_;
  std::map<std::uint32_t, std::string>& refusals_;
  std::vector<Story> stories_;
  std::map<std::uint32_t, Advertisement> advertisements_;
  std::map<std::uint32_t, NeighborGraph> graphs_;
  std::map<std::uint32_t, std::map<std::uint32_t, std::vector<std::byte>>> shares_;   // [from][holder]
  std::map<std::vector<std::byte>, std::map<std::uint32_t, Signature>> signatures_;   // on each text
  std::map<ListStage, std::map<std::uint32_t, std::vector<std::byte>>> signed_text_;  // by each silo
  std::map<std::pair<std::uint32_t, SecretKind>, std::map<std::uint32_t, Share>> known_shares_;
  std::map<std::uint32_t, std::uint64_t> sent_;
  std::set<std::uint32_t> revealed_;
};

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
