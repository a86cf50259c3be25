// Silos agree in a sum (masked_sum.hpp) on lists of silos, which each of them signs once.
//
//     sharing   U1, U2        before anybody masks
//     summed    U1, U2, U3    before anybody reveals
//
// The coordinator shows every silo the signatures of at least t silos of the last list. A silo goes on only where each
// of them fits the lists that it has received itself. Two versions of a list with t signatures each would have 2 t - k
// > c signers in common, an honest one among them, and an honest silo signs once. So all silos that go on have received
// the same lists.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/silos/masked_sum.hpp"
#include "common/silos/parties.hpp"

namespace dpreduce {

enum class ListStage : std::uint32_t { kSharing = 1, kSummed = 2 };

/// The lists of one attempt at a sum, each in rising order and a part of the one before.
struct SumLists {
  std::vector<std::uint32_t> participants;  ///< U1
  std::vector<std::uint32_t> sharing;       ///< U2
  std::vector<std::uint32_t> summed;        ///< U3; empty before it is known

  /// The list that a stage is about.
  const std::vector<std::uint32_t>& of(ListStage stage) const {
    return stage == ListStage::kSharing ? sharing : summed;
  }
};

/// The bytes under a silo's signature: run, round, attempt, words, t, c, digest of the public values that it has
/// received, stage, and the lists up to that stage.
std::vector<std::byte> signed_part(const SumAttempt& attempt, ListStage stage, const SumLists& lists);

/// "consent": the stage, and the signature of that identity.
std::vector<std::byte> make_consent(const Identity& identity, const SumAttempt& attempt, ListStage stage,
                                    const SumLists& lists);
/// Throws AggregationAborted where the bytes are no consent at that stage, or the signature is not that silo's on these
/// lists.
Signature open_consent(PayloadReader& consent, const Roster& roster, std::uint32_t silo, const SumAttempt& attempt,
                       ListStage stage, const SumLists& lists);

/// "quorum": the stage, and who has signed, each with its signature.
std::vector<std::byte> make_quorum(ListStage stage, const std::map<std::uint32_t, Signature>& signatures);
/// Throws AggregationAborted where fewer than t silos of the stage's list have signed these lists, naming the first
/// whose signature does not fit.
void require_quorum(PayloadReader& quorum, const Roster& roster, const SumAttempt& attempt, ListStage stage,
                    const SumLists& lists);

}  // namespace dpreduce
