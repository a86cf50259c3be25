// Silos under an engine that is not MPI: Flower, NVFlare. Its server, the coordinator, trains a plan's session
// (traveling_plan.hpp) on the sum over all silos, and sees of no silo more than a vector that looks random.
//
// Legend: silo u of the n of the roster, x_u the words of its statistic and four that check them
// (statistic_fingerprint.hpp); PRG a mask stream (mask_stream.hpp); all in Z mod 2^64.
//
//     invitation  coordinator -> u   the session, signed
//     join        u -> coordinator   a public key s_u^PK of X25519 that is new in each session, signed by u's identity
//     request     coordinator -> u   a task and all n joins, signed
//     answer      u -> coordinator   y_u = x_u + sum_{v > u} PRG(s_uv) - sum_{v < u} PRG(s_uv)
//     sum_u x_u = sum_u y_u          over all n silos: with one less every word is one of a stream
//
// s_uv is derived from the X25519 secret of u and v, and from session, plan, roster, joins, step and task: parties that
// were sent anything different share no mask, and their sum looks random. Keys are agreed by silos: each verifies all
// joins by the identities of its own roster. No silo may be missing; nothing is ever unmasked, so that there are no
// shares of secrets, and nothing that a coordinator could request twice: a silo answers a step of a session once, or
// with the same bytes again.
//
// Keys live in the memory of the process that has joined, beside its answers under them: two answers under one mask
// would give their difference, and whatever is on a disk can be restored to what it was before. A process that has not
// joined, or is a fork of one that has, makes no answer: a restarted silo has dropped out of the session.
//
// Silos do not exchange names if units have several rows. The plan declares the most silos that have rows of one unit,
// and each silo lets a unit count for its share of the bound (count_in_silo).
//
// So a coordinator that deviates, with c silos, learns of each task the sum over the other n - c silos, or nothing. The
// sum is exact: the coordinator adds the noise (the mode of central noise, docs/explanation/silo-protocol.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/silos/key_agreement.hpp"
#include "common/silos/parties.hpp"
#include "fit/traveling_plan.hpp"

namespace dpreduce {

/// Terms that all parties have agreed on. Each party has a plan of its own, made from the same text.
struct MaskedPlan {
  TravelingPlan plan;
  Roster roster;
  PublicKey digest{};  ///< of text, noise, roster and version: parties with different ones find out

  /// Throws BadInput where roster and plan differ in features or classes; UsageError where its units have several rows,
  /// and it does not say in how many silos a unit may be, or says more than there are.
  MaskedPlan(TravelingPlan plan, const std::string& text, Roster roster);
};

class MaskedCoordinator {
 public:
  /// Throws UsageError unless the identity is that of the roster's coordinator; as MaskedPlan.
  MaskedCoordinator(MaskedPlan plan, Identity identity);

  std::size_t silos() const { return plan_.roster.silos(); }
  std::string invitation() const;

  /// To all silos. `joins` are those of all silos, in any order. Throws AggregationAborted naming a silo whose join is
  /// missing, there twice or not its own, or is of another plan.
  std::string request(const TravelingTask& task, const std::vector<std::string>& joins) const;

  /// The sum of all answers to that request, for the session. Throws AggregationAborted where it is not the sum of one
  /// answer of each silo.
  PartialSum opened(const std::string& request, const TravelingTask& task, std::span<const std::uint64_t> sum) const;

 private:
  MaskedPlan plan_;
  Identity identity_;
};

class MaskedSilo {
 public:
  /// Throws UsageError unless the identity is that of one of the roster's silos; as MaskedPlan.
  MaskedSilo(MaskedPlan plan, Identity identity);
  MaskedSilo(MaskedSilo&&) noexcept;
  ~MaskedSilo();

  /// Returns the join, the same whenever it is requested in a session of this process. Throws AggregationAborted unless
  /// the roster's coordinator has signed the invitation, to the same plan.
  std::string join(const std::string& invitation);

  /// y_u, for all rows of this silo. Throws AggregationAborted unless the coordinator has signed the request, it has
  /// this silo's join of the session and one of every other silo that is signed by it, and the step is one of the
  /// plan's; where the step was answered with other bytes, or where this process has not joined. Throws as partial_sum.
  /// Threads may share the silo; one answers at a time.
  std::vector<std::uint64_t> answer(const std::string& request, const RowsInMemory& rows, unsigned threads,
                                    const OnChunk& on_chunk);

  /// Destroys this silo's key of the session that a request or an invitation is of: nobody can take a mask off its
  /// answers any more. Throws AggregationAborted unless the coordinator has signed it.
  void end(const std::string& message);

 private:
  struct Memory;
  MaskedPlan plan_;
  Identity identity_;
  std::uint32_t number_ = 0;
  std::unique_ptr<Memory> memory_;
};

}  // namespace dpreduce
