// How parties agree on the noise of a run, before anybody masks.
//
//     plan   silo -> coordinator   the digest of the noise plan that this silo has made itself, signed
//     plan   coordinator -> silo   who is left; then the same of the coordinator and of each of them
//
// Nobody takes a plan from another party. A silo goes on only where every party that is left has signed the digest of
// this silo's own plan, and sums only with these: a share of noise that is smaller than this silo counts on would take
// from its own guarantee. The second message is part of the transcript (transcript.hpp), so that later signatures cover
// it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/silos/identity.hpp"
#include "common/silos/key_agreement.hpp"
#include "common/silos/payload.hpp"

namespace dpreduce {

/// The digest, and the party's signature on run, party and digest.
std::vector<std::byte> make_signed_plan(const Identity& identity, const RunId& run, std::uint32_t party,
                                        const PublicKey& plan);

/// What make_signed_plan has made for `plan`, as bytes. Throws AggregationAborted where it is for another plan, or not
/// signed by `identity`; `name` is the party's in messages.
std::vector<std::byte> take_signed_plan(PayloadReader& reader, const PublicKey& identity, const RunId& run,
                                        std::uint32_t party, const PublicKey& plan, const std::string& name);

}  // namespace dpreduce
