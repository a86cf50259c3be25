#include "common/randomness/signing_key.hpp"

#include "tests/testing.hpp"

namespace dpreduce::signing_key_test {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(SigningKey, ASignatureIsOfItsMessageAndItsSignerAlone) {
  const SigningKey one = SigningKey::generate();
  const SigningKey other = SigningKey::generate();
  Signature signature = one.sign(bytes_of("message"));
  EXPECT_TRUE(verifies(one.public_key(), bytes_of("message"), signature));
  EXPECT_FALSE(verifies(one.public_key(), bytes_of("massage"), signature));
  EXPECT_FALSE(verifies(other.public_key(), bytes_of("message"), signature));
  signature[10] ^= std::byte{1};
  EXPECT_FALSE(verifies(one.public_key(), bytes_of("message"), signature));
}

// RFC 8032, section 7.1, test 2 (one byte), its secret key behind the fixed header of PKCS #8.
TEST(SigningKey, IsEd25519) {
  const auto key =
      SigningKey::from_pem(bytes_of("-----BEGIN PRIVATE KEY-----\n"
                                    "MC4CAQAwBQYDK2VwBCIEIEzNCJso/5banbbDRuwRTg9bijGfNaumJNqM9u1PuKb7\n"
                                    "-----END PRIVATE KEY-----\n"));
  ASSERT_TRUE(key.has_value());
  EXPECT_EQ(to_hex(key->public_key()), "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
  EXPECT_EQ(to_hex(key->sign(bytes_of("\x72"))),
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
            "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
}

TEST(SigningKey, ItsTextIsReadBack) {
  const SigningKey key = SigningKey::generate();
  EXPECT_EQ(SigningKey::from_pem(key.to_pem())->public_key(), key.public_key());
}

TEST(SigningKey, OtherTextsAreNone) {
  for (const std::string& text : {std::string(), std::string(32, 'k'), std::string("-----BEGIN PRIVATE KEY-----\n")}) {
    EXPECT_FALSE(SigningKey::from_pem(bytes_of(text)).has_value());
  }
  // X25519, which agrees on keys and signs nothing.
  EXPECT_FALSE(SigningKey::from_pem(bytes_of("-----BEGIN PRIVATE KEY-----\n"
                                             "MC4CAQAwBQYDK2VuBCIEIHcHbQpzGKV9PBbBclGyZkXfTC+H68CZKrF3+6UduSwq\n"
                                             "-----END PRIVATE KEY-----\n"))
                   .has_value());
}

TEST(SigningKey, HexIsReadBackInItsOneForm) {
  const SigningKey key = SigningKey::generate();
  const Signature signature = key.sign(bytes_of("message"));
  EXPECT_EQ(public_key_of_hex(to_hex(key.public_key())), key.public_key());
  EXPECT_EQ(signature_of_hex(to_hex(signature)), signature);
  EXPECT_FALSE(public_key_of_hex(std::string(64, 'A')).has_value());
  EXPECT_FALSE(public_key_of_hex(std::string(63, 'a')).has_value());
  EXPECT_FALSE(signature_of_hex(std::string(64, 'a')).has_value());
  EXPECT_FALSE(signature_of_hex(std::string(127, 'a') + "g").has_value());
}

// FIPS 180-2, example B.1.
TEST(SigningKey, TheHashIsSha256) {
  EXPECT_EQ(to_hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

}  // namespace dpreduce::signing_key_test
