#include "common/silos/masking_silo.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/silos/key_agreement.hpp"

namespace dpreduce {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw AggregationAborted("the coordinator's messages do not fit together: " + what);
}

// The key for shares from one silo to another in this attempt; it seals one message.
SealingKey sharing_key(const SiloSelf& self, const SumAttempt& attempt, std::uint32_t from, std::uint32_t to) {
  const std::uint32_t other = from == self.number ? to : from;
  const auto found = self.pair_secrets.find(other);
  if (found == self.pair_secrets.end()) refuse(fmt::format("silo {} is not of this run", other));
  return SealingKey(derive_key(found->second, attempt.context("shares", from, to)));
}

// Data that sealed shares are bound to: whose they are, for whom, and the commitments, so that nobody on the way can
// exchange these.
std::vector<std::byte> bound_to(std::uint32_t from, std::uint32_t to, const ShareCommitments& commitments) {
  return PayloadWriter().u32(from).u32(to).plain(commitments).take();
}

SaltedShare salted(const Share& share) {
  SaltedShare result{share, {}};
  secure_bytes(result.salt);
  return result;
}

}  // namespace

MaskingSilo::MaskingSilo(const SiloSelf& self, const SumAttempt& attempt)
    : self_(self), attempt_(attempt), mask_key_(AgreementKey::generate()), self_secret_(kSecretBytes) {
  secure_bytes(self_secret_);
}

ShareCommitments MaskingSilo::commitments_to(std::uint32_t of, const HeldShares& held) const {
  return {share_commitment(attempt_, SecretKind::kSelfMask, of, held.self_mask),
          share_commitment(attempt_, SecretKind::kMaskKey, of, held.mask_key)};
}

void MaskingSilo::begin_phase(State due) {
  if (state_ != due) refuse("a phase comes too early, or twice");
  state_ = State::kRefused;
}

std::vector<std::byte> MaskingSilo::advertise() {
  begin_phase(State::kNew);
  Advertisement advertisement{mask_key_.public_key(), self_mask_commitment(attempt_, self_.number, self_secret_), {}};
  advertisement.signature = self_.identity->sign(signed_part(attempt_, self_.number, advertisement));
  state_ = State::kAdvertised;
  return PayloadWriter().plain(advertisement).take();
}

std::vector<std::byte> MaskingSilo::take_keys(PayloadReader& keys) {
  begin_phase(State::kAdvertised);
  const std::vector<std::uint32_t> participants = keys.numbers();
  if (!is_rising(participants) || participants.size() < attempt_.threshold || participants.size() < 2) {
    refuse(fmt::format("{} silos take part, but {} must", participants.size(), attempt_.threshold));
  }
  graph_.emplace(participants, attempt_.threshold, attempt_.colluding);
  if (!graph_->contains(self_.number)) refuse("this silo has no part in the sum");
  for (const std::uint32_t neighbor : graph_->neighbors(self_.number)) {
    const Advertisement advertisement = keys.plain<Advertisement>();
    if (neighbor >= self_.roster->members.size()) refuse(fmt::format("silo {} is not of this run", neighbor));
    const std::string fault = fault_of(advertisement, attempt_, neighbor, self_.roster->members[neighbor].key);
    if (!fault.empty()) refuse(fmt::format("the mask key of silo {} {}", neighbor, fault));
    neighbor_keys_.emplace(neighbor, advertisement.mask_key);
  }
  keys.end();
  lists_.participants = participants;

  const std::vector<std::uint32_t> holders = graph_->holders(self_.number);
  const std::vector<Share> of_self_mask = share_secret(self_secret_, graph_->share_threshold(), holders);
  const std::vector<Share> of_mask_key = share_secret(mask_key_.secret(), graph_->share_threshold(), holders);
  PayloadWriter shares;
  for (std::size_t place = 0; place < holders.size(); ++place) {
    const std::uint32_t holder = holders[place];
    const HeldShares held{salted(of_self_mask[place]), salted(of_mask_key[place])};
    const ShareCommitments commitments = commitments_to(self_.number, held);
    shares.plain(commitments);
    if (holder == self_.number) {
      held_.emplace(holder, held);
      continue;
    }
    PayloadWriter plain;
    write(plain, held.self_mask);
    write(plain, held.mask_key);
    std::vector<std::byte> both = plain.take();
    std::array<std::byte, kSealedSharesBytes> sealed{};
    sharing_key(self_, attempt_, self_.number, holder)
        .seal(0, bound_to(self_.number, holder, commitments), both, sealed);
    cleanse(both.data(), both.size());
    shares.bytes(sealed);
  }
  state_ = State::kShared;
  return shares.take();
}

