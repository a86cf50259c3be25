// Masked sum: a sum whose addends no other party sees. This header has what the coordinator and the silos both need.
//
// Legend: silo u of the n invited, x_u its statistic (N words), all in Z mod 2^64; PRG a mask stream (mask_stream.hpp).
//
//     advertise   u -> coordinator   mask key s_u^PK and a commitment to b_u, signed       gives  U1
//     keys        coordinator -> u   U1, and those of its neighbors (neighbor_graph.hpp)
//     shares      u -> coordinator   shares of s_u^SK and b_u for each holder, sealed, and
//                                    commitments to them                                    gives  U2
//     delivery    coordinator -> u   U2, and the shares that u is to hold, with their commitments
//     consent     u -> coordinator   its signature on U1 and U2 (below)
//     quorum      coordinator -> u   the signatures of at least t silos of U2 on the same two lists
//     masked      u -> coordinator   y_u = x_u + PRG(b_u) + sum_{v > u} PRG(s_uv) - sum_{v < u} PRG(s_uv),
//                                    v over its neighbors in U2; in pieces                 gives  U3
//     unmask      coordinator -> u   U3
//     consent, quorum                the same for U3
//     reveal      u -> coordinator   one share of each v whose shares u holds: of b_v if v is in U3, else of s_v^SK
//     sum_{U3} x = sum_{U3} y - sum_{U3} PRG(b_u) -+ the masks that U3 shares with U2 \ U3
//
// Source: [bonawitz2017], with the coordinator as their server, and with their consistency check also before masks.
// Keys, secrets and shares are new in every attempt: what one attempt reveals says nothing about any other. Departures:
// a silo that vanishes after it has sent a part of its y cannot be taken out of the sum again, since pieces are added
// as they come. The attempt is then given up without revealing any of its secrets, and a new one begins without the
// silo. A silo signs U3 in at most one attempt at a sum. Each share is committed to with a salt of its own. So a silo
// that reveals another share than it was given is detected, and the sum is computed with the shares of the others.
#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/silos/key_agreement.hpp"
#include "common/silos/mask_stream.hpp"
#include "common/silos/parties.hpp"
#include "common/silos/payload.hpp"
#include "common/silos/shamir.hpp"

namespace dpreduce {

/// Words of one piece: 1 MiB.
inline constexpr std::size_t kWordsPerPiece = std::size_t{1} << 17;
inline constexpr std::uint64_t kMostWords = std::uint64_t{1} << 40;

/// Attempt at one sum: the terms that all participants know.
struct SumAttempt {
  RunId run{};  ///< run_of (handshake.hpp): a digest of all parties' keys of the run
  std::uint64_t round = 0;
  std::uint32_t attempt = 0;
  std::uint64_t words = 0;       ///< N
  std::uint32_t threshold = 0;   ///< t: no sum is computed with fewer silos
  std::uint32_t colluding = 0;   ///< c
  PublicKey broadcast_digest{};  ///< digest of all public values before this sum (frame.hpp)

  KeyContext context(std::string_view purpose, std::uint32_t from = 0, std::uint32_t to = 0) const {
    return {run, round, attempt, purpose, from, to};
  }
};

/// Values that a silo advertises.
struct Advertisement {
  PublicKey mask_key{};
  PublicKey commitment{};  ///< HKDF of b_u
  Signature signature{};   ///< of both, run, round, attempt and silo, by its identity
};

/// Share with the salt that opens its commitment.
struct SaltedShare {
  Share share;
  std::array<std::byte, 32> salt{};

  friend std::ostream& operator<<(std::ostream&, const SaltedShare&) = delete;
};
inline constexpr std::size_t kSaltedShareBytes = kShareBytes + 32;
/// Bytes of the shares of both secrets, sealed.
inline constexpr std::size_t kSealedSharesBytes = 2 * kSaltedShareBytes + 16;

/// Secret of a silo that is shared out: b_u or s_u^SK.
enum class SecretKind : std::uint32_t { kSelfMask = 0, kMaskKey = 1 };

/// Commitments of a silo to both shares for one holder: each an HKDF of salt and share, which hides the share (256
/// random bits) and binds to it (SHA-256).
struct ShareCommitments {
  std::array<std::byte, 32> self_mask{};
  std::array<std::byte, 32> mask_key{};

