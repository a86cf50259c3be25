// One release whose parts never exist at once: one charge, and noise that each part's owner draws.
//
//     digest of all rows, summed over ranks  ->  ledger line, fsynced  ->  secret of this charge, to every rank
//     then, part by part:   owner's addend += noise  ->  reduction over ranks to the owner  ->  ReleasedBlock
//
// A part is some elements of a block: one matrix of a family, or a whole block. Its noise is the stream of (secret of
// the charge, block, number of the part), the same whichever rank owns it and however many ranks there are. The secret
// is derived from noise key, charge and digest: the same rows under the same charge repeat it bit for bit, other rows
// never meet it. It reaches every rank, which are all trusted; the key stays where it is. As in release.hpp noise is an
// addend of the reduction, so that no exact sum over ranks exists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregator/release/noise_shares.hpp"
#include "common/plan/noise_plan.hpp"
#include "common/plan/released_block.hpp"
#include "common/randomness/noise_key.hpp"
#include "common/ranks/communicator.hpp"

namespace dpreduce {

class PartRelease {
 public:
  /// A release without noise: for comparison only.
  explicit PartRelease(Communicator& ranks);
  /// A release that has been charged, with the noise that follows from `secret`, which is the same on every rank that
  /// owns parts.
  PartRelease(Communicator& ranks, PlannedRelease planned, NoiseKey secret);
  /// The same where each silo adds its share (noise_shares.hpp), drawn from the stream of its own `secret`.
  PartRelease(Communicator& ranks, PlannedRelease planned, NoiseKey secret, NoiseShares shares);

  /// The standard deviation of that block's noise; 0 without noise.
  double sigma(std::string_view block) const { return planned_ ? planned_->block(block).sigma : 0.0; }

  struct Part {
    std::size_t number = 0;         ///< names the part in its block
    int owner = 0;                  ///< the rank that gets it
    std::span<std::int64_t> local;  ///< this rank's addend; zeroed, but on the owner the noised sum
  };

  using Owned = std::vector<std::pair<std::size_t, ReleasedBlock>>;

  /// Parts whose sums are on their way. Their values belong to it until `finish`.
  class Pending {
   public:
    /// Lets the sums go on without waiting for them (PendingSum::advance).
    void advance();
    /// The noised sum over ranks of each part, at its owner: what this rank owns, in the order of the parts. Call it
    /// once.
    Owned finish();

   private:
    friend class PartRelease;
    struct Sum {
      Part part;
      bool is_own = false;
      std::unique_ptr<PendingSum> pending;
    };

    std::string block_;
    double sigma_ = 0.0;
    std::vector<Sum> sums_;
  };

  /// Adds the noise of the parts of one block and begins their sums. Of a symmetric block each part is an upper
  /// triangle. Collective, with the same numbers, owners and lengths on every rank, and in the same order.
  /// Preconditions (asserted): the release has that block; no part is made twice; all parts of a block have no more
  /// elements than it. Throws what add_noise and Communicator throw.
  Pending start(std::string_view block, std::span<const Part> parts);

 private:
  /// Adds noise to the parts that this rank owns or, where silos add shares, to all of them at a silo.
  void noise_own_parts(const PlannedBlock& planned, std::span<const Part> parts);

  Communicator& ranks_;
  std::optional<PlannedRelease> planned_;
  std::optional<NoiseKey> secret_;
  std::optional<NoiseShares> shares_;
  std::set<std::pair<std::string, std::size_t>> made_;
  std::map<std::string, std::uint64_t> elements_made_;
};

}  // namespace dpreduce
