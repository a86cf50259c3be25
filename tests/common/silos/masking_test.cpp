// Both sides of a masked sum, message by message: what each refuses, and that no silo's two secrets come together.

#include "common/base/error.hpp"
#include "common/silos/key_agreement.hpp"
#include "common/silos/masking_coordinator.hpp"
#include "common/silos/masking_silo.hpp"
#include "tests/common/silos/silo_parties.hpp"
#include "tests/testing.hpp"

namespace dpreduce::masking_test {

using Bytes = std::vector<std::byte>;

constexpr std::uint32_t kSilos = 4;

// Four silos of which three must stay, at the point where a sum of 100 words begins.
class MaskingTest : public testing::Test {
 protected:
  MaskingTest() { begin(); }
  void begin() {
    silos_.clear();
    for (std::uint32_t silo = 1; silo <= kSilos; ++silo) silos_.try_emplace(silo, parties_.self(silo), attempt_);
    coordinator_.emplace(parties_.roster(), attempt_);
  }

  void advertise(const std::vector<std::uint32_t>& who) {
    for (const std::uint32_t silo : who)
      give(silos_.at(silo).advertise(), [&](PayloadReader& reader) { coordinator_->take_advertisement(silo, reader); });
    coordinator_->close_advertising();
  }
  void share(const std::vector<std::uint32_t>& who) {
    for (const std::uint32_t silo : who) {
      Bytes shares;
      give(coordinator_->keys_for(silo), [&](PayloadReader& reader) { shares = silos_.at(silo).take_keys(reader); });
      give(shares, [&](PayloadReader& reader) { coordinator_->take_shares(silo, reader); });
    }
    coordinator_->close_sharing();
  }
  void deliver(const std::vector<std::uint32_t>& who) {
    for (const std::uint32_t silo : who) sign_sharing(silo, silos_.at(silo));
    for (const std::uint32_t silo : who) may_mask(silos_.at(silo));
  }
  void sign_sharing(std::uint32_t number, MaskingSilo& silo) {
    Bytes consent;
    give(coordinator_->delivery_for(number), [&](PayloadReader& reader) { consent = silo.take_delivery(reader); });
    give(consent, [&](PayloadReader& reader) { coordinator_->take_consent(number, ListStage::kSharing, reader); });
  }
  void may_mask(MaskingSilo& silo) {
    give(coordinator_->quorum(ListStage::kSharing), [&](PayloadReader& reader) { silo.take_sharing_quorum(reader); });
  }
  void mask(const std::vector<std::uint32_t>& who) {
    for (const std::uint32_t silo : who) {
      std::vector<std::uint64_t> words(attempt_.words, silo);
      silos_.at(silo).mask(0, words);
      give(PayloadWriter().u64(0).bytes(std::as_bytes(std::span(words))).take(),
           [&](PayloadReader& reader) { coordinator_->add_piece(silo, reader); });
    }
    coordinator_->close_masking();
  }
  void up_to_shared() {
    advertise({1, 2, 3, 4});
    share({1, 2, 3, 4});
  }
  void up_to_masked(const std::vector<std::uint32_t>& who) {
    up_to_shared();
    deliver({1, 2, 3, 4});
    mask(who);
  }
  static void give(const Bytes& message, const std::function<void(PayloadReader&)>& take) {
    PayloadReader reader(message);
    take(reader);
  }
  static std::string refusal(const Bytes& message, const std::function<void(PayloadReader&)>& take) {
    return dpreduce::refusal<AggregationAborted>([&] { give(message, take); });
  }
  void sign_summed(const std::vector<std::uint32_t>& who) {
    for (const std::uint32_t silo : who) {
      Bytes consent;
      give(coordinator_->unmask_for(silo),
           [&](PayloadReader& reader) { consent = silos_.at(silo).take_unmask(reader); });
      give(consent, [&](PayloadReader& reader) { coordinator_->take_consent(silo, ListStage::kSummed, reader); });
    }
  }
  Bytes reveal(std::uint32_t silo) {
    Bytes bytes;
    give(coordinator_->quorum(ListStage::kSummed),
         [&](PayloadReader& reader) { bytes = silos_.at(silo).take_summed_quorum(reader); });
    return bytes;
  }
  std::string refuses_unmask(std::uint32_t silo, const std::vector<std::uint32_t>& summed) {
    return refusal(PayloadWriter().numbers(summed).take(),
                   [&](PayloadReader& reader) { silos_.at(silo).take_unmask(reader); });
  }
  // Of each silo the secrets that these bytes hold a share of.
  static std::map<std::uint32_t, std::vector<std::uint32_t>> kinds_in(const Bytes& reveal) {
    std::map<std::uint32_t, std::vector<std::uint32_t>> kinds;
    PayloadReader reader(reveal);
    while (reader.size_left() > 0) {
      const std::uint32_t silo = reader.u32();
      kinds[silo].push_back(reader.u32());
      reader.bytes(kSaltedShareBytes);
    }
    return kinds;
  }

