// Beginning of a run: keys of the run, signed by identities.
//
//     offer    coordinator -> silo   protocol, version, run, terms, digests of options and roster, identity, key of the
//                                    run; signed
//     hello    silo -> coordinator   identity, key of the run; signed together with the offer
//     members  coordinator -> silo   everyone's hello, sealed from here on (frame.hpp)
//
// Both are signed together with what binds their line (wire.hpp): on another line, or in another run, they are worth
// nothing. Offer and hello have a fixed length and are used only after their signature has been verified. With a roster
// an identity must be the one that stands there. Without one any identity is accepted: a party is then only known to be
// the same throughout the run, which is enough for a simulation.
//
// A silo says hello to an offer only if all of that is its own as well: what it signs is what it was started with. The
// noise follows once rows are open.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/silos/frame.hpp"
#include "common/silos/key_agreement.hpp"
#include "common/silos/parties.hpp"
#include "common/silos/payload.hpp"
#include "common/silos/wire.hpp"

namespace dpreduce {

/// The terms of a run, which all parties must have been given alike.
struct SiloTerms {
  std::uint32_t silos = 0;      ///< k
  std::uint32_t threshold = 0;  ///< t
  std::uint32_t colluding = 0;  ///< c
  PublicKey options{};          ///< digest of all other options that are not a party's own

  /// t - c: how many shares the noise of a sum has at least, those of colluding silos left out.
  std::uint32_t honest_shares() const { return threshold - colluding; }

  bool operator==(const SiloTerms&) const = default;
};

/// The version of the messages between parties, and of what they agree on. With another number nothing of an offer can
/// be read.
inline constexpr std::uint32_t kSiloProtocol = 5;

/// A version of the program, filled up with zeros.
using VersionField = std::array<std::byte, 32>;
VersionField own_version();

struct Offer {
  RunId run{};
  SiloTerms terms;
  PublicKey roster_digest{};  ///< zeros without a roster
  PublicKey identity{};
  PublicKey key{};
  Signature signature{};  ///< over all of the other fields, and the binding of the line
  VersionField version = own_version();
};

/// All of it follows the list of silos in "members", for each of them.
struct Hello {
  PublicKey identity{};
  PublicKey key{};
  LineBinding binding{};
  Signature signature{};
};

PublicKey digest_of(const std::optional<Roster>& roster);

/// The offer and the hello, each as a frame that is not sealed.
std::vector<std::byte> make_offer(Offer offer, const Identity& identity, std::uint32_t silo,
                                  const LineBinding& binding = {});
std::vector<std::byte> make_hello(Hello hello, const Identity& identity, const Offer& offer, std::uint32_t silo);

/// Throws AggregationAborted naming the fault: of form, protocol, identity, signature, version, roster or terms; of
/// what differs both sides, where that can be told.
Offer open_offer(std::span<const std::byte> frame, std::uint32_t silo, const SiloTerms& terms,
                 const std::optional<Roster>& roster, const LineBinding& binding = {});
Hello open_hello(std::span<const std::byte> frame, const Offer& offer, std::uint32_t silo,
                 const std::optional<Roster>& roster, const LineBinding& binding = {});

/// The run as masks and signatures know it: SHA-256 of the offer and of the payload of "members". Every member's key of
/// the run is in it, so that nothing which a silo has signed in another run fits, even where a coordinator makes the
/// same offer again.
RunId run_of(const Offer& offer, std::span<const std::byte> members);

/// Returns whether that silo said hello to that offer.
bool verifies(const Hello& hello, const Offer& offer, std::uint32_t silo);

// Agreement of the parties on the noise of a run, before any silo masks.
//
//     plan   silo -> coordinator   the digest of the noise plan that this silo has made itself, signed
//     plan   coordinator -> silo   who is left; then the same of the coordinator and of each of them
//
// Nobody takes a plan from another party. A silo goes on only where every party that is left has signed the digest of
// this silo's own plan, and sums only with these: a share of noise that is smaller than this silo counts on would take
// from its own guarantee. The second message is part of the transcript (frame.hpp), so that later signatures cover
// it.

/// The digest, and the party's signature on run, party and digest.
std::vector<std::byte> make_signed_plan(const Identity& identity, const RunId& run, std::uint32_t party,
                                        const PublicKey& plan);

/// Reads the bytes that make_signed_plan has made for `plan`. Throws AggregationAborted if they are for another plan,
/// or not signed by `identity`; `name` is the party's in messages.
std::vector<std::byte> take_signed_plan(PayloadReader& reader, const PublicKey& identity, const RunId& run,
                                        std::uint32_t party, const PublicKey& plan, const std::string& name);

}  // namespace dpreduce
