// One attempt at a masked sum among real silos whose coordinator may tell each of them any story at any message, and
// what it knows afterwards.
//
// Legend: x_u the statistic of silo u, B_u its own mask, P_uv the mask of a pair. The coordinator sees
//     y_u = x_u + B_u + sum_v +-P_uv      of every silo that masks, v over its neighbours in the U2 that it was told
// and knows B_u where t' shares of b_u are revealed to it or held by colluding silos, every P_uv where that holds of
// the mask key of u or v, and every P_uv with a colluding silo. The sums of statistics that it can make are the
// combinations of the y_u in which all other masks cancel: the left null space of their matrix, here over a large
// prime field.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "common/base/error.hpp"
#include "common/silos/mask_stream.hpp"
#include "common/silos/masking_silo.hpp"
#include "common/silos/prime_field.hpp"

namespace dpreduce {

using SiloList = std::vector<std::uint32_t>;

/// What one silo is told; an empty list: nothing any more, from there on.
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
  kNoAgreement,  ///< lists are not agreed on: the coordinator can sign for everybody
  kNoSelfMasks,  ///< y_u = x_u + the masks of pairs
  kBothSecrets   ///< a reveal holds shares of both secrets of each silo
};

/// Silos 1 to k with identities and pairwise secrets; serves many sums.
class SiloParties {
 public:
  explicit SiloParties(std::uint32_t silos, std::uint32_t reach = 0)
      : roster_{0, 0, std::vector<Member>(silos + 1)}, selves_(silos + 1) {
    for (std::uint32_t party = 0; party <= silos; ++party) {
      identities_.push_back(Identity::generate());
      roster_.members[party].key = identities_[party].public_key();
    }
    for (std::uint32_t silo = 1; silo <= silos; ++silo) {
      selves_[silo].number = silo;
      selves_[silo].identity = &identities_[silo];
      selves_[silo].roster = &roster_;
    }
    for (std::uint32_t one = 1; one <= silos; ++one) {
      for (std::uint32_t other = one + 1; other <= silos; ++other) {
        if (reach != 0 && std::min(other - one, silos + one - other) > reach) continue;  // never neighbours
        SecretVector<std::byte> secret(32);
        secure_bytes(secret);
        selves_[one].pair_secrets.emplace(other, secret);
        selves_[other].pair_secrets.emplace(one, secret);
      }
    }
  }
  std::uint32_t silos() const { return static_cast<std::uint32_t>(selves_.size() - 1); }
  const SiloSelf& self(std::uint32_t silo) const { return selves_.at(silo); }
  const Identity& identity(std::uint32_t silo) const { return identities_.at(silo); }

 private:
  Roster roster_;
  std::vector<Identity> identities_;
  std::vector<SiloSelf> selves_;
};

class LiedToSum {
 public:
  /// `parties` outlive this. Colluding silos show the coordinator all they are given, and sign whatever it wants.
  LiedToSum(const SiloParties& parties, const SumAttempt& attempt, std::set<std::uint32_t> colluding, Protocol protocol)
      : parties_(parties), attempt_(attempt), colluding_(std::move(colluding)), protocol_(protocol) {}

  /// Tells silo i stories[i]; [0] is of no meaning.
  void play(const std::vector<Story>& stories) {
    stories_ = stories;
    for (std::uint32_t silo = 1; silo <= parties_.silos(); ++silo) {
      silos_.try_emplace(silo, parties_.self(silo), attempt_);
      const auto bytes = silos_.at(silo).advertise();
      PayloadReader reader(bytes);
      advertisements_.emplace(silo, read_advertisement(reader));
    }
    each(&LiedToSum::tell_keys);
    each(&LiedToSum::tell_sharing);
    each([](LiedToSum& sum, std::uint32_t silo) { sum.show_quorum(silo, ListStage::kSharing); });
    each(&LiedToSum::tell_summed);
    each([](LiedToSum& sum, std::uint32_t silo) { sum.show_quorum(silo, ListStage::kSummed); });
  }

