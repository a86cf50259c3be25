// One attempt at a masked sum (masked_sum.hpp) as a silo sees it: messages in, messages out.
//
//     advertise  ->  take_keys  ->  take_delivery  ->  mask, piece by piece  ->  take_unmask
//
// Each once and in this order (asserted). What the coordinator sends is checked: a silo that is told something that
// cannot be, or that would bring its own or a neighbour's two secrets together, refuses.
#pragma once

#include <map>
#include <optional>

#include "dpreduce/silos/mask_stream.hpp"
#include "dpreduce/silos/masked_sum.hpp"
#include "dpreduce/silos/neighbour_graph.hpp"
#include "dpreduce/silos/roster.hpp"

namespace dpreduce {

/// What a silo is in a run.
struct SiloSelf {
  std::uint32_t number = 0;
  const Identity* identity = nullptr;
  const Roster* roster = nullptr;
  /// With each other silo of the run: what their keys of the run agree on.
  std::map<std::uint32_t, SecretVector<std::byte>> pair_secrets;
};

class MaskingSilo {
 public:
  /// `self` outlives this. Errors: EntropyFailure.
  MaskingSilo(const SiloSelf& self, const SumAttempt& attempt);

  std::vector<std::byte> advertise();

  /// From "keys" to "shares". @throws AggregationAborted where fewer than t take part, a neighbour is missing, or a
  /// signature does not verify.
  std::vector<std::byte> take_keys(PayloadReader& keys);

  /// @throws AggregationAborted where U2 cannot be, or a neighbour's shares do not open, or are not those that it has
  /// committed itself to.
  void take_delivery(PayloadReader& delivery);

  /// words <- words + masks of the places from first_word on.
  void mask(std::uint64_t first_word, std::span<std::uint64_t> words);

  /// From "unmask" to "reveal". @throws AggregationAborted where U3 is no part of U2 with at least t silos, this one
  /// among them.
  std::vector<std::byte> take_unmask(PayloadReader& unmask);

  /// U1 after take_keys, U3 after take_unmask: who is there, by the coordinator's word.
  const std::vector<std::uint32_t>& present() const { return present_; }

 private:
  enum class State { kNew, kAdvertised, kShared, kMasking, kRevealed };
  struct HeldShares {
    SaltedShare self_mask;
    SaltedShare mask_key;
  };
  void expect(State state, State next);
  ShareCommitments commitments_to(std::uint32_t of, const HeldShares& held) const;

  const SiloSelf& self_;
  SumAttempt attempt_;
  State state_ = State::kNew;
  AgreementKey mask_key_;
  SecretVector<std::byte> self_secret_;
  std::optional<NeighbourGraph> graph_;
  std::map<std::uint32_t, PublicKey> neighbour_keys_;
  std::map<std::uint32_t, HeldShares> held_;
  std::vector<std::uint32_t> present_;
  std::vector<std::uint32_t> sharing_;  // U2
  MaskStreams masks_;
};

}  // namespace dpreduce
