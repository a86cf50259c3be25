// A sum whose addends nobody sees: what its coordinator and its silos have in common.
//
// Legend: silo u of the n invited, x_u its statistic (N words), all in Z mod 2^64; PRG a mask stream (mask_stream.hpp).
//
//     advertise   u -> coordinator   mask key s_u^PK and a commitment to b_u, signed       gives  U1
//     keys        coordinator -> u   U1, and those of its neighbors (neighbor_graph.hpp)
//     shares      u -> coordinator   shares of s_u^SK and b_u for each holder, sealed, and
//                                    commitments to them                                    gives  U2
//     delivery    coordinator -> u   U2, and the shares that it is to hold, with their commitments
//     consent     u -> coordinator   its signature on U1 and U2 (below)
//     quorum      coordinator -> u   the signatures of at least t silos of U2 on the same two lists
//     masked      u -> coordinator   y_u = x_u + PRG(b_u) + sum_{v > u} PRG(s_uv) - sum_{v < u} PRG(s_uv),
//                                    v over its neighbors in U2; in pieces                 gives  U3
//     unmask      coordinator -> u   U3
//     consent, quorum                the same for U3
//     reveal      u -> coordinator   of each v whose shares it holds one: of b_v where v is in U3, else of s_v^SK
//     sum_{U3} x = sum_{U3} y - sum_{U3} PRG(b_u) -+ the masks that U3 shares with U2 \ U3
//
// ([bonawitz2017], with the coordinator as their server, their consistency check before masks too.) Keys, secrets and
// shares are new in every attempt, so that what is revealed says nothing about any other. Departures: a silo that
// vanishes after it has sent a part of its y cannot be taken out of the sum again, since pieces are added as they come.
// The attempt is then given up, none of its secrets being revealed, and a new one begins without the silo. A silo signs
// U3 in one attempt at a sum at most. Finally, each share is committed to with a salt of its own. So a silo that
// reveals another share than it was given is found out, and the sum is made with the shares of the others.
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
#include "common/silos/masked_sum.hpp"
#include "common/silos/parties.hpp"
#include "common/silos/payload.hpp"
#include "common/silos/shamir.hpp"

namespace dpreduce {

/// Words of one piece: 1 MiB.
inline constexpr std::size_t kWordsPerPiece = std::size_t{1} << 17;
inline constexpr std::uint64_t kMostWords = std::uint64_t{1} << 40;

/// Attempt at one sum, as all that take part know it.
struct SumAttempt {
  RunId run{};  ///< run_of (handshake.hpp): everybody's keys of the run are in it
  std::uint64_t round = 0;
  std::uint32_t attempt = 0;
  std::uint64_t words = 0;       ///< N
  std::uint32_t threshold = 0;   ///< t: with fewer there is no sum
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

/// A share with the salt that its commitment needs to be opened.
struct SaltedShare {
  Share share;
  std::array<std::byte, 32> salt{};

  friend std::ostream& operator<<(std::ostream&, const SaltedShare&) = delete;
};
inline constexpr std::size_t kSaltedShareBytes = kShareBytes + 32;
/// Shares of both secrets, sealed.
inline constexpr std::size_t kSealedSharesBytes = 2 * kSaltedShareBytes + 16;

/// Secret of a silo that a share is of.
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
inline constexpr std::size_t kShareCommitmentsBytes = 32 + 32;

/// The bytes under an advertisement's signature.
std::vector<std::byte> signed_part(const SumAttempt& attempt, std::uint32_t silo, const Advertisement& advertisement);

/// Why silos cannot mask with what that silo advertises, as the rest of "its mask key ..."; empty where they can. The
/// coordinator asks before it relays an advertisement, and each silo asks again.
std::string fault_of(const Advertisement& advertisement, const SumAttempt& attempt, std::uint32_t silo,
                     const PublicKey& identity);
void write(PayloadWriter& writer, const SaltedShare& share);
/// The bytes do not contain the holder: the caller names it. Throws AggregationAborted where a value is no field
/// element.
SaltedShare read_share(PayloadReader& reader, std::uint32_t holder);

/// The commitment to that share of the secret of silo `of`.
std::array<std::byte, 32> share_commitment(const SumAttempt& attempt, SecretKind kind, std::uint32_t of,
                                           const SaltedShare& share);

/// Parties in rising order, all different, from 1 on.
bool is_rising(const std::vector<std::uint32_t>& parties);
bool is_subset(const std::vector<std::uint32_t>& part, const std::vector<std::uint32_t>& of);

/// PRG key of u's own mask, and what commits it to b_u.
SecretVector<std::byte> self_mask_key(const SumAttempt& attempt, std::uint32_t silo,
                                      std::span<const std::byte> self_secret);
PublicKey self_mask_commitment(const SumAttempt& attempt, std::uint32_t silo, std::span<const std::byte> self_secret);
/// Adds the mask that the pair shares as y of `silo` has it: what y of `other` has, subtracted.
void add_pair_mask(MaskStreams& masks, const SumAttempt& attempt, std::uint32_t silo, std::uint32_t other,
                   const AgreementKey& key_of_silo, const PublicKey& key_of_other);

// Silos agree in a sum (masked_sum.hpp) on lists of silos, which each of them signs once.
//
//     sharing   U1, U2        before anybody masks
//     summed    U1, U2, U3    before anybody reveals
//
// The coordinator shows every silo the signatures of at least t silos of the last list. A silo goes on only where each
// of them fits the lists that it has received itself. Two versions of a list with t signatures each would have 2 t - k
// > c signers in common, an honest one among them, and an honest silo signs once. So all silos that go on have received
// the same lists.

enum class ListStage : std::uint32_t { kSharing = 1, kSummed = 2 };

/// The lists of one attempt at a sum, each in rising order and a part of the one before.
struct SumLists {
  std::vector<std::uint32_t> participants;  ///< U1
  std::vector<std::uint32_t> sharing;       ///< U2
  std::vector<std::uint32_t> summed;        ///< U3; empty before it is known

  /// The list that a stage is about.
  const std::vector<std::uint32_t>& of(ListStage stage) const {
    return stage == ListStage::kSharing ? sharing : summed;
  }
};

/// The bytes under a silo's signature: run, round, attempt, words, t, c, digest of the public values that it has
/// received, stage, and the lists up to that stage.
std::vector<std::byte> signed_part(const SumAttempt& attempt, ListStage stage, const SumLists& lists);

/// "consent": the stage, and the signature of that identity.
std::vector<std::byte> make_consent(const Identity& identity, const SumAttempt& attempt, ListStage stage,
                                    const SumLists& lists);
/// Throws AggregationAborted where the bytes are no consent at that stage, or the signature is not that silo's on these
/// lists.
Signature open_consent(PayloadReader& consent, const Roster& roster, std::uint32_t silo, const SumAttempt& attempt,
                       ListStage stage, const SumLists& lists);

/// "quorum": the stage, and who has signed, each with its signature.
std::vector<std::byte> make_quorum(ListStage stage, const std::map<std::uint32_t, Signature>& signatures);
/// Throws AggregationAborted where fewer than t silos of the stage's list have signed these lists, naming the first
/// whose signature does not fit.
void require_quorum(PayloadReader& quorum, const Roster& roster, const SumAttempt& attempt, ListStage stage,
                    const SumLists& lists);

}  // namespace dpreduce