  const std::array<std::byte, 32>& of(SecretKind kind) const {
    return kind == SecretKind::kSelfMask ? self_mask : mask_key;
  }
};

/// Bytes under an advertisement's signature.
std::vector<std::byte> signed_part(const SumAttempt& attempt, std::uint32_t silo, const Advertisement& advertisement);

/// Returns the reason why silos cannot mask with an advertisement, as the rest of "its mask key ..."; empty if they
/// can. The coordinator checks this before it relays an advertisement, and each silo checks it again.
std::string fault_of(const Advertisement& advertisement, const SumAttempt& attempt, std::uint32_t silo,
                     const PublicKey& identity);
void write(PayloadWriter& writer, const SaltedShare& share);
/// Reads a share. The bytes do not contain the holder: the caller gives it. Throws AggregationAborted if a value is no
/// field element.
SaltedShare read_share(PayloadReader& reader, std::uint32_t holder);

/// Commitment to a share of the secret of silo `of`.
std::array<std::byte, 32> share_commitment(const SumAttempt& attempt, SecretKind kind, std::uint32_t of,
                                           const SaltedShare& share);

/// Returns whether the parties are in rising order, all different, from 1 on.
bool is_rising(const std::vector<std::uint32_t>& parties);
bool is_subset(const std::vector<std::uint32_t>& part, const std::vector<std::uint32_t>& of);

/// PRG key of u's own mask, and the commitment of u to b_u.
SecretVector<std::byte> self_mask_key(const SumAttempt& attempt, std::uint32_t silo,
                                      std::span<const std::byte> self_secret);
PublicKey self_mask_commitment(const SumAttempt& attempt, std::uint32_t silo, std::span<const std::byte> self_secret);
/// Adds the mask that the pair shares, with its sign in y of `silo`: the sign in y of `other` is the opposite.
void add_pair_mask(MaskStreams& masks, const SumAttempt& attempt, std::uint32_t silo, std::uint32_t other,
                   const AgreementKey& key_of_silo, const PublicKey& key_of_other);

// Agreement of the silos of a sum (masked_sum.hpp) on lists of silos, which each silo signs once.
//
//     sharing   U1, U2        before any silo masks
//     summed    U1, U2, U3    before any silo reveals
//
// The coordinator sends every silo the signatures of at least t silos of the last list. A silo goes on only if each
// signature fits the lists that the silo has received itself. Two versions of a list with t signatures each would have
// 2 t - k > c signers in common, an honest one among them, and an honest silo signs once. So all silos that go on have
// received the same lists.

enum class ListStage : std::uint32_t { kSharing = 1, kSummed = 2 };

/// Lists of silos of one attempt at a sum, each in rising order and a subset of the one before.
struct SumLists {
  std::vector<std::uint32_t> participants;  ///< U1
  std::vector<std::uint32_t> sharing;       ///< U2
  std::vector<std::uint32_t> summed;        ///< U3; empty before it is known

  /// List that the stage signs: U2 or U3.
  const std::vector<std::uint32_t>& of(ListStage stage) const {
    return stage == ListStage::kSharing ? sharing : summed;
  }
};

/// Bytes under a silo's signature: run, round, attempt, words, t, c, digest of the public values that the silo has
/// received, stage, and the lists up to that stage.
std::vector<std::byte> signed_part(const SumAttempt& attempt, ListStage stage, const SumLists& lists);

/// Body of "consent": the stage, and the signature of `identity`.
std::vector<std::byte> make_consent(const Identity& identity, const SumAttempt& attempt, ListStage stage,
                                    const SumLists& lists);
/// Returns the signature in a consent. Throws AggregationAborted if the bytes are no consent at that stage, or the
/// signature is not silo `silo`'s on these lists.
Signature open_consent(PayloadReader& consent, const Roster& roster, std::uint32_t silo, const SumAttempt& attempt,
                       ListStage stage, const SumLists& lists);

/// Body of "quorum": the stage, and the silos that have signed, each with its signature.
std::vector<std::byte> make_quorum(ListStage stage, const std::map<std::uint32_t, Signature>& signatures);
/// Checks a quorum. Throws AggregationAborted if fewer than t silos of the stage's list have signed these lists, or if
/// a signature does not fit, is there twice or out of order, naming the first such silo.
void require_quorum(PayloadReader& quorum, const Roster& roster, const SumAttempt& attempt, ListStage stage,
                    const SumLists& lists);

}  // namespace dpreduce