  const std::set<std::uint32_t>& masked() const { return masked_; }
  const std::set<std::uint32_t>& revealed() const { return revealed_; }
  /// What a silo said when it refused.
  const std::map<std::uint32_t, std::string>& refusals() const { return refusals_; }

  /// A basis of the sums of honest statistics that the coordinator can make: in each, the factor of every silo.
  std::vector<std::map<std::uint32_t, std::uint64_t>> known_sums() const {
    std::vector<std::uint32_t> silos;
    for (const std::uint32_t silo : masked_) {
      if (!colluding_.contains(silo)) silos.push_back(silo);
    }
    // Row i: the unknown masks in y of silos[i], then a 1 in column i of the second part.
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> columns;
    std::vector<std::map<std::size_t, FieldElement>> masks(silos.size());
    const auto column = [&](std::uint32_t one, std::uint32_t other) {
      return columns.try_emplace(std::minmax(one, other), columns.size()).first->second;
    };
    for (std::size_t row = 0; row < silos.size(); ++row) {
      const std::uint32_t silo = silos[row];
      if (protocol_ != Protocol::kNoSelfMasks && !knows(silo, SecretKind::kSelfMask)) {
        masks[row][column(silo, silo)] = FieldElement(1);
      }
      for (const std::uint32_t neighbour : masked_with(silo)) {
        if (colluding_.contains(neighbour) || knows(silo, SecretKind::kMaskKey) ||
            knows(neighbour, SecretKind::kMaskKey)) {
          continue;
        }
        masks[row][column(silo, neighbour)] = silo < neighbour ? FieldElement(1) : FieldElement() - FieldElement(1);
      }
    }
    return left_null_space(silos, masks, columns.size());
  }

  /// Why the goal is missed: empty, or which sum is known that must not be.
  std::string leak() const {
    const auto sums = known_sums();
    const std::size_t least = attempt_.threshold - attempt_.colluding;
    std::string told;
    for (const auto& sum : sums) {
      std::string silos;
      for (const auto& [silo, factor] : sum) silos += (silos.empty() ? "" : " ") + std::to_string(silo);
      const bool is_plain =
          std::all_of(sum.begin(), sum.end(), [&](const auto& term) { return term.second == sum.begin()->second; });
      if (sums.size() > 1 || sum.size() < least || !is_plain) told += "[" + silos + "]";
    }
    return told;
  }

  /// The statistic of a silo, by the real bytes that were sent and revealed; nothing where masks are missing.
  std::optional<std::uint64_t> opened(std::uint32_t silo) const {
    if (!masked_.contains(silo) || !knows(silo, SecretKind::kSelfMask)) return std::nullopt;
    MaskStreams masks;
    masks.add(self_mask_key(attempt_, silo, secret(silo, SecretKind::kSelfMask)), MaskSign::kSubtract);
    for (const std::uint32_t neighbour : masked_with(silo)) {
      if (!knows(neighbour, SecretKind::kMaskKey)) return std::nullopt;
      const auto bytes = secret(neighbour, SecretKind::kMaskKey);
      masks.add(pair_mask_key(attempt_, silo, neighbour, AgreementKey::of_secret(std::span<const std::byte, 32>(bytes)),
                              advertisements_.at(silo).mask_key),
                silo < neighbour ? MaskSign::kSubtract : MaskSign::kAdd);
    }
    std::vector<std::uint64_t> word{sent_.at(silo)};
    masks.apply(0, word);
    return word.front();
  }
  /// What the silos of these sums have as their statistic.
  static std::uint64_t statistic_of(std::uint32_t silo) { return 0x9e3779b97f4a7c15U * silo; }

 private:
  bool is_told_nothing(std::uint32_t silo) const { return stories_.at(silo).participants.empty(); }

  template <typename Step>
  void each(const Step& step) {
    for (std::uint32_t silo = 1; silo <= parties_.silos(); ++silo) {
      if (refusals_.contains(silo) || is_told_nothing(silo)) continue;
      try {
        std::invoke(step, *this, silo);
      } catch (const AggregationAborted& refusal) {
        refusals_.emplace(silo, refusal.what());
      }
    }
  }

