// Noise onto the elements of a planned block: its randomness, the shares of silos, and its addition.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include <sys/types.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/ledger/noise_plan.hpp"
#include "common/randomness/noise_key.hpp"
#include "common/ranks/communicator.hpp"

namespace dpreduce {

// The randomness of one release, on one rank.
//
//     stream = AES-256-CTR under HMAC(key, "noise" || label || part)
//
// The key is 32 bytes of the system's entropy, drawn when the release's sums are there, in the process that uses them,
// and forgotten with the object. So nothing is ever repeated: not by a run that goes on, not by a copy of a folder, not
// by a forked process. Under a seed, which protects nothing, the key follows from the seed, and streams from the label:
// they are the same for any number of ranks, but where each party adds noise of its own and the label names it.

/// Movable, not copyable.
class ReleaseKey {
 public:
  /// `label` names the round, and under a seed the party whose noise it is. Throws EntropyFailure.
  ReleaseKey(std::optional<std::uint64_t> seed, std::string label)
      : key_(seed ? NoiseKey::from_seed(*seed) : NoiseKey::from_entropy()), label_(std::move(label)) {}

  /// The stream of that part. Preconditions (asserted): each part is drawn once, in the process that made the key.
  /// Throws EntropyFailure.
  RandomStream stream(const std::string& part) {
    DPREDUCE_ASSERT(process_ == ::getpid() && drawn_.insert(part).second);
    const std::string context = label_ + "/" + part;
    return key_.stream("noise", std::as_bytes(std::span(context)));
  }

 private:
  NoiseKey key_;
  std::string label_;
  pid_t process_ = ::getpid();
  std::set<std::string> drawn_;
};

// Distributed noise: each silo adds a share of it.
//
//     s      the planned standard deviation of a block's noise
//     T, c   silos that stay at least; those of them that may show the coordinator their shares
//     s_i    = max(s / sqrt(T - c), m), rounded up: of one silo's exactly rounded Gaussian. m = 4; of a symmetric block
//            6, since entries beside the diagonal have s_i / sqrt(2), which must be 4 at least as well
//
// The shares of h >= T - c honest silos sum to round(N(0, h s_i^2) + uniforms), but for a distance of 2 h exp(-2 pi^2
// s_i^2 (1 - 1/h)) a coordinate, below 1e-60 for s_i >= 4: a post-processing of the Gaussian mechanism with noise
// sqrt(h) s_i >= s. So what is charged for s holds against the coordinator and c silos; against all others more is
// added than that: |U3| shares, of all that were summed.

/// The smallest share for which the bound above holds, so that a sum of rounded Gaussians equals a rounded sum up to
/// that distance.
inline constexpr double kSmallestShareSigma = 4.0;
/// The same for the diagonal of a symmetric block: more than sqrt(2) times that.
inline constexpr double kSmallestDiagonalShareSigma = 6.0;

struct NoiseShares {
  std::uint32_t honest = 1;  ///< T - c >= 1

  /// s_i of a block of that noise.
  double share_sigma(double sigma, BlockNoise noise = BlockNoise::kEqual) const {
    const double smallest = noise == BlockNoise::kSymmetric ? kSmallestDiagonalShareSigma : kSmallestShareSigma;
    const double share = sigma / std::sqrt(static_cast<double>(honest));
    return std::max(smallest, share * (1.0 + 4.0 * std::numeric_limits<double>::epsilon()));
  }
  /// The block with s_i in the place of s.
  PlannedBlock share_of(PlannedBlock block) const {
    block.sigma = share_sigma(block.sigma, block.noise);
    return block;
  }
  /// Plan with the noise that T - c shares guarantee, for any claimed number of silos: each block's sigma is sqrt(T -
  /// c) s_i, if that exceeds s, and mu follows from it. Its shares are those of `plan`.
  NoisePlan guaranteed(NoisePlan plan) const;
};

/// Standard deviation of the noise in the sum of a block that the coordinator of `ranks` has just made. Where silos add
/// `shares`, it is more than planned as long as none dropped out, so that what is cleaned of its noise is cleaned of
/// all of it. At other ranks: as planned.
double sigma_of_sum(const PlannedBlock& block, const std::optional<NoiseShares>& shares, const Communicator& ranks);

// Addition of noise.

/// Elements per piece of noise. Each piece has a stream of its own, so that ranks can share them.
inline constexpr std::size_t kNoisePiece = std::size_t{1} << 16;

/// Pieces first, first + step, ...
struct NoisePieces {
  std::size_t first = 0;
  std::size_t step = 1;
};

/// values += round(N(0, s^2)), each element its own, mod 2^64; s = block.sigma. For a block in units of 2^-b, values +=
/// floor(2^b N(0, s^2)), of the same reals (fill_floored_gaussian). For a symmetric block `values` are one or more of
/// its upper triangles, and elements beside a diagonal get variance s^2 / 2. Only the elements of `pieces` get noise.
/// Streams are those of "<block>/<part>", and "<block>/<part>/diagonal"; behind them "/1", "/2" of further pieces.
/// Throws EntropyFailure. Precondition (asserted): whole triangles; a symmetric block has no fractions.
void add_noise(ReleaseKey& key, const PlannedBlock& block, const std::string& part, std::span<std::int64_t> values,
               NoisePieces pieces = {});

/// floor((values + 2^(b-1)) / 2^b): noised sums in units of 2^-b, to the nearest integer. Post-processing.
void round_to_units(std::span<std::int64_t> values, unsigned fraction_bits);

}  // namespace dpreduce
