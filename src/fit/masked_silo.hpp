// Silos under an engine that is not MPI: Flower, NVFlare. The engine's server, the coordinator, trains a plan's session
// (traveling_plan.hpp) on the sum over all silos. From each silo the server receives only a vector that looks random.
//
// Legend: u is one of the n silos of the roster; x_u the words of the statistic of u and four words that check them
// (statistic_fingerprint.hpp); PRG a mask stream (mask_stream.hpp); all in Z mod 2^64.
//
//     invitation  coordinator -> u   the session, signed
//     join        u -> coordinator   a public key s_u^PK of X25519, new in each session, signed by u's identity
//     request     coordinator -> u   a task and all n joins, signed
//     answer      u -> coordinator   y_u = x_u + sum_{v > u} PRG(s_uv) - sum_{v < u} PRG(s_uv)
//     sum_u x_u = sum_u y_u          over all n silos; if one is missing, every word still carries a mask stream
//
// s_uv is derived from the X25519 secret of u and v, and from session, plan, roster, joins, step and task. Parties that
// received different values of any of these share no mask, and their sum looks random. Silos agree on keys themselves:
// each verifies all joins by the identities of its own roster. No silo may be missing. Nothing is ever unmasked, so
// there are no shares of secrets, and a coordinator can request nothing twice: a silo answers a step of a session once,
// or again with the same bytes.
//
// Keys live in the memory of the process that has joined, beside its answers under these keys. Two answers under one
// mask would give their difference, and data on a disk can be restored to an earlier state. A process that has not
// joined, or is a fork of one that has, makes no answer: a restarted silo has dropped out of the session.
//
// Silos do not exchange names if units have several rows. The plan declares the largest number of silos that have rows
// of one unit, and each silo lets a unit count for that silo's share of the bound (count_in_silo).
//
// A coordinator that deviates, with c colluding silos, therefore learns from each task the sum over the other n - c
// silos, or nothing. The sum is exact: the coordinator adds the noise (the mode of central noise,
// docs/explanation/silo-protocol.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/silos/parties.hpp"
#include "fit/traveling_plan.hpp"

namespace dpreduce {

/// Terms that all parties have agreed on. Each party makes a plan of its own from the same text.
struct MaskedPlan {
  TravelingPlan plan;
  Roster roster;
  PublicKey digest{};  ///< of text, noise, roster and version: parties whose terms differ find out

  /// Throws BadInput if roster and plan differ in features or classes. Throws UsageError if the plan's units have
  /// several rows, and the plan does not declare in how many silos a unit may be, or declares more silos than there
  /// are.
  MaskedPlan(TravelingPlan plan, const std::string& text, Roster roster);
};

/// Coordinator's end of the protocol: invites all silos, requests their masked statistics and opens the sum.
class MaskedCoordinator {
 public:
  /// Throws UsageError unless the identity is that of the roster's coordinator; throws as MaskedPlan.
  MaskedCoordinator(MaskedPlan plan, Identity identity);

  std::size_t silos() const { return plan_.roster.silos(); }
  /// Returns the signed session, for every silo.
  std::string invitation() const;

  /// Returns the signed request for all silos. `joins` are those of all silos, in any order. Throws AggregationAborted
  /// naming a silo whose join is missing, appears twice, is not the silo's own, or belongs to another plan.
  std::string request(const TravelingTask& task, const std::vector<std::string>& joins) const;

  /// Returns the sum of all answers to that request, for the session. Throws AggregationAborted if `sum` is not the sum
  /// of one answer of each silo.
  PartialSum opened(const std::string& request, const TravelingTask& task, std::span<const std::uint64_t> sum) const;

 private:
  MaskedPlan plan_;
  Identity identity_;
};

/// Silo's end of the protocol: joins sessions and answers requests with masked statistics of its own rows.
class MaskedSilo {
 public:
  /// Throws UsageError unless the identity is that of one of the roster's silos; throws as MaskedPlan.
  MaskedSilo(MaskedPlan plan, Identity identity);
  MaskedSilo(MaskedSilo&&) noexcept;
  ~MaskedSilo();

  /// Returns the join: the same join for every call of a session in this process. Throws AggregationAborted unless the
  /// roster's coordinator has signed the invitation for the same plan.
  std::string join(const std::string& invitation);

  /// Returns y_u for all rows of this silo. Throws AggregationAborted unless the coordinator has signed the request,
  /// the request has this silo's join of the session and a join of every other silo signed by that silo, and the step
  /// is one of the plan's. Throws AggregationAborted if the step was answered with other bytes, or if this process has
  /// not joined. Throws as partial_sum. Threads may share the silo; one thread answers at a time.
  std::vector<std::uint64_t> answer(const std::string& request, const RowsInMemory& rows, unsigned threads,
                                    const OnChunk& on_chunk);

  /// Destroys this silo's key of the session that the request or invitation `message` belongs to: afterwards nobody can
  /// remove a mask from the silo's answers. Throws AggregationAborted unless the coordinator has signed `message`.
  void end(const std::string& message);

 private:
  struct Memory;
  MaskedPlan plan_;
  Identity identity_;
  std::uint32_t number_ = 0;
  std::unique_ptr<Memory> memory_;
};

}  // namespace dpreduce