  void tell_keys(std::uint32_t silo) {
    const Story& story = stories_[silo];
    PayloadWriter writer;
    writer.numbers(story.participants);
    if (story.participants.size() < std::max(attempt_.threshold, 2U)) {  // it refuses
      const auto too_few = writer.take();
      PayloadReader reader(too_few);
      silos_.at(silo).take_keys(reader);
      return;
    }
    graphs_.try_emplace(silo, story.participants, attempt_.threshold, attempt_.colluding);
    for (const std::uint32_t neighbour : graphs_.at(silo).neighbours(silo)) {
      write(writer, advertisements_.at(neighbour));
    }
    const auto keys = writer.take();
    PayloadReader reader(keys);
    const auto shares = silos_.at(silo).take_keys(reader);
    PayloadReader sealed(shares);
    for (const std::uint32_t holder : graphs_.at(silo).holders(silo)) {
      const auto commitments = sealed.bytes(kShareCommitmentsBytes);
      std::vector<std::byte> both(commitments.begin(), commitments.end());
      if (holder != silo) {
        const auto box = sealed.bytes(kSealedSharesBytes);
        both.insert(both.end(), box.begin(), box.end());
      }
      shares_[silo].emplace(holder, std::move(both));
    }
  }

  void tell_sharing(std::uint32_t silo) {
    const Story& story = stories_[silo];
    if (story.sharing.empty()) return;
    PayloadWriter writer;
    writer.numbers(story.sharing);
    for (const std::uint32_t from : story.sharing) {
      if (!graphs_.at(silo).contains(from) || !graphs_.at(silo).are_neighbours(silo, from)) continue;
      // Where a neighbour has shared nothing with this silo there is nothing to show it.
      const auto all = shares_.find(from);
      if (all == shares_.end() || !all->second.contains(silo)) return;
      writer.bytes(all->second.at(silo));
    }
    const auto delivery = writer.take();
    PayloadReader reader(delivery);
    take_consent(silo, ListStage::kSharing, silos_.at(silo).take_delivery(reader));
  }

  void tell_summed(std::uint32_t silo) {
    if (!masked_.contains(silo) || stories_[silo].summed.empty()) return;
    const auto unmask = PayloadWriter().numbers(stories_[silo].summed).take();
    PayloadReader reader(unmask);
    take_consent(silo, ListStage::kSummed, silos_.at(silo).take_unmask(reader));
  }

  SumLists lists_of(std::uint32_t silo) const {
    return {stories_[silo].participants, stories_[silo].sharing, stories_[silo].summed};
  }
  std::vector<std::byte> signed_by(std::uint32_t silo, ListStage stage) const {
    return signed_part(attempt_, stage, lists_of(silo));
  }

  void take_consent(std::uint32_t silo, ListStage stage, const std::vector<std::byte>& consent) {
    PayloadReader reader(consent);
    reader.u32();
    consents_[stage].emplace(silo, reader.array<64>());
  }

  // All signatures that there are on what this silo was told.
  void show_quorum(std::uint32_t silo, ListStage stage) {
    const auto consent = consents_[stage].find(silo);
    const Story& story = stories_[silo];
    if (consent == consents_[stage].end() || !(stage == ListStage::kSharing ? story.may_mask : story.may_reveal))
      return;
    const auto text = signed_by(silo, stage);
    std::map<std::uint32_t, Signature> signatures;
    const SumLists lists = lists_of(silo);
    for (const std::uint32_t signer : lists.of(stage)) {
      const auto found = consents_[stage].find(signer);
      if (found != consents_[stage].end() && signed_by(signer, stage) == text) {
        signatures.emplace(signer, found->second);
      } else if (colluding_.contains(signer) || protocol_ == Protocol::kNoAgreement) {
        signatures.emplace(signer, parties_.identity(signer).sign(text));
      }
    }
    const auto quorum = make_quorum(stage, signatures);
    PayloadReader reader(quorum);
    if (stage == ListStage::kSharing) {
      silos_.at(silo).take_sharing_quorum(reader);
      std::vector<std::uint64_t> words{statistic_of(silo)};
      silos_.at(silo).mask(0, words);
      sent_.emplace(silo, words.front());
      masked_.insert(silo);
    } else {
      take_reveal(silo, silos_.at(silo).take_summed_quorum(reader));
      revealed_.insert(silo);
    }
  }

