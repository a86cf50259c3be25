#include "common/silos/handshake.hpp"

#include <algorithm>
#include <string_view>

#include "common/base/error.hpp"
#include "common/base/text.hpp"
#include "common/base/version.hpp"
#include "common/silos/frame.hpp"

namespace dpreduce {
namespace {

std::vector<std::byte> body_of(const Offer& offer) {
  PayloadWriter writer;
  writer.u32(kSiloProtocol).bytes(offer.version);
  writer.bytes(offer.run).u32(offer.terms.silos).u32(offer.terms.threshold).u32(offer.terms.colluding);
  return writer.bytes(offer.terms.options).bytes(offer.roster_digest).bytes(offer.identity).bytes(offer.key).take();
}

std::vector<std::byte> signed_part(const Offer& offer, const LineBinding& binding) {
  return PayloadWriter().text("dpreduce offer v3").bytes(body_of(offer)).bytes(binding).take();
}

std::vector<std::byte> signed_part(const Hello& hello, const Offer& offer, std::uint32_t silo) {
  PayloadWriter writer;
  writer.text("dpreduce hello v3").bytes(body_of(offer)).u32(silo);
  return writer.bytes(hello.identity).bytes(hello.key).bytes(hello.binding).take();
}

// In the form of a frame, with zeros in the place of the tag.
std::vector<std::byte> unsealed(FrameKind kind, std::uint32_t from, std::uint32_t to,
                                std::span<const std::byte> payload) {
  const std::vector<std::byte> no_tag(kTagBytes);
  return PayloadWriter().bytes(bytes_of({kind, from, to, 0, 0})).bytes(payload).bytes(no_tag).take();
}

std::span<const std::byte> payload_of(FrameKind kind, std::uint32_t from, std::uint32_t to,
                                      std::span<const std::byte> frame) {
  const std::optional<FrameHeader> claimed = claimed_header(frame);
  if (!claimed || *claimed != FrameHeader{kind, from, to, 0, 0}) {
    throw AggregationAborted("{} bytes that are not a \"{}\" from party {} to {}", frame.size(), to_string(kind), from,
                             to);
  }
  return frame.subspan(kHeaderBytes, frame.size() - kHeaderBytes - kTagBytes);
}

void require_identity(const PublicKey& identity, const std::optional<Roster>& roster, std::uint32_t party) {
  if (roster && roster->members.at(party).key != identity) {
    throw AggregationAborted("identity {}... does not belong to \"{}\" in --roster: a foreign key", short_hex(identity),
                             roster->members[party].name);
  }
}

std::string text_of(const VersionField& version) {
  const std::string_view text = text_in(version);
  return shown_text(text.substr(0, text.find('\0')), version.size());
}

// Throws AggregationAborted unless the offer and what this silo was started with are the same in all that both state.
void require_own(const Offer& offer, const SiloTerms& terms, const std::optional<Roster>& roster) {
  if (offer.version != own_version()) {
    throw AggregationAborted(
        "the coordinator runs dpreduce {}, and this silo dpreduce {}: versions may differ in their noise; "
        "start the same version at all parties",
        text_of(offer.version), version());
  }
  if (offer.roster_digest != digest_of(roster)) {
    throw AggregationAborted("the coordinator has another --roster than this silo; all need the same file");
  }
  if (offer.terms.silos != terms.silos || offer.terms.threshold != terms.threshold ||
      offer.terms.colluding != terms.colluding) {
    throw AggregationAborted(
        "the coordinator offers {} silos, threshold {}, {} colluding; this silo was started with {}, {} and {}",
        offer.terms.silos, offer.terms.threshold, offer.terms.colluding, terms.silos, terms.threshold, terms.colluding);
  }
  if (offer.terms.options != terms.options) {
    throw AggregationAborted(
        "the coordinator was started with other options than this silo (digest {} there, {} here; each "
        "party's --log lists its own); all options except a party's own files must be the same, e.g. in one --config",
        short_hex(offer.terms.options), short_hex(terms.options));
  }
}

std::vector<std::byte> signed_part(const RunId& run, std::uint32_t party, const PublicKey& plan) {
  return PayloadWriter().text("dpreduce noise plan v1").bytes(run).u32(party).bytes(plan).take();
}

}  // namespace

VersionField own_version() {
  const std::string text = version();
  VersionField field{};
  DPREDUCE_ASSERT(text.size() <= field.size());
  std::copy_n(bytes_in(text).begin(), text.size(), field.begin());
  return field;
}

PublicKey digest_of(const std::optional<Roster>& roster) {
  return roster ? roster->digest() : PublicKey{};
}

std::vector<std::byte> make_offer(Offer offer, const Identity& identity, std::uint32_t silo,
                                  const LineBinding& binding) {
  offer.signature = identity.sign(signed_part(offer, binding));
  return unsealed(FrameKind::kOffer, 0, silo, PayloadWriter().bytes(body_of(offer)).bytes(offer.signature).take());
}

std::vector<std::byte> make_hello(Hello hello, const Identity& identity, const Offer& offer, std::uint32_t silo) {
  hello.signature = identity.sign(signed_part(hello, offer, silo));
  return unsealed(FrameKind::kHello, silo, 0, PayloadWriter().plain(hello).take());
}

Offer open_offer(std::span<const std::byte> frame, std::uint32_t silo, const SiloTerms& terms,
                 const std::optional<Roster>& roster, const LineBinding& binding) {
  PayloadReader reader(payload_of(FrameKind::kOffer, 0, silo, frame));
  if (const std::uint32_t protocol = reader.u32(); protocol != kSiloProtocol) {
    throw AggregationAborted(
        "the coordinator's offer is of another protocol than number {}, which this silo speaks with dpreduce "
        "{}; start the same version at all parties",
        kSiloProtocol, version());
  }
  Offer offer;
  offer.version = reader.array<32>();
  offer.run = reader.array<32>();
  offer.terms.silos = reader.u32();
  offer.terms.threshold = reader.u32();
  offer.terms.colluding = reader.u32();
  offer.terms.options = reader.array<32>();
  offer.roster_digest = reader.array<32>();
  offer.identity = reader.array<32>();
  offer.key = reader.array<32>();
  offer.signature = reader.array<64>();
  reader.end();
  require_identity(offer.identity, roster, 0);
  if (!verifies(offer.identity, signed_part(offer, binding), offer.signature)) {
    throw AggregationAborted("the coordinator's offer is not signed by its identity for this line");
  }
  require_own(offer, terms, roster);
  return offer;
}

RunId run_of(const Offer& offer, std::span<const std::byte> members) {
  return sha256(PayloadWriter().text("dpreduce run v1").bytes(body_of(offer)).bytes(members).take());
}

bool verifies(const Hello& hello, const Offer& offer, std::uint32_t silo) {
  return verifies(hello.identity, signed_part(hello, offer, silo), hello.signature);
}

Hello open_hello(std::span<const std::byte> frame, const Offer& offer, std::uint32_t silo,
                 const std::optional<Roster>& roster, const LineBinding& binding) {
  PayloadReader reader(payload_of(FrameKind::kHello, silo, 0, frame));
  const Hello hello = reader.plain<Hello>();
  reader.end();
  require_identity(hello.identity, roster, silo);
  if (!verifies(hello, offer, silo)) throw AggregationAborted("its hello is not signed by its identity");
  if (hello.binding != binding) throw AggregationAborted("its hello is of another line");
  return hello;
}

std::vector<std::byte> make_signed_plan(const Identity& identity, const RunId& run, std::uint32_t party,
                                        const PublicKey& plan) {
  return PayloadWriter().bytes(plan).bytes(identity.sign(signed_part(run, party, plan))).take();
}

std::vector<std::byte> take_signed_plan(PayloadReader& reader, const PublicKey& identity, const RunId& run,
                                        std::uint32_t party, const PublicKey& plan, const std::string& name) {
  const PublicKey signed_plan = reader.array<32>();
  const Signature signature = reader.array<64>();
  if (!verifies(identity, signed_part(run, party, signed_plan), signature)) {
    throw AggregationAborted("the noise plan of {} is not signed by it", name);
  }
  if (signed_plan != plan) {
    throw AggregationAborted(
        "{} adds different noise than this party (noise plan {} there, {} here, of dpreduce {}); start one build "
        "of the program, with the same options, at all parties",
        name, short_hex(signed_plan), short_hex(plan), version());
  }
  return PayloadWriter().bytes(signed_plan).bytes(signature).take();
}

}  // namespace dpreduce
