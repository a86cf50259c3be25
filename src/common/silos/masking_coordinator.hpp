// Coordinator's side of one attempt at a masked sum (masked_sum.hpp): messages in, messages out.
//
//     take_advertisement* -> keys_for* -> take_shares* -> delivery_for* -> take_consent* -> quorum -> add_piece*
//                         -> unmask_for* -> take_consent* -> quorum -> take_reveal* -> sum
//
// A silo whose message has not come by the end of a phase takes no part in the next. The caller decides when a phase
// ends. The coordinator requests only one secret of each silo. It refuses a reveal with another secret, or with a share
// that is not the one committed to.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>

#include "common/silos/masked_sum.hpp"
#include "common/silos/neighbor_graph.hpp"
#include "common/silos/parties.hpp"

namespace dpreduce {

class MaskingCoordinator {
 public:
  /// Begins an attempt. `roster` outlives this object. Memory: 8 N bytes.
  MaskingCoordinator(const Roster& roster, const SumAttempt& attempt);
  virtual ~MaskingCoordinator() = default;
  MaskingCoordinator(const MaskingCoordinator&) = delete;
  MaskingCoordinator& operator=(const MaskingCoordinator&) = delete;

  /// Functions that each take one silo's message. Throw AggregationAborted naming the message's fault: the caller then
  /// drops the silo.
  void take_advertisement(std::uint32_t silo, PayloadReader& advertisement);
  void take_shares(std::uint32_t silo, PayloadReader& shares);
  void take_consent(std::uint32_t silo, ListStage stage, PayloadReader& consent);
  void add_piece(std::uint32_t silo, PayloadReader& piece);
  void take_reveal(std::uint32_t silo, PayloadReader& reveal);

  /// Functions that each end a phase and return the silos that have delivered, in rising order. No sum is possible with
  /// fewer than t of them.
  std::vector<std::uint32_t> close_advertising();  ///< U1
  std::vector<std::uint32_t> close_sharing();      ///< U2
  std::vector<std::uint32_t> close_masking();      ///< U3; precondition (asserted): no silo is_partial

  std::vector<std::byte> keys_for(std::uint32_t silo) const;
  std::vector<std::byte> delivery_for(std::uint32_t silo) const;
  std::vector<std::byte> unmask_for(std::uint32_t silo) const;
  /// Silos that have signed the stage's list, in rising order; and "quorum", with the signatures of t of them.
  std::vector<std::uint32_t> consenting(ListStage stage) const;
  std::vector<std::byte> quorum(ListStage stage) const;  ///< precondition (asserted): at least t are consenting

  bool has_masked_all(std::uint32_t silo) const;
  /// Returns whether only some of the silo's pieces are in the sum: the attempt then cannot go on without the silo.
  bool is_partial(std::uint32_t silo) const;
  /// Returns whether enough shares have been revealed.
  bool can_unmask() const;

  /// values += sum over U3, mod 2^64. Precondition (asserted): can_unmask. Throws AggregationAborted naming a silo that
  /// has shared out another secret than it advertised.
  void add_sum_to(std::span<std::uint64_t> values);

 protected:
  /// Lists that are sent to silo `silo`, and the attempt that the silo must sign with them.
  virtual SumLists lists_for(std::uint32_t silo, ListStage stage) const;
  virtual SumAttempt attempt_of(std::uint32_t silo) const;
  /// Precondition: advertising is closed.
  const NeighborGraph& graph() const { return *graph_; }

 private:
  SecretVector<std::byte> secret_of(std::uint32_t silo) const;

  const Roster& roster_;
  SumAttempt attempt_;
  std::map<std::uint32_t, Advertisement> advertisements_;
  std::optional<NeighborGraph> graph_;
  std::map<std::uint32_t, std::map<std::uint32_t, std::vector<std::byte>>> sealed_;  // [from][to]
  std::map<std::uint32_t, std::map<std::uint32_t, ShareCommitments>> commitments_;   // [from][holder]
  std::vector<std::uint32_t> sharing_;                                               // U2
  std::map<std::uint32_t, std::uint64_t> words_of_;                                  // words received from each silo
  std::vector<std::uint32_t> summed_;                                                // U3
  std::vector<std::uint64_t> sum_;
  std::map<ListStage, std::map<std::uint32_t, Signature>> consents_;
  std::map<std::uint32_t, std::vector<Share>> revealed_;  // shares of the one secret that is requested
  std::set<std::uint32_t> has_revealed_;
};

}  // namespace dpreduce