// Refuses a list that is not a part of the list before with at least t silos, this one among them. In a list that
// passes, enough of this silo's neighbors are left for its masks to hold: of m neighbors at most n - t are missing, and
// n - t + c < m.
void MaskingSilo::require_list(ListStage stage, const std::vector<std::uint32_t>& within) const {
  const std::vector<std::uint32_t>& list = lists_.of(stage);
  const bool is_sharing = stage == ListStage::kSharing;
  if (!is_rising(list) || !is_subset(list, within) || !std::binary_search(list.begin(), list.end(), self_.number)) {
    refuse(is_sharing ? "the silos that have shared their secrets are not those that took part"
                      : "the silos that are summed are not those that shared their secrets");
  }
  if (list.size() < attempt_.threshold) {
    refuse(fmt::format("{} silos {}, but {} must", list.size(), is_sharing ? "have shared their secrets" : "are summed",
                       attempt_.threshold));
  }
  DPREDUCE_ASSERT(graph_->neighbors_in(self_.number, list) >= graph_->least_neighbors());
}

std::vector<std::byte> MaskingSilo::take_delivery(PayloadReader& delivery) {
  begin_phase(State::kShared);
  lists_.sharing = delivery.numbers();
  require_list(ListStage::kSharing, lists_.participants);
  for (const std::uint32_t neighbor : lists_.sharing) {
    if (!graph_->are_neighbors(self_.number, neighbor)) continue;
    const ShareCommitments commitments = delivery.plain<ShareCommitments>();
    const auto sealed = delivery.bytes(kSealedSharesBytes);
    std::array<std::byte, 2 * kSaltedShareBytes> plain{};
    if (!sharing_key(self_, attempt_, neighbor, self_.number)
             .open(0, bound_to(neighbor, self_.number, commitments), sealed, plain)) {
      refuse(fmt::format("the shares from silo {} fail their authentication", neighbor));
    }
    PayloadReader reader(plain);
    const HeldShares held{read_share(reader, self_.number), read_share(reader, self_.number)};  // in this order
    cleanse(plain.data(), plain.size());
    const ShareCommitments own = commitments_to(neighbor, held);
    if (own.self_mask != commitments.self_mask || own.mask_key != commitments.mask_key) {
      throw AggregationAborted("silo {} gives this silo other shares than it has committed to", neighbor);
    }
    held_.emplace(neighbor, held);
    add_pair_mask(masks_, attempt_, self_.number, neighbor, mask_key_, neighbor_keys_.at(neighbor));
  }
  delivery.end();
  masks_.add(self_mask_key(attempt_, self_.number, self_secret_), MaskSign::kAdd);
  state_ = State::kSignedSharing;
  return make_consent(*self_.identity, attempt_, ListStage::kSharing, lists_);
}

void MaskingSilo::take_sharing_quorum(PayloadReader& quorum) {
  begin_phase(State::kSignedSharing);
  require_quorum(quorum, *self_.roster, attempt_, ListStage::kSharing, lists_);
  state_ = State::kMasking;
}

void MaskingSilo::mask(std::uint64_t first_word, std::span<std::uint64_t> words) {
  DPREDUCE_ASSERT(state_ == State::kMasking);
  masks_.apply(first_word, words);
}