  void take_reveal(std::uint32_t silo, const std::vector<std::byte>& reveal) {
    PayloadReader reader(reveal);
    while (reader.size_left() > 0) {
      const std::uint32_t of = reader.u32();
      const auto kind = static_cast<SecretKind>(reader.u32());
      known_shares_[{of, kind}].emplace(silo, read_share(reader, silo).share);
      if (protocol_ == Protocol::kBothSecrets) {
        const auto other = kind == SecretKind::kSelfMask ? SecretKind::kMaskKey : SecretKind::kSelfMask;
        known_shares_[{of, other}].emplace(silo, Share());
      }
    }
  }

  /// t' shares of that secret are the coordinator's: revealed, or given to colluding silos.
  bool knows(std::uint32_t silo, SecretKind kind) const {
    std::set<std::uint32_t> holders;
    if (const auto found = known_shares_.find({silo, kind}); found != known_shares_.end()) {
      for (const auto& entry : found->second) holders.insert(entry.first);
    }
    if (const auto dealt = shares_.find(silo); dealt != shares_.end()) {
      for (const auto& entry : dealt->second) {
        if (colluding_.contains(entry.first)) holders.insert(entry.first);
      }
    }
    const auto graph = graphs_.find(silo);
    return graph != graphs_.end() && holders.size() >= graph->second.share_threshold();
  }

  SecretVector<std::byte> secret(std::uint32_t silo, SecretKind kind) const {
    std::vector<Share> shares;
    for (const auto& entry : known_shares_.at({silo, kind})) shares.push_back(entry.second);
    return reconstruct_secret(std::span<const Share>(shares).first(graphs_.at(silo).share_threshold()));
  }

  SiloList masked_with(std::uint32_t silo) const {
    SiloList with;
    for (const std::uint32_t other : stories_[silo].sharing) {
      if (graphs_.at(silo).are_neighbours(silo, other)) with.push_back(other);
    }
    return with;
  }

  static std::vector<std::map<std::uint32_t, std::uint64_t>> left_null_space(
      const std::vector<std::uint32_t>& silos, const std::vector<std::map<std::size_t, FieldElement>>& masks,
      std::size_t columns) {
    const std::size_t rows = silos.size();
    std::vector<std::vector<FieldElement>> matrix(rows, std::vector<FieldElement>(columns + rows));
    for (std::size_t row = 0; row < rows; ++row) {
      for (const auto& [column, factor] : masks[row]) matrix[row][column] = factor;
      matrix[row][columns + row] = FieldElement(1);
    }
    std::size_t rank = 0;
    for (std::size_t column = 0; column < columns && rank < rows; ++column) {
      std::size_t pivot = rank;
      while (pivot < rows && matrix[pivot][column] == FieldElement()) ++pivot;
      if (pivot == rows) continue;
      std::swap(matrix[pivot], matrix[rank]);
      const FieldElement inverse = matrix[rank][column].inverse();
      for (std::size_t row = rank + 1; row < rows; ++row) {
        const FieldElement factor = matrix[row][column] * inverse;
        if (factor == FieldElement()) continue;
        for (std::size_t c = column; c < columns + rows; ++c) {
          matrix[row][c] = matrix[row][c] - factor * matrix[rank][c];
        }
      }
      ++rank;
    }
    std::vector<std::map<std::uint32_t, std::uint64_t>> basis;
    for (std::size_t row = rank; row < rows; ++row) {
      std::map<std::uint32_t, std::uint64_t> sum;
      for (std::size_t place = 0; place < rows; ++place) {
        const FieldElement factor = matrix[row][columns + place];
        if (!(factor == FieldElement())) sum.emplace(silos[place], factor.value());
      }
      basis.push_back(std::move(sum));
    }
    return basis;
  }