  SumAttempt attempt_{{}, 3, 1, 100, 3, 0};
  SiloParties parties_{kSilos};
  std::map<std::uint32_t, MaskingSilo> silos_;
  std::optional<MaskingCoordinator> coordinator_;
};

TEST_F(MaskingTest, OneSecretOfEachIsRevealedAndNeverTheOther) {
  up_to_masked({1, 2, 3});
  sign_summed({1, 2, 3});
  for (const std::uint32_t silo : {1U, 2U, 3U}) {
    const auto kinds = kinds_in(reveal(silo));
    ASSERT_EQ(kinds.size(), kSilos);
    for (const auto& [of, which] : kinds) {
      const auto due = static_cast<std::uint32_t>(of == 4 ? SecretKind::kMaskKey : SecretKind::kSelfMask);
      EXPECT_EQ(which, std::vector<std::uint32_t>{due});
    }
    EXPECT_THAT(refuses_unmask(silo, {1, 2, 3, 4}), HasSubstr("too early, or twice"));
  }
}

TEST_F(MaskingTest, TheSumIsOverThoseThatStayed) {
  up_to_masked({1, 2, 4});
  sign_summed({1, 2, 4});
  for (const std::uint32_t silo : {1U, 2U, 4U}) {
    EXPECT_FALSE(coordinator_->can_unmask());
    give(reveal(silo), [&](PayloadReader& reader) { coordinator_->take_reveal(silo, reader); });
  }
  ASSERT_TRUE(coordinator_->can_unmask());
  std::vector<std::uint64_t> sum(attempt_.words, 10);
  coordinator_->add_sum_to(sum);
  EXPECT_EQ(sum, std::vector<std::uint64_t>(attempt_.words, 17));
}

TEST_F(MaskingTest, ASiloRefusesStoriesThatCannotBe) {
  up_to_masked({1, 2, 3, 4});
  EXPECT_THAT(refuses_unmask(1, {1, 2}), HasSubstr("2 silos are summed, but 3 must"));
  EXPECT_THAT(refuses_unmask(2, {1, 3, 4}), HasSubstr("not those that shared"));
  EXPECT_THAT(refuses_unmask(3, {1, 2, 3, 9}), HasSubstr("not those that shared"));
  EXPECT_THAT(refuses_unmask(4, {4, 3, 2}), HasSubstr("not those that shared"));
}

TEST_F(MaskingTest, AKeyThatItsSiloHasNotSignedIsRefused) {
  advertise({1, 2, 3, 4});
  Bytes keys = coordinator_->keys_for(1);
  keys[4 + 4 * kSilos + 3] ^= std::byte{1};  // in the mask key of silo 2
  EXPECT_THAT(refusal(keys, [&](PayloadReader& reader) { silos_.at(1).take_keys(reader); }),
              HasSubstr("the mask key of silo 2 is not signed by it"));
}

// The points of X25519 whose order divides 8, and forms of them that are not reduced: no key pair gives a secret with
// one.
std::vector<PublicKey> points_of_small_order() {
  const auto key_of = [](std::string_view hex) {
    PublicKey key{};
    for (std::size_t byte = 0; byte < key.size(); ++byte) {
      key[byte] = static_cast<std::byte>(std::stoul(std::string(hex.substr(2 * byte, 2)), nullptr, 16));
    }
    return key;
  };
  const std::string zeros(62, '0');
  const std::string middle(60, 'f');
  return {key_of("00" + zeros),
          key_of("01" + zeros),
          key_of("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
          key_of("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
          key_of("ec" + middle + "7f"),
          key_of("ed" + middle + "7f"),
          key_of("ee" + middle + "7f")};
}

// A silo that signs such a key would end each of its neighbors. It is refused by the coordinator; a silo that gets one
// all the same names who has signed it.
TEST_F(MaskingTest, AMaskKeyOfSmallOrderIsRefusedByTheCoordinatorAndBySilos) {
  const std::string said = "is a point of small order, which gives no shared secret";
  for (const PublicKey& point : points_of_small_order()) {
    SCOPED_TRACE(to_hex(point));
    EXPECT_FALSE(gives_secret(point));
    begin();
    Advertisement low{point, PublicKey{}, {}};
    low.signature = parties_.identity(2).sign(signed_part(attempt_, 2, low));
    PayloadWriter advertised;
    advertised.plain(low);
    const Bytes message = advertised.take();
    EXPECT_EQ(refusal(message, [&](PayloadReader& reader) { coordinator_->take_advertisement(2, reader); }),
              "its mask key " + said);
    advertise({1, 2, 3, 4});
    Bytes keys = coordinator_->keys_for(1);
    std::ranges::copy(message, keys.begin() + 4 + 4 * kSilos);  // in the place of silo 2's
    EXPECT_THAT(refusal(keys, [&](PayloadReader& reader) { silos_.at(1).take_keys(reader); }),
                HasSubstr("the mask key of silo 2 " + said));
  }
  EXPECT_TRUE(gives_secret(AgreementKey::generate().public_key()));
}

TEST_F(MaskingTest, AnAdvertisementOfAnotherRoundIsRefused) {
  SumAttempt other = attempt_;
  other.round = 2;
  MaskingSilo late(parties_.self(2), other);
  EXPECT_THAT(refusal(late.advertise(), [&](PayloadReader& reader) { coordinator_->take_advertisement(2, reader); }),
              HasSubstr("not signed"));
}

TEST_F(MaskingTest, FewerThanTheThresholdDoNotShareTheirSecrets) {
  const Bytes two = PayloadWriter().numbers(std::vector<std::uint32_t>{1, 2}).take();
  silos_.at(1).advertise();
  EXPECT_THAT(refusal(two, [&](PayloadReader& reader) { silos_.at(1).take_keys(reader); }),
              HasSubstr("2 silos take part, but 3 must"));
}

TEST_F(MaskingTest, SharesThatWereChangedOnTheWayAreRefused) {
  up_to_shared();
  Bytes delivery = coordinator_->delivery_for(3);
  delivery.back() ^= std::byte{1};
  EXPECT_THAT(refusal(delivery, [&](PayloadReader& reader) { silos_.at(3).take_delivery(reader); }),
              HasSubstr("the shares from silo 4 fail their authentication"));
}

// Whichever byte of its share or salt it changes, of whichever secret: it is known, and the sum is made without it.
TEST_F(MaskingTest, WhoRevealsAWrongShareIsKnownAndTheSumIsMadeByTheOthers) {
  up_to_masked({1, 2, 3, 4});
  sign_summed({1, 2, 3, 4});
  for (const std::uint32_t silo : {1U, 2U, 3U, 4U}) {
    const Bytes revealed = reveal(silo);
    if (silo != 2) {
      give(revealed, [&](PayloadReader& reader) { coordinator_->take_reveal(silo, reader); });
      continue;
    }
    for (std::uint32_t of = 1; of <= kSilos; ++of) {
      for (const std::size_t place : {std::size_t{0}, kShareBytes - 8, kShareBytes, kSaltedShareBytes - 1}) {
        Bytes lie = revealed;
        lie[(of - 1) * (8 + kSaltedShareBytes) + 8 + place] ^= std::byte{1};
        EXPECT_THAT(refusal(lie, [&](PayloadReader& reader) { coordinator_->take_reveal(2, reader); }),
                    HasSubstr("a different share of a secret of silo " + std::to_string(of) + " than"));
      }
    }
  }
  ASSERT_TRUE(coordinator_->can_unmask());
  std::vector<std::uint64_t> sum(attempt_.words, 0);
  coordinator_->add_sum_to(sum);
  EXPECT_EQ(sum, std::vector<std::uint64_t>(attempt_.words, 10));
}

TEST_F(MaskingTest, ASiloThatSharesOutAnotherSecretThanItAdvertisedIsNamed) {
  advertise({1, 2, 3, 4});
  SumAttempt same = attempt_;
  MaskingSilo liar(parties_.self(3), same);  // with a self secret and a mask key that nobody knows of
  liar.advertise();
  for (const std::uint32_t silo : {1U, 2U, 3U, 4U}) {
    Bytes shares;
    give(coordinator_->keys_for(silo), [&](PayloadReader& reader) {
      shares = silo == 3 ? liar.take_keys(reader) : silos_.at(silo).take_keys(reader);
    });
    give(shares, [&](PayloadReader& reader) { coordinator_->take_shares(silo, reader); });
  }
  coordinator_->close_sharing();
  sign_sharing(3, liar);
  deliver({1, 2, 4});
  mask({1, 2, 4});
  sign_summed({1, 2, 4});
  for (const std::uint32_t silo : {1U, 2U, 4U}) {
    give(reveal(silo), [&](PayloadReader& reader) { coordinator_->take_reveal(silo, reader); });
  }
  std::vector<std::uint64_t> sum(attempt_.words, 0);
  expect_refusal<AggregationAborted>([&] { coordinator_->add_sum_to(sum); },
                                     {"silo 3 has shared a different secret than it advertised"});
}

// Commitments are bound to the shares that they come with: nobody on the way can exchange them.
TEST_F(MaskingTest, CommitmentsThatWereChangedOnTheWayAreRefused) {
  up_to_shared();
  Bytes delivery = coordinator_->delivery_for(3);
  delivery[delivery.size() - kSealedSharesBytes - 1] ^= std::byte{1};
  EXPECT_THAT(refusal(delivery, [&](PayloadReader& reader) { silos_.at(3).take_delivery(reader); }),
              HasSubstr("the shares from silo 4 fail their authentication"));
}

// Silo 3 seals for silo 1 what it has not committed itself to, as no honest silo does.
TEST_F(MaskingTest, SharesThatAreNotThoseCommittedToAreRefusedByTheirHolder) {
  up_to_shared();
  Bytes delivery = coordinator_->delivery_for(1);
  const std::size_t entry = kShareCommitmentsBytes + kSealedSharesBytes;
  const std::size_t at = delivery.size() - 2 * entry;  // of those from 2, 3 and 4
  const Bytes commitments(delivery.begin() + static_cast<std::ptrdiff_t>(at),
                          delivery.begin() + static_cast<std::ptrdiff_t>(at + kShareCommitmentsBytes));
  const Bytes bound = PayloadWriter().u32(3).u32(1).bytes(commitments).take();
  const Bytes other_shares(2 * kSaltedShareBytes);
  SealingKey(derive_key(parties_.self(3).pair_secrets.at(1), attempt_.context("shares", 3, 1)))
      .seal(0, bound, other_shares, std::span(delivery).subspan(at + kShareCommitmentsBytes, kSealedSharesBytes));
  EXPECT_THAT(refusal(delivery, [&](PayloadReader& reader) { silos_.at(1).take_delivery(reader); }),
              HasSubstr("silo 3 gives this silo other shares than it has committed to"));
}

TEST_F(MaskingTest, EveryShareHasACommitmentOfItsOwn) {
  const SaltedShare share{{2, {1, 2, 3, 4, 5}}, {}};
  const auto commitment = share_commitment(attempt_, SecretKind::kSelfMask, 1, share);
  EXPECT_EQ(commitment, share_commitment(attempt_, SecretKind::kSelfMask, 1, share));
  EXPECT_NE(commitment, share_commitment(attempt_, SecretKind::kMaskKey, 1, share));
  EXPECT_NE(commitment, share_commitment(attempt_, SecretKind::kSelfMask, 3, share));
  SaltedShare other = share;
  other.share.holder = 3;
  EXPECT_NE(commitment, share_commitment(attempt_, SecretKind::kSelfMask, 1, other));
  other = share;
  other.salt[31] = std::byte{1};
  EXPECT_NE(commitment, share_commitment(attempt_, SecretKind::kSelfMask, 1, other));
  other = share;
  other.share.values[4] = 6;
  EXPECT_NE(commitment, share_commitment(attempt_, SecretKind::kSelfMask, 1, other));
}

TEST_F(MaskingTest, PiecesComeInOrderAndEndWithTheStatistic) {
  attempt_.words = kWordsPerPiece + 40;
  begin();
  up_to_shared();
  const auto piece = [&](std::uint64_t first, std::size_t words) {
    return refusal(PayloadWriter().u64(first).bytes(Bytes(8 * words)).take(),
                   [&](PayloadReader& reader) { coordinator_->add_piece(1, reader); });
  };
  const std::size_t whole = kWordsPerPiece;
  EXPECT_THAT(piece(0, 60), HasSubstr("or different pieces")) << "pieces are as large as they may be";
  EXPECT_EQ(piece(0, whole), "");
  EXPECT_TRUE(coordinator_->is_partial(1));
  EXPECT_THAT(piece(0, 40), HasSubstr("missing, or appears twice"));
  EXPECT_THAT(piece(whole, 41), HasSubstr("a different number of words"));
  EXPECT_THAT(piece(whole, 0), HasSubstr("a different number of words"));
  EXPECT_EQ(piece(whole, 40), "");
  EXPECT_TRUE(coordinator_->has_masked_all(1));
}

// A silo goes on only where at least t silos have signed what it was told itself.
TEST_F(MaskingTest, ASiloMasksOnlyWhatEnoughSilosHaveSigned) {
  up_to_shared();
  for (const std::uint32_t silo : {1U, 2U, 3U, 4U}) sign_sharing(silo, silos_.at(silo));
  const Bytes good = coordinator_->quorum(ListStage::kSharing);
  constexpr std::size_t kEntry = 4 + sizeof(Signature);
  ASSERT_EQ(good.size(), 4 + attempt_.threshold * kEntry);
  const auto refusal_of = [&](std::uint32_t silo, const Bytes& quorum) {
    return refusal(quorum, [&](PayloadReader& reader) { silos_.at(silo).take_sharing_quorum(reader); });
  };
  const Bytes fewer(good.begin(), good.end() - kEntry);
  EXPECT_THAT(refusal_of(1, fewer), HasSubstr("2 silos have signed the list that this silo received, but 3 must"));
  Bytes false_one = good;
  false_one[4 + kEntry + 9] ^= std::byte{1};  // of silo 2
  EXPECT_THAT(refusal_of(2, false_one), HasSubstr("the signature of silo 2 does not match the list"));
  Bytes twice = good;
  std::copy_n(twice.begin() + 4, kEntry, twice.begin() + 4 + kEntry);
  EXPECT_THAT(refusal_of(3, twice), HasSubstr("the signature of silo 1 appears twice, or out of order"));
  // A refusal is for good: the right signatures come too late.
  EXPECT_THAT(refusal_of(3, good), HasSubstr("too early, or twice"));
  EXPECT_EQ(refusal_of(4, good), "");
  EXPECT_THAT(refusal_of(4, good), HasSubstr("too early, or twice"));
}

TEST_F(MaskingTest, ASiloRevealsOnlyWhatEnoughSilosHaveSigned) {
  up_to_masked({1, 2, 3, 4});
  const Bytes of_sharing = coordinator_->quorum(ListStage::kSharing);
  sign_summed({1, 2, 3, 4});
  const auto refusal_of = [&](std::uint32_t silo, const Bytes& quorum) {
    return refusal(quorum, [&](PayloadReader& reader) { silos_.at(silo).take_summed_quorum(reader); });
  };
  EXPECT_THAT(refusal_of(1, of_sharing), HasSubstr("a signature on who is summed was expected"));
  Bytes other_stage = of_sharing;
  other_stage[0] = std::byte{2};
  EXPECT_THAT(refusal_of(2, other_stage), HasSubstr("the signature of silo 1 does not match the list"));
  EXPECT_EQ(refusal_of(3, coordinator_->quorum(ListStage::kSummed)), "");
  EXPECT_THAT(refusal_of(3, coordinator_->quorum(ListStage::kSummed)), HasSubstr("too early, or twice"));
}

TEST_F(MaskingTest, AListIsSignedOnce) {
  up_to_shared();
  sign_sharing(1, silos_.at(1));
  EXPECT_THAT(
      refusal(coordinator_->delivery_for(1), [&](PayloadReader& reader) { silos_.at(1).take_delivery(reader); }),
      HasSubstr("too early, or twice"));
  for (const std::uint32_t silo : {2U, 3U, 4U}) sign_sharing(silo, silos_.at(silo));
  may_mask(silos_.at(2));
  const Bytes all = PayloadWriter().numbers(std::vector<std::uint32_t>{1, 2, 3, 4}).take();
  give(all, [&](PayloadReader& reader) { silos_.at(2).take_unmask(reader); });
  EXPECT_THAT(refuses_unmask(2, {1, 2, 3}), HasSubstr("too early, or twice"));
}

// A signature is of one run, round, attempt, stage and pair of lists.
TEST_F(MaskingTest, ASignatureFitsNothingElse) {
  const SumLists lists{{1, 2, 3, 4}, {1, 2, 3}, {1, 2, 3}};
  const Bytes text = signed_part(attempt_, ListStage::kSharing, lists);
  EXPECT_EQ(text, signed_part(attempt_, ListStage::kSharing, {{1, 2, 3, 4}, {1, 2, 3}, {}}));
  EXPECT_NE(text, signed_part(attempt_, ListStage::kSummed, lists));
  EXPECT_NE(text, signed_part(attempt_, ListStage::kSharing, {{1, 2, 3}, {1, 2, 3}, {}}));
  EXPECT_NE(text, signed_part(attempt_, ListStage::kSharing, {{1, 2, 3, 4}, {1, 2, 4}, {}}));
  for (const auto& change : std::vector<std::function<void(SumAttempt&)>>{
           [](SumAttempt& a) { a.run[31] = std::byte{1}; }, [](SumAttempt& a) { ++a.round; },
           [](SumAttempt& a) { ++a.attempt; }, [](SumAttempt& a) { ++a.words; }, [](SumAttempt& a) { --a.threshold; },
           [](SumAttempt& a) { ++a.colluding; }, [](SumAttempt& a) { a.broadcast_digest[0] = std::byte{1}; }}) {
    SumAttempt other = attempt_;
    change(other);
    EXPECT_NE(text, signed_part(other, ListStage::kSharing, lists));
  }
}

TEST_F(MaskingTest, ASiloThatSignsAnotherListThanItWasToldIsKnown) {
  up_to_shared();
  const Bytes other = make_consent(parties_.identity(2), attempt_, ListStage::kSharing, {{1, 2, 3, 4}, {1, 2, 3}, {}});
  const auto take = [&](PayloadReader& reader) { coordinator_->take_consent(2, ListStage::kSharing, reader); };
  EXPECT_THAT(refusal(other, take), HasSubstr("it has not signed the list that it received"));
  EXPECT_TRUE(coordinator_->consenting(ListStage::kSharing).empty());
}

// Who knew a secret before, or again from another attempt, could take its mask off.
TEST_F(MaskingTest, SecretsAreNewInEveryAttemptAndOfEverySilo) {
  std::set<PublicKey> keys;
  for (int time = 0; time < 2; ++time) {
    for (const std::uint32_t silo : {1U, 2U}) {
      MaskingSilo again(parties_.self(silo), attempt_);
      const Bytes advertised = again.advertise();
      PayloadReader reader(advertised);
      const Advertisement advertisement = reader.plain<Advertisement>();
      EXPECT_TRUE(keys.insert(advertisement.mask_key).second);
      EXPECT_TRUE(keys.insert(advertisement.commitment).second);
      for (const std::byte same : {std::byte{0}, std::byte{0xff}}) {
        const SecretVector<std::byte> guess(kSecretBytes, same);
        EXPECT_NE(advertisement.commitment, self_mask_commitment(attempt_, silo, guess));
      }
    }
  }
}

// A coordinator takes each message once, in its turn, of who is due, and nothing behind it.
TEST_F(MaskingTest, ACoordinatorTakesEachMessageOnceAndInItsTurn) {
  const auto refusal_of = [&](const Bytes& message, std::uint32_t silo,
                              void (MaskingCoordinator::*take)(std::uint32_t, PayloadReader&)) {
    Bytes longer = message;
    longer.push_back(std::byte{0});
    EXPECT_NE(refusal(longer, [&](PayloadReader& reader) { (*coordinator_.*take)(silo, reader); }), "");
    return refusal(message, [&](PayloadReader& reader) { (*coordinator_.*take)(silo, reader); });
  };
  const auto is_untimely = HasSubstr("too early, or twice");
  std::map<std::uint32_t, Bytes> advertised;
  for (const std::uint32_t silo : {1U, 2U, 3U}) {
    advertised[silo] = silos_.at(silo).advertise();
    EXPECT_EQ(refusal_of(advertised[silo], silo, &MaskingCoordinator::take_advertisement), "");
    EXPECT_THAT(refusal_of(advertised[silo], silo, &MaskingCoordinator::take_advertisement), is_untimely);
  }
  coordinator_->close_advertising();
  EXPECT_THAT(refusal_of(silos_.at(4).advertise(), 4, &MaskingCoordinator::take_advertisement), is_untimely);

  Bytes shares;
  for (const std::uint32_t silo : {1U, 2U, 3U}) {
    give(coordinator_->keys_for(silo), [&](PayloadReader& reader) { shares = silos_.at(silo).take_keys(reader); });
    EXPECT_EQ(refusal_of(shares, silo, &MaskingCoordinator::take_shares), "");
    EXPECT_THAT(refusal_of(shares, silo, &MaskingCoordinator::take_shares), is_untimely);
  }
  EXPECT_THAT(refusal_of(shares, 4, &MaskingCoordinator::take_shares), is_untimely);
  coordinator_->close_sharing();

  const auto take_consent = [&](std::uint32_t silo, ListStage stage, const Bytes& consent) {
    return refusal(consent, [&](PayloadReader& reader) { coordinator_->take_consent(silo, stage, reader); });
  };
  for (const std::uint32_t silo : {1U, 2U, 3U}) {
    Bytes consent;
    give(coordinator_->delivery_for(silo),
         [&](PayloadReader& reader) { consent = silos_.at(silo).take_delivery(reader); });
    EXPECT_THAT(take_consent(silo, ListStage::kSummed, consent), Not(IsEmpty()));
    Bytes longer = consent;
    longer.push_back(std::byte{0});
    EXPECT_THAT(take_consent(silo, ListStage::kSharing, longer), Not(IsEmpty()));
    EXPECT_EQ(take_consent(silo, ListStage::kSharing, consent), "");
    EXPECT_THAT(take_consent(silo, ListStage::kSharing, consent), is_untimely);
    EXPECT_THAT(take_consent(4, ListStage::kSharing, consent), is_untimely);
  }
  for (const std::uint32_t silo : {1U, 2U, 3U}) may_mask(silos_.at(silo));

  const Bytes piece = PayloadWriter().u64(0).bytes(Bytes(8 * attempt_.words)).take();
  const auto add_piece = [&](std::uint32_t silo) {
    return refusal(piece, [&](PayloadReader& reader) { coordinator_->add_piece(silo, reader); });
  };
  EXPECT_THAT(add_piece(4), is_untimely);
  mask({1, 2, 3});
  EXPECT_THAT(add_piece(1), is_untimely);
  sign_summed({1, 2, 3});
  for (const std::uint32_t silo : {1U, 2U, 3U}) {
    const Bytes revealed = reveal(silo);
    EXPECT_EQ(refusal_of(revealed, silo, &MaskingCoordinator::take_reveal), "");
    EXPECT_THAT(refusal_of(revealed, silo, &MaskingCoordinator::take_reveal), is_untimely);
    EXPECT_THAT(refusal_of(revealed, 4, &MaskingCoordinator::take_reveal), is_untimely);
  }
  std::vector<std::uint64_t> sum(attempt_.words, 0);
  coordinator_->add_sum_to(sum);
  EXPECT_EQ(sum, std::vector<std::uint64_t>(attempt_.words, 1 + 2 + 3));
}

// Likewise a silo: what is longer or shorter than it is due is refused, and nothing comes after a refusal.
TEST_F(MaskingTest, ASiloRefusesMessagesOfAnotherLengthForGood) {
  using Take = std::function<void(MaskingSilo&, PayloadReader&)>;
  const Take takes[] = {[](MaskingSilo& silo, PayloadReader& reader) { silo.take_keys(reader); },
                        [](MaskingSilo& silo, PayloadReader& reader) { silo.take_delivery(reader); },
                        [](MaskingSilo& silo, PayloadReader& reader) { silo.take_sharing_quorum(reader); },
                        [](MaskingSilo& silo, PayloadReader& reader) { silo.take_unmask(reader); },
                        [](MaskingSilo& silo, PayloadReader& reader) { silo.take_summed_quorum(reader); }};
  const Take& unmask = takes[3];
  for (std::size_t phase = 0; phase < std::size(takes); ++phase) {
    for (const bool is_longer : {false, true}) {
      SCOPED_TRACE(testing::Message() << "phase " << phase << (is_longer ? ", longer" : ", shorter"));
      begin();
      advertise({1, 2, 3, 4});
      Bytes message = coordinator_->keys_for(1);
      if (phase >= 1) {
        share({1, 2, 3, 4});
        message = coordinator_->delivery_for(1);
      }
      if (phase >= 2) {
        for (const std::uint32_t silo : {1U, 2U, 3U, 4U}) sign_sharing(silo, silos_.at(silo));
        message = coordinator_->quorum(ListStage::kSharing);
      }
      if (phase >= 3) {
        for (const std::uint32_t silo : {1U, 2U, 3U, 4U}) may_mask(silos_.at(silo));
        mask({1, 2, 3, 4});
        message = coordinator_->unmask_for(1);
      }
      if (phase >= 4) {
        sign_summed({1, 2, 3, 4});
        message = coordinator_->quorum(ListStage::kSummed);
      }
      Bytes changed = message;
      if (is_longer) {
        changed.push_back(std::byte{0});
      } else {
        changed.pop_back();
      }
      const auto refusal_of = [&](const Take& take, const Bytes& bytes) {
        return refusal(bytes, [&](PayloadReader& reader) { take(silos_.at(1), reader); });
      };
      EXPECT_NE(refusal_of(takes[phase], changed), "");
      EXPECT_THAT(refusal_of(takes[phase], message), HasSubstr("too early, or twice"));
      EXPECT_NE(refusal_of(unmask, message), "");
    }
  }
}

TEST(Payload, EndsWhereItEnds) {
  const Bytes bytes = PayloadWriter().u32(7).u64(9).numbers(std::vector<std::uint32_t>{1, 2}).take();
  PayloadReader reader(bytes);
  EXPECT_EQ(reader.u32(), 7U);
  EXPECT_EQ(reader.u64(), 9U);
  EXPECT_THROW(reader.end(), AggregationAborted);
  EXPECT_EQ(reader.numbers(), (std::vector<std::uint32_t>{1, 2}));
  reader.end();
  EXPECT_THROW(reader.u32(), AggregationAborted);
  const Bytes many = PayloadWriter().u32(0xffffffff).take();
  PayloadReader huge(many);
  EXPECT_THROW(huge.numbers(), AggregationAborted);
}

}  // namespace dpreduce::masking_test
