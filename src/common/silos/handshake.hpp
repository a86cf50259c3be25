// Handshake that begins a run: keys of the run, signed by identities.
//
//     offer    coordinator -> silo   protocol, version, run, terms, digests of options and roster, identity, key of the
//                                    run; signed
//     hello    silo -> coordinator   identity, key of the run; signed together with the offer
//     members  coordinator -> silo   everyone's hello, sealed from here on (frame.hpp)
//
// Offer and hello are signed together with the binding of their line (wire.hpp): they are not valid on another line or
// in another run. Offer and hello have a fixed length and are used only after their signature has been verified. With a
// roster, an identity must be the one in the roster. Without a roster any identity is accepted: a party is then only
// known to be the same throughout the run, which is enough for a simulation.
//
// A silo answers an offer with hello only if protocol, version, terms, options and roster equal its own: the silo signs
// what it was started with. The noise plan follows once rows are open.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/silos/key_agreement.hpp"
#include "common/silos/parties.hpp"
#include "common/silos/payload.hpp"
#include "common/silos/wire.hpp"

namespace dpreduce {

/// Terms of a run, which must be the same at all parties.
struct SiloTerms {
  std::uint32_t silos = 0;      ///< k
  std::uint32_t threshold = 0;  ///< t
  std::uint32_t colluding = 0;  ///< c
  PublicKey options{};          ///< digest of all other options that are not a party's own

  /// Least number of noise shares in a sum, without those of colluding silos: t - c.
  std::uint32_t honest_shares() const { return threshold - colluding; }

  bool operator==(const SiloTerms&) const = default;
};

/// Version of the messages between parties, and of what the parties agree on. An offer with another number cannot be
/// read.
inline constexpr std::uint32_t kSiloProtocol = 7;

/// Version of the program, filled up with zeros.
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

/// Hello of a silo. In "members" the hello of each silo follows the list of silos, with all of its fields.
struct Hello {
  PublicKey identity{};
  PublicKey key{};
  LineBinding binding{};
  Signature signature{};
};

PublicKey digest_of(const std::optional<Roster>& roster);

/// Frames with the offer and with the hello, signed but not sealed.
std::vector<std::byte> make_offer(Offer offer, const Identity& identity, std::uint32_t silo,
                                  const LineBinding& binding = {});
std::vector<std::byte> make_hello(Hello hello, const Identity& identity, const Offer& offer, std::uint32_t silo);

/// Return the offer or hello in a frame. Throw AggregationAborted naming the fault: of form, protocol, identity,
/// signature, version, roster or terms. If values differ, the error names those of both sides where both are known.
Offer open_offer(std::span<const std::byte> frame, std::uint32_t silo, const SiloTerms& terms,
                 const std::optional<Roster>& roster, const LineBinding& binding = {});
Hello open_hello(std::span<const std::byte> frame, const Offer& offer, std::uint32_t silo,
                 const std::optional<Roster>& roster, const LineBinding& binding = {});

/// Run id that masks and signatures use: SHA-256 of the offer and of the payload of "members". The digest covers every
/// member's key of the run. So nothing that a silo has signed in another run fits, even if a coordinator makes the same
/// offer again.
RunId run_of(const Offer& offer, std::span<const std::byte> members);

/// Returns whether silo `silo` signed this hello to this offer.
bool verifies(const Hello& hello, const Offer& offer, std::uint32_t silo);

// Agreement of the parties on the noise of a run, before any silo masks.
//
//     plan   silo -> coordinator   the digest of the noise plan that this silo has made itself, signed
//     plan   coordinator -> silo   list of the silos left; then the same of the coordinator and of each of them
//
// No party takes a plan from another party. A silo goes on only if every party that is left has signed the digest of
// this silo's own plan, and sums only with these parties: a share of noise smaller than this silo counts on would
// weaken its own guarantee. The second message is part of the transcript (frame.hpp): later signatures cover it.

/// Bytes of the digest, and of the party's signature on run, party and digest.
std::vector<std::byte> make_signed_plan(const Identity& identity, const RunId& run, std::uint32_t party,
                                        const PublicKey& plan);

/// Reads and returns the bytes that make_signed_plan has made for `plan`. Throws AggregationAborted if they are for
/// another plan, or not signed by `identity`; `name` is the party's name in error messages.
std::vector<std::byte> take_signed_plan(PayloadReader& reader, const PublicKey& identity, const RunId& run,
                                        std::uint32_t party, const PublicKey& plan, const std::string& name);

}  // namespace dpreduce