  const SiloParties& parties_;
  SumAttempt attempt_;
  std::set<std::uint32_t> colluding_;
  Protocol protocol_;
  std::vector<Story> stories_;
  std::map<std::uint32_t, MaskingSilo> silos_;
  std::map<std::uint32_t, Advertisement> advertisements_;
  std::map<std::uint32_t, NeighbourGraph> graphs_;
  std::map<std::uint32_t, std::map<std::uint32_t, std::vector<std::byte>>> shares_;  // [from][holder]
  std::map<ListStage, std::map<std::uint32_t, Signature>> consents_;
  std::map<std::pair<std::uint32_t, SecretKind>, std::map<std::uint32_t, Share>> known_shares_;
  std::map<std::uint32_t, std::uint64_t> sent_;
  std::set<std::uint32_t> masked_;
  std::set<std::uint32_t> revealed_;
  std::map<std::uint32_t, std::string> refusals_;
};

/// A coordinator's attempt to open silo 1 of all k, with U1 = all: silo 1 is told that it and t - 1 others have shared,
/// as few of its neighbours among them as can be (T); every other silo that all have, and then that of T as many have
/// vanished as it believes. Nothing where some of T would miss less than t' times.
inline std::optional<std::vector<Story>> contradictory_survivors(std::uint32_t silos, std::uint32_t threshold,
                                                                 std::uint32_t colluding) {
  SiloList all(silos);
  std::iota(all.begin(), all.end(), 1U);
  const NeighbourGraph graph(all, threshold, colluding);
  SiloList order(all.begin() + 1, all.end());
  std::stable_partition(order.begin(), order.end(), [&](std::uint32_t silo) { return !graph.are_neighbours(1, silo); });
  order.resize(threshold - 1);
  SiloList told_first{1};
  told_first.insert(told_first.end(), order.begin(), order.end());
  std::sort(told_first.begin(), told_first.end());
  std::map<std::uint32_t, std::uint32_t> wanted;  // of each of T, how often it must still be left out
  for (const std::uint32_t silo : told_first) {
    if (graph.are_neighbours(1, silo)) wanted.emplace(silo, graph.share_threshold());
  }
  std::vector<Story> stories(silos + 1);
  stories[1] = {all, told_first, told_first};
  std::set<std::uint32_t> needed;  // beside those that hold shares, the neighbours whose shares they are shown
  for (std::uint32_t silo = 2; silo <= silos; ++silo) {
    SiloList left_out;
    for (const auto& [of, times] : wanted) {
      if (of != silo && graph.are_neighbours(of, silo) && times > 0) left_out.push_back(of);
    }
    std::stable_sort(left_out.begin(), left_out.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return wanted.at(a) > wanted.at(b); });
    left_out.resize(std::min<std::size_t>(left_out.size(), silos - threshold));
    if (left_out.empty() && !graph.are_neighbours(1, silo)) continue;
    for (const std::uint32_t of : left_out) --wanted.at(of);
    SiloList summed;
    for (const std::uint32_t other : all) {
      if (std::find(left_out.begin(), left_out.end(), other) == left_out.end()) summed.push_back(other);
    }
    stories[silo] = {all, all, summed};
  }
  for (std::uint32_t silo = 1; silo <= silos; ++silo) {
    if (stories[silo].sharing.empty()) continue;
    for (const std::uint32_t neighbour : graph.neighbours(silo)) needed.insert(neighbour);
  }
  for (const std::uint32_t silo : needed) stories[silo].participants = all;
  const bool is_enough = std::all_of(wanted.begin(), wanted.end(), [](const auto& entry) { return entry.second == 0; });
  return is_enough ? std::optional(stories) : std::nullopt;
}

}  // namespace dpreduce
