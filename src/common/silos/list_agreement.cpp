#include "common/silos/list_agreement.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

std::string_view subject_of(ListStage stage) {
  return stage == ListStage::kSharing ? "who has shared its secrets" : "who is summed";
}

[[noreturn]] void refuse(ListStage stage, const std::string& what) {
  throw AggregationAborted(fmt::format("the silos do not agree on {}: {}", subject_of(stage), what));
}

std::string name_of(const Roster& roster, std::uint32_t silo) {
  const std::string name = silo < roster.members.size() ? roster.members[silo].name : "";
  return fmt::format("silo {}{}", silo, name.empty() ? "" : fmt::format(" ({})", name));
}

void read_stage(PayloadReader& reader, ListStage stage) {
  if (reader.u32() != static_cast<std::uint32_t>(stage)) {
    throw AggregationAborted(fmt::format("a signature on {} is due, and one on another list came", subject_of(stage)));
  }
}

bool signs(const Roster& roster, std::uint32_t silo, std::span<const std::byte> text, const Signature& signature) {
  return silo < roster.members.size() && verifies(roster.members[silo].key, text, signature);
}

}  // namespace

std::vector<std::byte> signed_part(const SumAttempt& attempt, ListStage stage, const SumLists& lists) {
  constexpr std::string_view kListsDomain = "dpreduce silo lists v1";
  PayloadWriter writer;
  writer.text(kListsDomain).bytes(attempt.run).u64(attempt.round).u32(attempt.attempt);
  writer.u64(attempt.words).u32(attempt.threshold).u32(attempt.colluding).bytes(attempt.broadcast_digest);
  writer.u32(static_cast<std::uint32_t>(stage));
  writer.numbers(lists.participants).numbers(lists.sharing);
  if (stage == ListStage::kSummed) writer.numbers(lists.summed);
  return writer.take();
}

std::vector<std::byte> make_consent(const Identity& identity, const SumAttempt& attempt, ListStage stage,
                                    const SumLists& lists) {
  PayloadWriter writer;
  writer.u32(static_cast<std::uint32_t>(stage));
  return writer.bytes(identity.sign(signed_part(attempt, stage, lists))).take();
}

Signature open_consent(PayloadReader& consent, const Roster& roster, std::uint32_t silo, const SumAttempt& attempt,
                       ListStage stage, const SumLists& lists) {
  read_stage(consent, stage);
  const Signature signature = consent.array<64>();
  consent.end();
  if (!signs(roster, silo, signed_part(attempt, stage, lists), signature)) {
    throw AggregationAborted(fmt::format("it has not signed the list that it was told of {}", subject_of(stage)));
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
      refuse(stage, fmt::format("the signature of {} is there twice, or out of order", name_of(roster, silo)));
    }
    if (!std::binary_search(listed.begin(), listed.end(), silo) || !signs(roster, silo, text, signature)) {
      refuse(stage, fmt::format("the signature of {} does not fit the list that this silo was told: the coordinator "
                                "tells silos different lists or values, or relays a false signature",
                                name_of(roster, silo)));
    }
    signers.push_back(silo);
  }
  if (signers.size() < attempt.threshold) {
    refuse(stage, fmt::format("{} silos have signed the list that this silo was told, where {} must", signers.size(),
                              attempt.threshold));
  }
}

}  // namespace dpreduce