std::vector<std::byte> MaskingSilo::take_unmask(PayloadReader& unmask) {
  begin_phase(State::kMasking);
  lists_.summed = unmask.numbers();
  unmask.end();
  require_list(ListStage::kSummed, lists_.sharing);
  state_ = State::kSignedSummed;
  return make_consent(*self_.identity, attempt_, ListStage::kSummed, lists_);
}

std::vector<std::byte> MaskingSilo::take_summed_quorum(PayloadReader& quorum) {
  begin_phase(State::kSignedSummed);
  require_quorum(quorum, *self_.roster, attempt_, ListStage::kSummed, lists_);
  // This silo reveals one secret of each silo, and never another: `expect` lets this happen once.
  PayloadWriter reveal;
  for (const auto& [silo, shares] : held_) {
    const bool is_summed = std::binary_search(lists_.summed.begin(), lists_.summed.end(), silo);
    reveal.u32(silo).u32(static_cast<std::uint32_t>(is_summed ? SecretKind::kSelfMask : SecretKind::kMaskKey));
    write(reveal, is_summed ? shares.self_mask : shares.mask_key);
  }
  masks_ = MaskStreams();
  held_.clear();
  state_ = State::kRevealed;
  return reveal.take();
}

SiloSum::SiloSum(const SiloSelf& self, const SumAttempt& sum, std::vector<std::uint32_t> present)
    : self_(self), attempt_(sum), attempts_left_(present.size()), present_(std::move(present)) {
  attempt_.attempt = 0;
}

OpenedMessage SiloSum::begin(std::uint32_t attempt, PayloadReader& body) {
  const std::uint64_t words = body.u64();
  body.end();
  if (attempt <= attempt_.attempt || is_opened_) {
    throw AggregationAborted("the coordinator requests again a sum that this silo has helped to open");
  }
  if (attempts_left_ == 0) throw AggregationAborted("the coordinator attempts a sum more often than there are silos");
  --attempts_left_;
  if (words != attempt_.words) throw AggregationAborted("the coordinator sums another statistic than this silo");
  attempt_.attempt = attempt;
  masking_.emplace(self_, attempt_);
  return {FrameKind::kAdvertise, masking_->advertise()};
}

OpenedMessage SiloSum::take(FrameKind kind, std::uint32_t attempt, PayloadReader& body) {
  if (kind == FrameKind::kBegin) return begin(attempt, body);
  if (!masking_ || attempt != attempt_.attempt) {
    throw AggregationAborted("the coordinator mixes up attempts at a sum");
  }
  switch (kind) {
    case FrameKind::kKeys: {
      std::vector<std::byte> shares = masking_->take_keys(body);
      if (!is_subset(masking_->lists().participants, present_)) {
        throw AggregationAborted("the coordinator names a silo that is not, or no longer, part of this run");
      }
      present_ = masking_->lists().participants;
      return {FrameKind::kShares, std::move(shares)};
    }
    case FrameKind::kDelivery:
      return {FrameKind::kConsent, masking_->take_delivery(body)};
    case FrameKind::kUnmask: {
      std::vector<std::byte> consent = masking_->take_unmask(body);
      is_opened_ = true;
      present_ = masking_->lists().summed;
      return {FrameKind::kConsent, std::move(consent)};
    }
    case FrameKind::kQuorum:
      if (masking_->state() != MaskingSilo::State::kSignedSharing) {
        return {FrameKind::kReveal, masking_->take_summed_quorum(body)};
      }
      masking_->take_sharing_quorum(body);
      return {FrameKind::kMasked, {}};
    case FrameKind::kDone:
      if (masking_->state() != MaskingSilo::State::kRevealed)
        throw AggregationAborted("the coordinator ends a sum too early");
      body.end();
      return {FrameKind::kDone, {}};
    default:
      throw AggregationAborted("the coordinator sends \"{}\" in a sum", to_string(kind));
  }
}

void SiloSum::mask(std::uint64_t first_word, std::span<std::uint64_t> words) {
  DPREDUCE_ASSERT(masking_.has_value());
  masking_->mask(first_word, words);
}

}  // namespace dpreduce
