// One release whose parts never exist at once: one charge, and noise that each part's owner draws.
//
//     part by part:   owner's addend += noise  ->  reduction over ranks to the owner  ->  ReleasedBlock
//     after the last one:   charge and record (Releaser::release_in_parts)
//
// A part is some elements of a block: one matrix of a family, or a whole block. Its noise is drawn by its owner, under
// a key of that rank (block_noise.hpp); under a seed it is the same whichever rank owns it. As in release.hpp noise is
// an addend of the reduction, so that no exact sum over ranks exists.
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

#include "aggregator/release/block_noise.hpp"
#include "common/base/error.hpp"
#include "common/ledger/noise_plan.hpp"
#include "common/ledger/released_block.hpp"
#include "common/ranks/communicator.hpp"

namespace dpreduce {

class PartRelease {
 public:
  /// A release with noise, of which this rank draws its own parts under `key`; with `shares` each silo its share of all
  /// (block_noise.hpp). Without a plan and a key a release without noise: for comparison only.
  explicit PartRelease(Communicator& ranks, std::optional<PlannedRelease> planned = {},
                       std::optional<ReleaseKey> key = {}, std::optional<NoiseShares> shares = {})
      : ranks_(ranks), planned_(std::move(planned)), key_(std::move(key)), shares_(shares) {
    DPREDUCE_ASSERT(planned_.has_value() == key_.has_value());
  }

  /// The largest standard deviation of the noise in the parts so far (sigma_of_sum), of each block: silos that share it
  /// may drop out between them. 0 without noise.
  const std::map<std::string, double>& sigmas() const { return sigmas_; }
  double sigma(const std::string& block) const { return sigmas_.at(block); }

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
    /// Noised sum over ranks of each part, at its owner: those that this rank owns, in the order of the parts. Call it
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

  /// Adds the noise of the parts of one block, each at its owner or, where silos add shares, at all silos, and begins
  /// their sums. Of a symmetric block each part is an upper triangle. Collective, with the same numbers, owners and
  /// lengths on every rank, and in the same order. Preconditions (asserted): the release has that block; no part is
  /// made twice; all parts of a block have no more elements than it. Throws what add_noise and Communicator throw.
  Pending start(std::string_view block, std::span<const Part> parts);

 private:
  Communicator& ranks_;
  std::optional<PlannedRelease> planned_;
  std::optional<ReleaseKey> key_;
  std::optional<NoiseShares> shares_;
  std::set<std::pair<std::string, std::size_t>> made_;
  std::map<std::string, std::uint64_t> elements_made_;
  std::map<std::string, double> sigmas_;
};

}  // namespace dpreduce
