#include "common/silos/masked_sum.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

// Beginning of every text that a silo signs in an attempt.
PayloadWriter terms_of(std::string_view domain, const SumAttempt& attempt) {
  PayloadWriter writer;
  writer.text(domain).bytes(attempt.run).u64(attempt.round).u32(attempt.attempt);
  writer.u64(attempt.words).u32(attempt.threshold).u32(attempt.colluding);
  return writer;
}

PublicKey commitment_to(std::span<const std::byte> opening, const KeyContext& context) {
  const SecretVector<std::byte> derived = derive_key(opening, context);
  PublicKey commitment{};
  std::ranges::copy(derived, commitment.begin());
  return commitment;
}

std::string_view subject_of(ListStage stage) {
  return stage == ListStage::kSharing ? "who has shared its secrets" : "who is summed";
}

[[noreturn]] void refuse(ListStage stage, const std::string& what) {
  throw AggregationAborted("the silos do not agree on {}: {}", subject_of(stage), what);
}

void read_stage(PayloadReader& reader, ListStage stage) {
  if (reader.u32() != static_cast<std::uint32_t>(stage)) {
    throw AggregationAborted("a signature on {} was expected, but one on another list came", subject_of(stage));
  }
}

bool signs(const Roster& roster, std::uint32_t silo, std::span<const std::byte> text, const Signature& signature) {
  return silo < roster.members.size() && verifies(roster.members[silo].key, text, signature);
}

}  // namespace

std::vector<std::byte> signed_part(const SumAttempt& attempt, std::uint32_t silo, const Advertisement& advertisement) {
  PayloadWriter writer = terms_of("dpreduce advertise v1", attempt);
  return writer.u32(silo).bytes(advertisement.mask_key).bytes(advertisement.commitment).take();
}

std::string fault_of(const Advertisement& advertisement, const SumAttempt& attempt, std::uint32_t silo,
                     const PublicKey& identity) {
  if (!verifies(identity, signed_part(attempt, silo, advertisement), advertisement.signature)) {
    return "is not signed by it";
  }
  return gives_secret(advertisement.mask_key) ? "" : "is a point of small order, which gives no shared secret";
}

void write(PayloadWriter& writer, const SaltedShare& share) {
  for (const std::uint64_t value : share.share.values) writer.u64(value);
  writer.bytes(share.salt);
}

SaltedShare read_share(PayloadReader& reader, std::uint32_t holder) {
  SaltedShare share{{holder, {}}, {}};
  for (std::uint64_t& value : share.share.values) {
    value = reader.u64();
    if (value >= FieldElement::kPrime) throw AggregationAborted("a share is not an element of its field");
  }
  share.salt = reader.array<32>();
  return share;
}

std::array<std::byte, 32> share_commitment(const SumAttempt& attempt, SecretKind kind, std::uint32_t of,
                                           const SaltedShare& share) {
  PayloadWriter writer;
  write(writer, share);
  std::vector<std::byte> opening = writer.take();
  const auto purpose = kind == SecretKind::kSelfMask ? "self mask share commitment" : "mask key share commitment";
  const PublicKey commitment = commitment_to(opening, attempt.context(purpose, of, share.share.holder));
  cleanse(opening.data(), opening.size());
  return commitment;
}

bool is_rising(const std::vector<std::uint32_t>& parties) {
  return (parties.empty() || parties.front() > 0) &&
         std::adjacent_find(parties.begin(), parties.end(), std::greater_equal<>()) == parties.end();
}

bool is_subset(const std::vector<std::uint32_t>& part, const std::vector<std::uint32_t>& of) {
  return std::includes(of.begin(), of.end(), part.begin(), part.end());
}

SecretVector<std::byte> self_mask_key(const SumAttempt& attempt, std::uint32_t silo,
                                      std::span<const std::byte> self_secret) {
  return derive_key(self_secret, attempt.context("self mask", silo));
}

PublicKey self_mask_commitment(const SumAttempt& attempt, std::uint32_t silo, std::span<const std::byte> self_secret) {
  return commitment_to(self_secret, attempt.context("self mask commitment", silo));
}

void add_pair_mask(MaskStreams& masks, const SumAttempt& attempt, std::uint32_t silo, std::uint32_t other,
                   const AgreementKey& key_of_silo, const PublicKey& key_of_other) {
  const auto [low, high] = std::minmax(silo, other);
  masks.add(derive_key(key_of_silo.agree(key_of_other), attempt.context("pair mask", low, high)),
            silo < other ? MaskSign::kAdd : MaskSign::kSubtract);
}

std::vector<std::byte> signed_part(const SumAttempt& attempt, ListStage stage, const SumLists& lists) {
  PayloadWriter writer = terms_of("dpreduce silo lists v1", attempt);
  writer.bytes(attempt.broadcast_digest).u32(static_cast<std::uint32_t>(stage));
  writer.numbers(lists.participants).numbers(lists.sharing);
  if (stage == ListStage::kSummed) writer.numbers(lists.summed);
  return writer.take();
}

std::vector<std::byte> make_consent(const Identity& identity, const SumAttempt& attempt, ListStage stage,
                                    const SumLists& lists) {
  const Signature signature = identity.sign(signed_part(attempt, stage, lists));
  return PayloadWriter().u32(static_cast<std::uint32_t>(stage)).bytes(signature).take();
}

Signature open_consent(PayloadReader& consent, const Roster& roster, std::uint32_t silo, const SumAttempt& attempt,
                       ListStage stage, const SumLists& lists) {
  read_stage(consent, stage);
  const Signature signature = consent.array<64>();
  consent.end();
  if (!signs(roster, silo, signed_part(attempt, stage, lists), signature)) {
    throw AggregationAborted("it has not signed the list that it received of {}", subject_of(stage));
  }
  return signature;
}

std::vector<std::byte> make_quorum(ListStage stage, const std::map<std::uint32_t, Signature>& signatures) {
  PayloadWriter writer;
  writer.u32(static_cast<std::uint32_t>(stage));
  for (const auto& [silo, signature] : signatures) writer.u32(silo).bytes(signature);
  return writer.take();
}

void require_quorum(PayloadReader& quorum, const Roster& roster, const SumAttempt& attempt, ListStage stage,
                    const SumLists& lists) {
  read_stage(quorum, stage);
  const std::vector<std::byte> text = signed_part(attempt, stage, lists);
  const std::vector<std::uint32_t>& listed = lists.of(stage);
  std::vector<std::uint32_t> signers;
  while (quorum.size_left() > 0) {
    const std::uint32_t silo = quorum.u32();
    const Signature signature = quorum.array<64>();
    if (!signers.empty() && silo <= signers.back()) {
      refuse(stage, fmt::format("the signature of {} appears twice, or out of order", roster.party_text(silo)));
    }
    if (!std::binary_search(listed.begin(), listed.end(), silo) || !signs(roster, silo, text, signature)) {
      refuse(stage, fmt::format("the signature of {} does not match the list that this silo received: the coordinator "
                                "sends silos different lists or values, or relays a false signature",
                                roster.party_text(silo)));
    }
    signers.push_back(silo);
  }
  if (signers.size() < attempt.threshold) {
    refuse(stage, fmt::format("{} silos have signed the list that this silo received, but {} must", signers.size(),
                              attempt.threshold));
  }
}

}  // namespace dpreduce
