#include "common/silos/shamir.hpp"

#include "tests/common/silos/silo_parties.hpp"
#include "tests/testing.hpp"

namespace dpreduce::shamir_test {

SecretVector<std::byte> secret_of(int seed) {
  SecretVector<std::byte> secret(kSecretBytes);
  for (std::size_t b = 0; b < secret.size(); ++b) secret[b] = static_cast<std::byte>(seed + 37 * static_cast<int>(b));
  return secret;
}

TEST(PrimeField, ObeysTheLawsAtItsEdges) {
  const std::uint64_t p = FieldElement::kPrime;
  for (const std::uint64_t a : {std::uint64_t{1}, std::uint64_t{2}, p - 1, p / 2, std::uint64_t{1} << 60}) {
    EXPECT_EQ((FieldElement(a) * FieldElement(a).inverse()).value(), 1U);
    EXPECT_EQ((FieldElement(a) - FieldElement(a)).value(), 0U);
    EXPECT_EQ((FieldElement(a) + FieldElement(p - a)).value(), 0U);
  }
  EXPECT_EQ(FieldElement(p).value(), 0U);
  EXPECT_EQ(FieldElement(~std::uint64_t{0}).value(), 7U);  // 2^64 - 1 = 8 p + 7
  EXPECT_EQ((FieldElement(p - 1) * FieldElement(p - 1)).value(), 1U);
}

TEST(Shamir, AnyThresholdOfTheSharesGiveTheSecretBack) {
  for (const std::uint32_t holders : {1U, 2U, 3U, 5U, 8U, 33U}) {
    for (const std::uint32_t threshold : {1U, holders / 2 + 1, holders}) {
      const auto secret = secret_of(static_cast<int>(holders));
      std::vector<Share> shares = share_secret(secret, threshold, all_silos(holders));
      ASSERT_EQ(shares.size(), holders);
      for (std::uint32_t turn = 0; turn < holders; ++turn) {
        std::rotate(shares.begin(), shares.begin() + 1, shares.end());
        EXPECT_EQ(reconstruct_secret(std::span(shares).first(threshold)), secret);
      }
    }
  }
}

TEST(Shamir, TooFewSharesOrAChangedOneGiveSomethingElse) {
  const auto secret = secret_of(1);
  std::vector<Share> shares = share_secret(secret, 3, all_silos(5));
  EXPECT_NE(reconstruct_secret(std::span(shares).first(2)), secret);
  shares[1].values[4] ^= 1;
  EXPECT_NE(reconstruct_secret(std::span(shares).first(3)), secret);
}

// One share of a 2-of-2 sharing is uniform whatever the secret: 16 bins of its top bits over 8000 draws, chi-square
// with 15 degrees of freedom below 60 but for 2e-7, for each of two secrets.
TEST(Shamir, OneShareIsUniformWhateverTheSecret) {
  for (const int seed : {0, 255}) {
    std::vector<double> bins(16, 0.0);
    for (int draw = 0; draw < 1600; ++draw) {
      const std::vector<Share> shares = share_secret(secret_of(seed), 2, all_silos(2));
      for (const std::uint64_t value : shares[0].values) ++bins[value >> 57];
    }
    double chi_square = 0.0;
    for (const double bin : bins) chi_square += (bin - 500.0) * (bin - 500.0) / 500.0;
    EXPECT_LT(chi_square, 60.0);
  }
}

TEST(Shamir, PreconditionsAreAsserted) {
  const auto secret = secret_of(1);
  EXPECT_THROW(share_secret(secret, 3, all_silos(2)), std::logic_error);
  EXPECT_THROW(share_secret(secret, 0, all_silos(2)), std::logic_error);
  EXPECT_THROW(share_secret(std::span(secret).first(31), 2, all_silos(2)), std::logic_error);
  for (const SiloList& wrong : {SiloList{1, 1}, SiloList{0, 1}}) {
    EXPECT_THROW(share_secret(secret, 2, wrong), std::logic_error) << wrong[0];
  }
  EXPECT_THROW(reconstruct_secret({}), std::logic_error);
}

}  // namespace dpreduce::shamir_test
