// The randomness of one release, on one rank.
//
//     stream = AES-256-CTR under HMAC(key, "noise" || label || part)
//
// The key is 32 bytes of the system's entropy, drawn when the release's sums are there, in the process that uses them,
// and forgotten with the object. So nothing is ever repeated: not by a run that goes on, not by a copy of a folder, not
// by a forked process. Under a seed, which protects nothing, the key follows from the seed, and streams from the label:
// they are the same for any number of ranks, but where each party adds noise of its own and the label names it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include <sys/types.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/randomness/noise_key.hpp"

namespace dpreduce {

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

}  // namespace dpreduce
