// A silo says hello only to an offer of which everything is its own as well: protocol, version, roster, terms, options.
#include "common/silos/handshake.hpp"

#include "common/base/error.hpp"
#include "common/base/version.hpp"
#include "tests/testing.hpp"

namespace dpreduce::handshake_test {

class HandshakeTest : public testing::Test {
 protected:
  Offer offer() const { return {{}, terms_, digest_of(roster_), identity_.public_key(), key_.public_key(), {}}; }
  std::vector<std::byte> frame(const Offer& offer) const { return make_offer(offer, identity_, 1); }

  std::string refusal(std::span<const std::byte> frame) const {
    return dpreduce::refusal<AggregationAborted>([&] { open_offer(frame, 1, terms_, roster_); });
  }

  SiloTerms terms_{3, 2, 0, sha256("method mean\n")};
  std::optional<Roster> roster_;
  Identity identity_ = Identity::generate();
  AgreementKey key_ = AgreementKey::generate();
};

TEST_F(HandshakeTest, AnotherVersionIsRefusedAndBothAreNamed) {
  Offer other = offer();
  other.version = {};
  for (std::size_t place = 0; place < 5; ++place) other.version[place] = static_cast<std::byte>("0.0.9"[place]);
  EXPECT_THAT(refusal(frame(other)),
              AllOf(HasSubstr("runs dpreduce 0.0.9"), HasSubstr("this silo dpreduce " + version())));
  other.version.fill(std::byte{0xff});  // no text
  EXPECT_THAT(refusal(frame(other)), HasSubstr("runs dpreduce ????"));
}

// What another protocol says of itself cannot be read: neither its signature nor its version.
TEST_F(HandshakeTest, AnotherProtocolIsRefusedBeforeAnythingElseOfItIsRead) {
  std::vector<std::byte> other = frame(offer());
  other[kHeaderBytes] = std::byte{1};
  EXPECT_THAT(refusal(other), AllOf(HasSubstr("another protocol"), HasSubstr("dpreduce " + version())));
  other.resize(kHeaderBytes + 4 + kTagBytes);
  EXPECT_THAT(refusal(other), HasSubstr("another protocol"));
}

TEST_F(HandshakeTest, WhatDiffersIsNamed) {
  Offer other = offer();
  other.terms.options = sha256("method ls\n");
  EXPECT_THAT(refusal(frame(other)), AllOf(HasSubstr("other options"), HasSubstr(short_hex(other.terms.options)),
                                           HasSubstr(short_hex(terms_.options))));
  other = offer();
  other.terms.colluding = 1;
  EXPECT_THAT(refusal(frame(other)), HasSubstr("1 colluding; this silo was started with 3, 2 and 0"));
  other = offer();
  other.roster_digest[0] = std::byte{1};
  EXPECT_THAT(refusal(frame(other)), HasSubstr("another --roster"));
  std::vector<std::byte> changed = frame(offer());
  EXPECT_EQ(refusal(changed), "");
  changed[kHeaderBytes + 60] ^= std::byte{1};  // of the run
  EXPECT_THAT(refusal(changed), HasSubstr("not signed by its identity"));
}

// A silo that has said hello has signed the version, too.
TEST_F(HandshakeTest, AHelloIsOfOneOffer) {
  const Identity silo = Identity::generate();
  const Hello hello{silo.public_key(), key_.public_key(), {}};
  const std::vector<std::byte> said = make_hello(hello, silo, offer(), 1);
  EXPECT_NO_THROW(open_hello(said, offer(), 1, std::nullopt));
  Offer other = offer();
  other.version[0] = std::byte{'9'};
  EXPECT_THROW(open_hello(said, other, 1, std::nullopt), AggregationAborted);
}

// The coordinator cannot make one silo's offer another's, nor show a silo an offer of an earlier line.
TEST_F(HandshakeTest, OffersAndHellosFitOneLine) {
  const LineBinding line = sha256("this line");
  const std::vector<std::byte> of_line = make_offer(offer(), identity_, 1, line);
  EXPECT_NO_THROW(open_offer(of_line, 1, terms_, roster_, line));
  EXPECT_THAT(refusal(of_line), HasSubstr("not signed by its identity for this line"));
  const Identity silo = Identity::generate();
  const Hello hello{silo.public_key(), key_.public_key(), line, {}};
  const std::vector<std::byte> said = make_hello(hello, silo, offer(), 1);
  EXPECT_NO_THROW(open_hello(said, offer(), 1, std::nullopt, line));
  EXPECT_THROW(open_hello(said, offer(), 1, std::nullopt), AggregationAborted);
}

// A signature of one run fits no other, even where a coordinator makes the very same offer again: everybody's
// keys of the run are in what is signed.
TEST_F(HandshakeTest, AnOfferThatIsMadeAgainIsAnotherRun) {
  std::vector<std::byte> members(100, std::byte{1});
  Offer again = offer();
  const RunId run = run_of(again, members);
  again.key[0] ^= std::byte{1};
  EXPECT_NE(run_of(again, members), run);
  members.back() = std::byte{2};
  EXPECT_NE(run_of(offer(), members), run);
}

}  // namespace dpreduce::handshake_test
