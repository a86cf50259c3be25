// Silo's side of one attempt at a masked sum (masked_sum.hpp): messages in, messages out.
//
//     advertise -> take_keys -> take_delivery -> take_sharing_quorum -> mask, piece by piece
//               -> take_unmask -> take_summed_quorum
//
// Each phase comes once and in this order. A phase that comes before its turn, twice, or after a refusal is refused.
// Messages of the coordinator are checked: a silo masks only after at least t silos have signed that they have received
// the same U1 and U2, and reveals only after as many have signed the same U3. The silo itself signs one version of each
// list.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "common/silos/frame.hpp"
#include "common/silos/mask_stream.hpp"
#include "common/silos/masked_sum.hpp"
#include "common/silos/neighbor_graph.hpp"
#include "common/silos/parties.hpp"

namespace dpreduce {

/// Identity and secrets of a silo in a run.
struct SiloSelf {
  std::uint32_t number = 0;
  const Identity* identity = nullptr;
  const Roster* roster = nullptr;
  /// Secret shared with each other silo of the run: both silos derive it from their keys of the run.
  std::map<std::uint32_t, SecretVector<std::byte>> pair_secrets;
};

class MaskingSilo {
 public:
  /// Begins an attempt. `self` outlives this object. Throws EntropyFailure.
  MaskingSilo(const SiloSelf& self, const SumAttempt& attempt);

  std::vector<std::byte> advertise();

  /// Answers "keys" with "shares". Throws AggregationAborted if fewer than t take part, a neighbor is missing, or a
  /// signature does not verify.
  std::vector<std::byte> take_keys(PayloadReader& keys);

  /// Answers "delivery" with "consent". Throws AggregationAborted if U2 is not a subset of U1 with at least t silos,
  /// this one among them, or a neighbor's shares do not open, or are not the shares that the neighbor has committed to.
  std::vector<std::byte> take_delivery(PayloadReader& delivery);

  /// Lets this silo mask from here on. Throws AggregationAborted if fewer than t silos have signed the same U1 and U2.
  void take_sharing_quorum(PayloadReader& quorum);

  /// words[i] <- words[i] + masks at place first_word + i. Precondition (asserted): this silo may mask.
  void mask(std::uint64_t first_word, std::span<std::uint64_t> words);

  /// Answers "unmask" with "consent". Throws AggregationAborted if U3 is not a subset of U2 with at least t silos, this
  /// one among them.
  std::vector<std::byte> take_unmask(PayloadReader& unmask);

  /// Answers the second "quorum" with "reveal". Throws AggregationAborted if fewer than t silos signed the same U3.
  std::vector<std::byte> take_summed_quorum(PayloadReader& quorum);

  /// U1, U2, U3 as far as this silo has received them.
  const SumLists& lists() const { return lists_; }

  enum class State { kNew, kAdvertised, kShared, kSignedSharing, kMasking, kSignedSummed, kRevealed, kRefused };
  State state() const { return state_; }

 private:
  struct HeldShares {
    SaltedShare self_mask;
    SaltedShare mask_key;
  };
  // After a phase has thrown, no other phase is accepted.
  void begin_phase(State due);
  void require_list(ListStage stage, const std::vector<std::uint32_t>& within) const;
  ShareCommitments commitments_to(std::uint32_t of, const HeldShares& held) const;

  const SiloSelf& self_;
  SumAttempt attempt_;
  State state_ = State::kNew;
  AgreementKey mask_key_;
  SecretVector<std::byte> self_secret_;
  std::optional<NeighborGraph> graph_;
  std::map<std::uint32_t, PublicKey> neighbor_keys_;
  std::map<std::uint32_t, HeldShares> held_;
  SumLists lists_;
  MaskStreams masks_;
};

// Silo's side of one sum: attempts (above), one after the other, until one is done.
//
//     begin -> advertise      keys -> shares      delivery -> consent      quorum -> (the masked statistic)
//                             unmask -> consent   quorum -> reveal         done
//
// An attempt may be given up for another one at any time before this silo has signed the list of summed silos (U3). A
// silo that has signed U3 takes part in no further attempt: two attempts that were both opened would give the
// difference of two sums. Each attempt that is given up costs a silo its place: there are no more of them than
// silos.

class SiloSum {
 public:
  /// Begins a sum without an attempt. `self` outlives this object. `sum` has the terms that all attempts have in
  /// common. `present` lists the silos of the run that are left, as far as this silo knows.
  SiloSum(const SiloSelf& self, const SumAttempt& sum, std::vector<std::uint32_t> present);

  /// Takes a message of the coordinator in attempt number `attempt`, and returns the silo's next step: it sends this
  /// message; for kMasked its statistic, masked; for kDone nothing, as the sum is done. Throws AggregationAborted if
  /// the message does not fit, and as MaskingSilo does.
  OpenedMessage take(FrameKind kind, std::uint32_t attempt, PayloadReader& body);

  /// words[i] <- words[i] + masks at place first_word + i, in the attempt under way. Precondition (asserted): kMasked
  /// was due in this attempt.
  void mask(std::uint64_t first_word, std::span<std::uint64_t> words);

  /// Number of the attempt under way; 0 before the first.
  std::uint32_t attempt() const { return attempt_.attempt; }
  /// Silos that are left, as far as this silo knows.
  const std::vector<std::uint32_t>& present() const { return present_; }

 private:
  OpenedMessage begin(std::uint32_t attempt, PayloadReader& body);

  const SiloSelf& self_;
  SumAttempt attempt_;
  std::size_t attempts_left_;
  std::vector<std::uint32_t> present_;
  std::optional<MaskingSilo> masking_;
  bool is_opened_ = false;  // the silo has signed U3 in some attempt
};

}  // namespace dpreduce
