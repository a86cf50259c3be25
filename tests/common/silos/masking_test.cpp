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
const SiloList kAll = all_silos(kSilos);

// Four silos of which three must stay, at the point where a sum of 100 words begins.
class MaskingTest : public testing::Test {
 protected:
  MaskingTest() { begin(); }
  void begin() {
    silos_.clear();
    for (const std::uint32_t silo : kAll) silos_.try_emplace(silo, parties_.self(silo), attempt_);
    coordinator_.emplace(parties_.roster(), attempt_);
  }

  // What a silo answers to the coordinator's message.
  template <typename Answer>
  Answer give(std::uint32_t silo, Answer (MaskingSilo::*take)(PayloadReader&), const Bytes& message) {
    return dpreduce::give(message, take, silos_.at(silo));
  }
  // A silo's message, or its consent, to the coordinator.
  void give(std::uint32_t silo, void (MaskingCoordinator::*take)(std::uint32_t, PayloadReader&), const Bytes& message) {
    dpreduce::give(message, take, *coordinator_, silo);
  }
  void give(std::uint32_t silo, ListStage stage, const Bytes& consent) {
    dpreduce::give(consent, &MaskingCoordinator::take_consent, *coordinator_, silo, stage);
  }
  // Why it is not taken.
  template <typename Take>
  std::string refusal(std::uint32_t silo, Take take, const Bytes& message) {
    return dpreduce::refusal<AggregationAborted>([&] { give(silo, take, message); });
  }
  std::string refuses_unmask(std::uint32_t silo, const SiloList& summed) {
    return refusal(silo, &MaskingSilo::take_unmask, PayloadWriter().numbers(summed).take());
  }

  void advertise(const SiloList& who) {
    for (const std::uint32_t silo : who) {
      give(silo, &MaskingCoordinator::take_advertisement, silos_.at(silo).advertise());
    }
    coordinator_->close_advertising();
  }
  void share(const SiloList& who) {
    for (const std::uint32_t silo : who) {
      give(silo, &MaskingCoordinator::take_shares, give(silo, &MaskingSilo::take_keys, coordinator_->keys_for(silo)));
    }
    coordinator_->close_sharing();
  }
  void sign_sharing(const SiloList& who) {
    for (const std::uint32_t silo : who) {
      give(silo, ListStage::kSharing, give(silo, &MaskingSilo::take_delivery, coordinator_->delivery_for(silo)));
    }
  }
  void may_mask(const SiloList& who) {
    for (const std::uint32_t silo : who) {
      give(silo, &MaskingSilo::take_sharing_quorum, coordinator_->quorum(ListStage::kSharing));
    }
  }
  void deliver(const SiloList& who) {
    sign_sharing(who);
    may_mask(who);
  }
  void mask(const SiloList& who) {
    for (const std::uint32_t silo : who) {
      std::vector<std::uint64_t> words(attempt_.words, silo);
      silos_.at(silo).mask(0, words);
      give(silo, &MaskingCoordinator::add_piece, PayloadWriter().u64(0).bytes(std::as_bytes(std::span(words))).take());
    }
    coordinator_->close_masking();
  }
  void up_to_shared() {
    advertise(kAll);
    share(kAll);
  }
  void up_to_masked(const SiloList& who) {
    up_to_shared();
    deliver(kAll);
    mask(who);
  }
  void sign_summed(const SiloList& who) {
    for (const std::uint32_t silo : who) {
      give(silo, ListStage::kSummed, give(silo, &MaskingSilo::take_unmask, coordinator_->unmask_for(silo)));
    }
  }
  Bytes reveal(std::uint32_t silo) {
    return give(silo, &MaskingSilo::take_summed_quorum, coordinator_->quorum(ListStage::kSummed));
  }
  // That and a sum of such words.
  std::vector<std::uint64_t> added_to(std::uint64_t word) {
    std::vector<std::uint64_t> sum = all_words(word);
    coordinator_->add_sum_to(sum);
    return sum;
  }
  std::vector<std::uint64_t> all_words(std::uint64_t word) const {
    return std::vector<std::uint64_t>(attempt_.words, word);
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
    EXPECT_THAT(refuses_unmask(silo, kAll), HasSubstr("too early, or twice"));
  }
}

