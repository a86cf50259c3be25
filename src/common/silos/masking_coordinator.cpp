#include "common/silos/masking_coordinator.hpp"

#include <algorithm>
#include <cstring>

#include "common/base/error.hpp"
#include "common/silos/mask_stream.hpp"

namespace dpreduce {
namespace {

template <typename Map>
std::vector<std::uint32_t> keys_of(const Map& map) {
  std::vector<std::uint32_t> keys;
  for (const auto& entry : map) keys.push_back(entry.first);
  return keys;
}

void require_turn(bool is_its_turn) {
  if (!is_its_turn) throw AggregationAborted("a phase comes too early, or twice");
}

bool has(const std::vector<std::uint32_t>& parties, std::uint32_t party) {
  return std::binary_search(parties.begin(), parties.end(), party);
}

}  // namespace

MaskingCoordinator::MaskingCoordinator(const Roster& roster, const SumAttempt& attempt)
    : roster_(roster), attempt_(attempt), sum_(attempt.words, 0) {}

SumLists MaskingCoordinator::lists_for(std::uint32_t, ListStage) const {
  return {graph_->participants(), sharing_, summed_};
}

SumAttempt MaskingCoordinator::attempt_of(std::uint32_t) const {
  return attempt_;
}

void MaskingCoordinator::take_consent(std::uint32_t silo, ListStage stage, PayloadReader& consent) {
  const SumLists lists = lists_for(silo, stage);
  require_turn(has(lists.of(stage), silo) && !consents_[stage].contains(silo));
  consents_[stage].emplace(silo, open_consent(consent, roster_, silo, attempt_of(silo), stage, lists));
}

std::vector<std::uint32_t> MaskingCoordinator::consenting(ListStage stage) const {
  const auto found = consents_.find(stage);
  return found == consents_.end() ? std::vector<std::uint32_t>() : keys_of(found->second);
}

std::vector<std::byte> MaskingCoordinator::quorum(ListStage stage) const {
  std::map<std::uint32_t, Signature> enough = consents_.at(stage);
  DPREDUCE_ASSERT(enough.size() >= attempt_.threshold);
  enough.erase(std::next(enough.begin(), attempt_.threshold), enough.end());
  return make_quorum(stage, enough);
}

void MaskingCoordinator::take_advertisement(std::uint32_t silo, PayloadReader& payload) {
  const Advertisement advertisement = payload.plain<Advertisement>();
  payload.end();
  const std::string fault = fault_of(advertisement, attempt_, silo, roster_.members.at(silo).key);
  if (!fault.empty()) throw AggregationAborted("its mask key " + fault);
  require_turn(!graph_ && advertisements_.emplace(silo, advertisement).second);
}

std::vector<std::uint32_t> MaskingCoordinator::close_advertising() {
  std::vector<std::uint32_t> participants = keys_of(advertisements_);
  if (participants.size() >= std::max<std::size_t>(attempt_.threshold, 2)) {
    graph_.emplace(participants, attempt_.threshold, attempt_.colluding);
  }
  return participants;
}

std::vector<std::byte> MaskingCoordinator::keys_for(std::uint32_t silo) const {
  PayloadWriter writer;
  writer.numbers(graph_->participants());
  for (const std::uint32_t neighbor : graph_->neighbors(silo)) writer.plain(advertisements_.at(neighbor));
  return writer.take();
}

void MaskingCoordinator::take_shares(std::uint32_t silo, PayloadReader& shares) {
  require_turn(graph_ && graph_->contains(silo) && sharing_.empty() && !sealed_.contains(silo));
  std::map<std::uint32_t, std::vector<std::byte>> sealed;
  std::map<std::uint32_t, ShareCommitments> commitments;
  for (const std::uint32_t holder : graph_->holders(silo)) {
    commitments.emplace(holder, shares.plain<ShareCommitments>());
    if (holder == silo) continue;  // it keeps its own
    const auto bytes = shares.bytes(kSealedSharesBytes);
    sealed.emplace(holder, std::vector<std::byte>(bytes.begin(), bytes.end()));
  }
  shares.end();
  sealed_.emplace(silo, std::move(sealed));
  commitments_.emplace(silo, std::move(commitments));
}

std::vector<std::uint32_t> MaskingCoordinator::close_sharing() {
  sharing_ = keys_of(sealed_);
  return sharing_;
}

std::vector<std::byte> MaskingCoordinator::delivery_for(std::uint32_t silo) const {
  const SumLists lists = lists_for(silo, ListStage::kSharing);
  PayloadWriter writer;
  writer.numbers(lists.sharing);
  for (const std::uint32_t from : lists.sharing) {
    if (!graph_->are_neighbors(silo, from)) continue;
    writer.plain(commitments_.at(from).at(silo)).bytes(sealed_.at(from).at(silo));
  }
  return writer.take();
}

void MaskingCoordinator::add_piece(std::uint32_t silo, PayloadReader& piece) {
  require_turn(has(sharing_, silo) && summed_.empty());
  std::uint64_t& come = words_of_[silo];
  if (piece.u64() != come) throw AggregationAborted("a piece of its statistic is missing, or appears twice");
  const auto bytes = piece.rest();
  const std::size_t words = bytes.size() / sizeof(std::uint64_t);
  const std::uint64_t due = std::min<std::uint64_t>(kWordsPerPiece, attempt_.words - come);
  if (bytes.size() % sizeof(std::uint64_t) != 0 || words == 0 || words != due) {
    throw AggregationAborted("its statistic has a different number of words, or different pieces");
  }
  const std::span<std::uint64_t> part = std::span(sum_).subspan(come, words);
  const std::byte* from = bytes.data();
  for (std::uint64_t& element : part) {
    std::uint64_t word = 0;
    std::memcpy(&word, from, sizeof(word));
    element += word;
    from += sizeof(word);
  }
  come += words;
}

bool MaskingCoordinator::has_masked_all(std::uint32_t silo) const {
  const auto found = words_of_.find(silo);
  return found != words_of_.end() && found->second == attempt_.words;
}

bool MaskingCoordinator::is_partial(std::uint32_t silo) const {
  const auto found = words_of_.find(silo);
  return found != words_of_.end() && found->second > 0 && found->second < attempt_.words;
}

std::vector<std::uint32_t> MaskingCoordinator::close_masking() {
  for (const std::uint32_t silo : sharing_) {
    DPREDUCE_ASSERT(!is_partial(silo));
    if (has_masked_all(silo)) summed_.push_back(silo);
  }
  return summed_;
}

std::vector<std::byte> MaskingCoordinator::unmask_for(std::uint32_t silo) const {
  DPREDUCE_ASSERT(summed_.size() >= attempt_.threshold);
  return PayloadWriter().numbers(lists_for(silo, ListStage::kSummed).summed).take();
}

void MaskingCoordinator::take_reveal(std::uint32_t silo, PayloadReader& reveal) {
  require_turn(has(summed_, silo) && !has_revealed_.contains(silo));
  std::map<std::uint32_t, Share> shares;
  for (const std::uint32_t of : graph_->holders(silo)) {  // whose shares it holds: the relation is symmetric
    if (!has(sharing_, of)) continue;
    const SecretKind asked_for = has(summed_, of) ? SecretKind::kSelfMask : SecretKind::kMaskKey;
    if (reveal.u32() != of || reveal.u32() != static_cast<std::uint32_t>(asked_for)) {
      throw AggregationAborted("it reveals other secrets than those requested");
    }
    const SaltedShare revealed = read_share(reveal, silo);
    if (share_commitment(attempt_, asked_for, of, revealed) != commitments_.at(of).at(silo).of(asked_for)) {
      throw AggregationAborted("it reveals a different share of a secret of silo {} than it received", of);
    }
    shares.emplace(of, revealed.share);
  }
  reveal.end();
  has_revealed_.insert(silo);
  for (const auto& [of, share] : shares) revealed_[of].push_back(share);
}

bool MaskingCoordinator::can_unmask() const {
  return std::all_of(sharing_.begin(), sharing_.end(), [&](std::uint32_t silo) {
    const auto found = revealed_.find(silo);
    return found != revealed_.end() && found->second.size() >= graph_->share_threshold();
  });
}

SecretVector<std::byte> MaskingCoordinator::secret_of(std::uint32_t silo) const {
  const std::span<const Share> shares(revealed_.at(silo));
  SecretVector<std::byte> secret = reconstruct_secret(shares.first(graph_->share_threshold()));
  const Advertisement& advertised = advertisements_.at(silo);
  const bool fits =
      !secret.empty() && (has(summed_, silo) ? self_mask_commitment(attempt_, silo, secret) == advertised.commitment
                                             : AgreementKey(secret).public_key() == advertised.mask_key);
  if (!fits) {
    throw AggregationAborted(
        "{} has shared a different secret than it advertised, so its mask cannot be removed; start the run "
        "again without it",
        roster_.party_text(silo));
  }
  return secret;
}

void MaskingCoordinator::add_sum_to(std::span<std::uint64_t> values) {
  DPREDUCE_ASSERT(can_unmask() && values.size() == sum_.size());
  MaskStreams masks;
  for (const std::uint32_t silo : sharing_) {
    const SecretVector<std::byte> secret = secret_of(silo);
    if (has(summed_, silo)) {
      masks.add(self_mask_key(attempt_, silo, secret), MaskSign::kSubtract);
      continue;
    }
    const AgreementKey lost(secret);
    for (const std::uint32_t neighbor : graph_->neighbors(silo)) {
      if (!has(summed_, neighbor)) continue;
      add_pair_mask(masks, attempt_, silo, neighbor, lost, advertisements_.at(neighbor).mask_key);
    }
  }
  masks.apply(0, sum_);
  for (std::size_t w = 0; w < sum_.size(); ++w) values[w] += sum_[w];
  cleanse(sum_.data(), sum_.size() * sizeof(std::uint64_t));
}

}  // namespace dpreduce
