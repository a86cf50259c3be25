// Whatever comes over the wire between silos: frames are refused unless they are authentic, and even what an authentic
// party puts into them, every parser ends with a result or with AggregationAborted.
#include "common/silos/frame.hpp"
#include "common/silos/handshake.hpp"
#include "common/silos/masking_coordinator.hpp"
#include "common/silos/masking_silo.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace {

using namespace dpreduce;
using Bytes = std::vector<std::byte>;

// Three silos and their coordinator, at the point where a sum begins.
struct Run {
  Run() {
    for (std::uint32_t party = 0; party < 4; ++party) {
      identities.push_back(Identity::generate());
      keys.push_back(AgreementKey::generate());
      roster.members[party].key = identities[party].public_key();
    }
    for (std::uint32_t silo = 1; silo < 4; ++silo) {
      selves[silo].number = silo;
      selves[silo].identity = &identities[silo];
      selves[silo].roster = &roster;
      for (std::uint32_t other = 1; other < 4; ++other) {
        if (other != silo) selves[silo].pair_secrets.emplace(other, keys[silo].agree(keys[other].public_key()));
      }
    }
    Offer unsigned_offer{attempt.run, terms, {}, identities[0].public_key(), keys[0].public_key(), {}};
    offer = open_offer(make_offer(unsigned_offer, identities[0], 1), 1, terms, std::nullopt);
  }

  SiloTerms terms{3, 2, 0};
  SumAttempt attempt{{}, 1, 1, 8, 2, 0};
  Roster roster{0, 0, std::vector<Member>(4)};
  std::vector<Identity> identities;
  std::vector<AgreementKey> keys;
  std::array<SiloSelf, 4> selves;
  Offer offer;
};

// A sum that goes well up to a phase, in which silo 3 or the coordinator sends `bytes`.
void sum_with(const Run& run, unsigned phase, std::span<const std::byte> bytes) {
  MaskingCoordinator coordinator(run.roster, run.attempt);
  std::vector<MaskingSilo> silos;
  for (std::uint32_t silo = 1; silo < 4; ++silo) silos.emplace_back(run.selves[silo], run.attempt);
  PayloadReader foreign(bytes);
  const auto each = [&](unsigned own_phase, const auto& message_of, const auto& take) {
    for (std::uint32_t silo = 1; silo < 4; ++silo) {
      const Bytes proper = message_of(silo);
      PayloadReader reader(proper);
      if (silo == 3 && phase == own_phase) {
        is_refused<AggregationAborted>([&] { take(silo, foreign); });
      } else {
        take(silo, reader);
      }
    }
  };
  std::vector<Bytes> shares(4);
  std::vector<Bytes> consents(4);
  // Silo 3's signature is foreign in the first of two phases, what it is shown of the others in the second.
  const auto agree = [&](ListStage stage, unsigned first_phase, const auto& take_quorum) {
    each(
        first_phase, [&](std::uint32_t silo) { return consents[silo]; },
        [&](std::uint32_t silo, PayloadReader& reader) { coordinator.take_consent(silo, stage, reader); });
    each(
        first_phase + 1, [&](std::uint32_t) { return coordinator.quorum(stage); }, take_quorum);
  };
  each(
      0, [&](std::uint32_t silo) { return silos[silo - 1].advertise(); },
      [&](std::uint32_t silo, PayloadReader& reader) { coordinator.take_advertisement(silo, reader); });
  coordinator.close_advertising();
  if (phase == 0) return;
  each(
      1, [&](std::uint32_t silo) { return coordinator.keys_for(silo); },
      [&](std::uint32_t silo, PayloadReader& reader) { shares[silo] = silos[silo - 1].take_keys(reader); });
  if (phase == 1) return;
  each(
      2, [&](std::uint32_t silo) { return shares[silo]; },
      [&](std::uint32_t silo, PayloadReader& reader) { coordinator.take_shares(silo, reader); });
  coordinator.close_sharing();
  if (phase == 2) return;
  each(
      3, [&](std::uint32_t silo) { return coordinator.delivery_for(silo); },
      [&](std::uint32_t silo, PayloadReader& reader) { consents[silo] = silos[silo - 1].take_delivery(reader); });
  if (phase == 3) return;
  agree(ListStage::kSharing, 10,
        [&](std::uint32_t silo, PayloadReader& quorum) { silos[silo - 1].take_sharing_quorum(quorum); });
  if (phase == 10 || phase == 11) return;
  const auto piece = [&](std::uint32_t silo) {
    std::vector<std::uint64_t> words(run.attempt.words, silo);
    silos[silo - 1].mask(0, words);
    return PayloadWriter().u64(0).bytes(std::as_bytes(std::span(words))).take();
  };
  each(4, piece, [&](std::uint32_t silo, PayloadReader& reader) { coordinator.add_piece(silo, reader); });
  if (coordinator.is_partial(3)) return;
  coordinator.close_masking();
  if (phase == 4) return;
  std::vector<Bytes> reveals(4);
  each(
      5, [&](std::uint32_t silo) { return coordinator.unmask_for(silo); },
      [&](std::uint32_t silo, PayloadReader& reader) { consents[silo] = silos[silo - 1].take_unmask(reader); });
  if (phase == 5) return;
  agree(ListStage::kSummed, 12,
        [&](std::uint32_t silo, PayloadReader& quorum) { reveals[silo] = silos[silo - 1].take_summed_quorum(quorum); });
  if (phase == 12 || phase == 13) return;
  each(
      6, [&](std::uint32_t silo) { return reveals[silo]; },
      [&](std::uint32_t silo, PayloadReader& reader) { coordinator.take_reveal(silo, reader); });
  DPREDUCE_ASSERT(coordinator.can_unmask());
  std::vector<std::uint64_t> sum(run.attempt.words, 0);
  is_refused<AggregationAborted>([&] {
    coordinator.add_sum_to(sum);
    DPREDUCE_ASSERT(sum.front() == 6 && sum.back() == 6);
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Run run;
  if (size == 0) return 0;
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data + 1, size - 1));
  const unsigned choice = data[0] % 14;
  if (choice == 9) {
    Channel channel(SecretVector<std::byte>(32, std::byte{1}), run.attempt.run, 0, 1);
    // A frame that is authentic without the key would be a break of AES-GCM.
    DPREDUCE_ASSERT(is_refused<AggregationAborted>([&] { channel.open(0, bytes); }));
  } else if (choice == 8) {
    is_refused<AggregationAborted>([&] { open_offer(bytes, 1, run.terms, std::nullopt); });
  } else if (choice == 7) {
    is_refused<AggregationAborted>([&] { open_hello(bytes, run.offer, 1, std::nullopt); });
  } else {
    sum_with(run, choice, bytes);
  }
  return 0;
}