TEST_F(MaskingTest, TheSumIsOverThoseThatStayed) {
  up_to_masked({1, 2, 4});
  sign_summed({1, 2, 4});
  for (const std::uint32_t silo : {1U, 2U, 4U}) {
    EXPECT_FALSE(coordinator_->can_unmask());
    give(silo, &MaskingCoordinator::take_reveal, reveal(silo));
  }
  ASSERT_TRUE(coordinator_->can_unmask());
  EXPECT_EQ(added_to(10), all_words(17));
}

// What the coordinator opens of a silo's statistic of zeros: chi-square of 256 byte values over 80,000 bytes below 400
// (255 degrees of freedom) but for 1e-8, in each of two runs; the runs share no word (birthday bound 1e-11).
TEST_F(MaskingTest, WhatTheCoordinatorGetsIsUniformAndNewInEveryRun) {
  attempt_.words = 10000;
  std::set<std::uint64_t> words;
  for (int run = 0; run < 2; ++run) {
    begin();
    up_to_shared();
    deliver(kAll);
    std::vector<std::uint64_t> masked(attempt_.words, 0);
    silos_.at(1).mask(0, masked);
    std::vector<double> bins(256, 0.0);
    for (const std::uint64_t word : masked) {
      EXPECT_TRUE(words.insert(word).second);
      for (int shift = 0; shift < 64; shift += 8) ++bins[word >> shift & 255];
    }
    const double mean = static_cast<double>(attempt_.words) * 8 / 256;
    double chi_square = 0.0;
    for (const double bin : bins) chi_square += (bin - mean) * (bin - mean) / mean;
    EXPECT_LT(chi_square, 400.0);
  }
}

TEST_F(MaskingTest, ASiloRefusesStoriesThatCannotBe) {
  up_to_masked(kAll);
  EXPECT_THAT(refuses_unmask(1, {1, 2}), HasSubstr("2 silos are summed, but 3 must"));
  EXPECT_THAT(refuses_unmask(2, {1, 3, 4}), HasSubstr("not those that shared"));
  EXPECT_THAT(refuses_unmask(3, {1, 2, 3, 9}), HasSubstr("not those that shared"));
  EXPECT_THAT(refuses_unmask(4, {4, 3, 2}), HasSubstr("not those that shared"));
}

TEST_F(MaskingTest, AKeyThatItsSiloHasNotSignedIsRefused) {
  advertise(kAll);
  Bytes keys = coordinator_->keys_for(1);
  keys[4 + 4 * kSilos + 3] ^= std::byte{1};  // in the mask key of silo 2
  EXPECT_THAT(refusal(1, &MaskingSilo::take_keys, keys), HasSubstr("the mask key of silo 2 is not signed by it"));
}

// The points of X25519 whose order divides 8, and forms of them that are not reduced, give no secret with any key pair.
// A silo that signs such a key would end each of its neighbors. It is refused by the coordinator; a silo that gets one
// all the same names who has signed it.
TEST_F(MaskingTest, AMaskKeyOfSmallOrderIsRefusedByTheCoordinatorAndBySilos) {
  const std::string said = "is a point of small order, which gives no shared secret";
  const std::string zeros(62, '0');
  const std::string middle(60, 'f');
  for (const std::string& hex :
       {"00" + zeros, "01" + zeros, "ec" + middle + "7f", "ed" + middle + "7f", "ee" + middle + "7f",
        std::string("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
        std::string("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157")}) {
    SCOPED_TRACE(hex);
    const PublicKey point = public_key_of_hex(hex).value();
    EXPECT_FALSE(gives_secret(point));
    begin();
    Advertisement low{point, PublicKey{}, {}};
    low.signature = parties_.identity(2).sign(signed_part(attempt_, 2, low));
    const Bytes message = PayloadWriter().plain(low).take();
    EXPECT_EQ(refusal(2, &MaskingCoordinator::take_advertisement, message), "its mask key " + said);
    advertise(kAll);
    Bytes keys = coordinator_->keys_for(1);
    std::ranges::copy(message, keys.begin() + 4 + 4 * kSilos);  // in the place of silo 2's
    EXPECT_THAT(refusal(1, &MaskingSilo::take_keys, keys), HasSubstr("the mask key of silo 2 " + said));
  }
  EXPECT_TRUE(gives_secret(AgreementKey::generate().public_key()));
}

TEST_F(MaskingTest, AnAdvertisementOfAnotherRoundIsRefused) {
  SumAttempt other = attempt_;
  other.round = 2;
  MaskingSilo late(parties_.self(2), other);
  EXPECT_THAT(refusal(2, &MaskingCoordinator::take_advertisement, late.advertise()), HasSubstr("not signed"));
}

TEST_F(MaskingTest, FewerThanTheThresholdDoNotShareTheirSecrets) {
  silos_.at(1).advertise();
  EXPECT_THAT(refusal(1, &MaskingSilo::take_keys, PayloadWriter().numbers(SiloList{1, 2}).take()),
              HasSubstr("2 silos take part, but 3 must"));
}

// Commitments are bound to the shares that they come with: nobody on the way can exchange them.
TEST_F(MaskingTest, SharesAndCommitmentsThatWereChangedOnTheWayAreRefused) {
  for (const std::size_t from_end : {std::size_t{1}, kSealedSharesBytes + 1}) {
    SCOPED_TRACE(from_end == 1 ? "shares" : "commitments");
    begin();
    up_to_shared();
    Bytes delivery = coordinator_->delivery_for(3);
    delivery[delivery.size() - from_end] ^= std::byte{1};
    EXPECT_THAT(refusal(3, &MaskingSilo::take_delivery, delivery),
                HasSubstr("the shares from silo 4 fail their authentication"));
  }
}

// Whichever byte of its share or salt it changes, of whichever secret: it is known, and the sum is made without it.
TEST_F(MaskingTest, WhoRevealsAWrongShareIsKnownAndTheSumIsMadeByTheOthers) {
  up_to_masked(kAll);
  sign_summed(kAll);
  for (const std::uint32_t silo : kAll) {
    const Bytes revealed = reveal(silo);
    if (silo != 2) {
      give(silo, &MaskingCoordinator::take_reveal, revealed);
      continue;
    }
    for (const std::uint32_t of : kAll) {
      for (const std::size_t place : {std::size_t{0}, kShareBytes - 8, kShareBytes, kSaltedShareBytes - 1}) {
        Bytes lie = revealed;
        lie[(of - 1) * (8 + kSaltedShareBytes) + 8 + place] ^= std::byte{1};
        EXPECT_THAT(refusal(2, &MaskingCoordinator::take_reveal, lie),
                    HasSubstr("a different share of a secret of silo " + std::to_string(of) + " than"));
      }
    }
  }
  ASSERT_TRUE(coordinator_->can_unmask());
  EXPECT_EQ(added_to(0), all_words(10));
}

TEST_F(MaskingTest, ASiloThatSharesOutAnotherSecretThanItAdvertisedIsNamed) {
  advertise(kAll);
  silos_.erase(3);  // another one takes its place, with a self secret and a mask key that nobody knows of
  silos_.try_emplace(3, parties_.self(3), attempt_).first->second.advertise();
  share(kAll);
  sign_sharing({3});
  deliver({1, 2, 4});
  mask({1, 2, 4});
  sign_summed({1, 2, 4});
  for (const std::uint32_t silo : {1U, 2U, 4U}) give(silo, &MaskingCoordinator::take_reveal, reveal(silo));
  expect_refusal<AggregationAborted>([&] { added_to(0); }, {"silo 3 has shared a different secret than it advertised"});
}

// Silo 3 seals for silo 1 what it has not committed itself to, as no honest silo does.
TEST_F(MaskingTest, SharesThatAreNotThoseCommittedToAreRefusedByTheirHolder) {
  up_to_shared();
  Bytes delivery = coordinator_->delivery_for(1);
  const std::size_t entry = sizeof(ShareCommitments) + kSealedSharesBytes;
  const std::size_t at = delivery.size() - 2 * entry;  // of those from 2, 3 and 4
  const Bytes commitments(delivery.begin() + static_cast<std::ptrdiff_t>(at),
                          delivery.begin() + static_cast<std::ptrdiff_t>(at + sizeof(ShareCommitments)));
  const Bytes bound = PayloadWriter().u32(3).u32(1).bytes(commitments).take();
  const Bytes other_shares(2 * kSaltedShareBytes);
  SealingKey(derive_key(parties_.self(3).pair_secrets.at(1), attempt_.context("shares", 3, 1)))
      .seal(0, bound, other_shares, std::span(delivery).subspan(at + sizeof(ShareCommitments), kSealedSharesBytes));
  EXPECT_THAT(refusal(1, &MaskingSilo::take_delivery, delivery),
              HasSubstr("silo 3 gives this silo other shares than it has committed to"));
}

TEST_F(MaskingTest, EveryShareHasACommitmentOfItsOwn) {
  const SaltedShare share{{2, {1, 2, 3, 4, 5}}, {}};
  const auto commitment = share_commitment(attempt_, SecretKind::kSelfMask, 1, share);
  EXPECT_EQ(commitment, share_commitment(attempt_, SecretKind::kSelfMask, 1, share));
  EXPECT_NE(commitment, share_commitment(attempt_, SecretKind::kMaskKey, 1, share));
  EXPECT_NE(commitment, share_commitment(attempt_, SecretKind::kSelfMask, 3, share));
  for (const auto& change :
       std::vector<std::function<void(SaltedShare&)>>{[](SaltedShare& other) { other.share.holder = 3; },
                                                      [](SaltedShare& other) { other.salt[31] = std::byte{1}; },
                                                      [](SaltedShare& other) { other.share.values[4] = 6; }}) {
    SaltedShare other = share;
    change(other);
    EXPECT_NE(commitment, share_commitment(attempt_, SecretKind::kSelfMask, 1, other));
  }
}

TEST_F(MaskingTest, PiecesComeInOrderAndEndWithTheStatistic) {
  attempt_.words = kWordsPerPiece + 40;
  begin();
  up_to_shared();
  const auto piece = [&](std::uint64_t first, std::size_t words) {
    return refusal(1, &MaskingCoordinator::add_piece, PayloadWriter().u64(first).bytes(Bytes(8 * words)).take());
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
  sign_sharing(kAll);
  const Bytes good = coordinator_->quorum(ListStage::kSharing);
  constexpr std::size_t kEntry = 4 + sizeof(Signature);
  ASSERT_EQ(good.size(), 4 + attempt_.threshold * kEntry);
  const auto refusal_of = [&](std::uint32_t silo, const Bytes& quorum) {
    return refusal(silo, &MaskingSilo::take_sharing_quorum, quorum);
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
  up_to_masked(kAll);
  const Bytes of_sharing = coordinator_->quorum(ListStage::kSharing);
  sign_summed(kAll);
  const auto refusal_of = [&](std::uint32_t silo, const Bytes& quorum) {
    return refusal(silo, &MaskingSilo::take_summed_quorum, quorum);
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
  sign_sharing({1});
  EXPECT_THAT(refusal(1, &MaskingSilo::take_delivery, coordinator_->delivery_for(1)), HasSubstr("too early, or twice"));
  sign_sharing({2, 3, 4});
  may_mask({2});
  EXPECT_EQ(refuses_unmask(2, kAll), "");
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
  EXPECT_THAT(refusal(2, ListStage::kSharing, other), HasSubstr("it has not signed the list that it received"));
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
  const auto is_untimely = HasSubstr("too early, or twice");
  const auto refusal_of = [&](std::uint32_t silo, auto take, const Bytes& message) {
    Bytes longer = message;
    longer.push_back(std::byte{0});
    EXPECT_NE(refusal(silo, take, longer), "");
    return refusal(silo, take, message);
  };
  const auto expect_taken_once = [&](std::uint32_t silo, auto take, const Bytes& message) {
    EXPECT_EQ(refusal_of(silo, take, message), "");
    EXPECT_THAT(refusal_of(silo, take, message), is_untimely);
  };
  const SiloList due{1, 2, 3};
  for (const std::uint32_t silo : due) {
    expect_taken_once(silo, &MaskingCoordinator::take_advertisement, silos_.at(silo).advertise());
  }
  coordinator_->close_advertising();
  EXPECT_THAT(refusal_of(4, &MaskingCoordinator::take_advertisement, silos_.at(4).advertise()), is_untimely);

  Bytes shares;
  for (const std::uint32_t silo : due) {
    shares = give(silo, &MaskingSilo::take_keys, coordinator_->keys_for(silo));
    expect_taken_once(silo, &MaskingCoordinator::take_shares, shares);
  }
  EXPECT_THAT(refusal_of(4, &MaskingCoordinator::take_shares, shares), is_untimely);
  coordinator_->close_sharing();

  for (const std::uint32_t silo : due) {
    const Bytes consent = give(silo, &MaskingSilo::take_delivery, coordinator_->delivery_for(silo));
    EXPECT_THAT(refusal(silo, ListStage::kSummed, consent), Not(IsEmpty()));
    expect_taken_once(silo, ListStage::kSharing, consent);
    EXPECT_THAT(refusal(4, ListStage::kSharing, consent), is_untimely);
  }
  may_mask(due);

  const Bytes piece = PayloadWriter().u64(0).bytes(Bytes(8 * attempt_.words)).take();
  EXPECT_THAT(refusal(4, &MaskingCoordinator::add_piece, piece), is_untimely);
  mask(due);
  EXPECT_THAT(refusal(1, &MaskingCoordinator::add_piece, piece), is_untimely);
  sign_summed(due);
  for (const std::uint32_t silo : due) {
    const Bytes revealed = reveal(silo);
    expect_taken_once(silo, &MaskingCoordinator::take_reveal, revealed);
    EXPECT_THAT(refusal_of(4, &MaskingCoordinator::take_reveal, revealed), is_untimely);
  }
  EXPECT_EQ(added_to(0), all_words(1 + 2 + 3));
}

// Likewise a silo: what is longer or shorter than it is due is refused, and nothing comes after a refusal.
TEST_F(MaskingTest, ASiloRefusesMessagesOfAnotherLengthForGood) {
  using Refusal = std::function<std::string(const Bytes&)>;
  const auto by = [this](auto take) -> Refusal {
    return [this, take](const Bytes& message) { return refusal(1, take, message); };
  };
  const Refusal refusals[] = {by(&MaskingSilo::take_keys), by(&MaskingSilo::take_delivery),
                              by(&MaskingSilo::take_sharing_quorum), by(&MaskingSilo::take_unmask),
                              by(&MaskingSilo::take_summed_quorum)};
  const auto message_of = [this](std::size_t phase) {
    advertise(kAll);
    if (phase == 0) return coordinator_->keys_for(1);
    share(kAll);
    if (phase == 1) return coordinator_->delivery_for(1);
    sign_sharing(kAll);
    if (phase == 2) return coordinator_->quorum(ListStage::kSharing);
    may_mask(kAll);
    mask(kAll);
    if (phase == 3) return coordinator_->unmask_for(1);
    sign_summed(kAll);
    return coordinator_->quorum(ListStage::kSummed);
  };
  for (std::size_t phase = 0; phase < std::size(refusals); ++phase) {
    for (const bool is_longer : {false, true}) {
      SCOPED_TRACE(testing::Message() << "phase " << phase << (is_longer ? ", longer" : ", shorter"));
      begin();
      const Bytes message = message_of(phase);
      Bytes changed = message;
      changed.resize(is_longer ? changed.size() + 1 : changed.size() - 1);
      EXPECT_NE(refusals[phase](changed), "");
      EXPECT_THAT(refusals[phase](message), HasSubstr("too early, or twice"));
      EXPECT_NE(refusal(1, &MaskingSilo::take_unmask, message), "");
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
