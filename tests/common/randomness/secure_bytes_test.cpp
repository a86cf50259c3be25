#include "common/randomness/secure_bytes.hpp"

#include "common/base/error.hpp"
#include "tests/testing.hpp"

namespace dpreduce::secure_bytes_test {

TEST(SecureBytes, TwoDrawsDiffer) {  // fails with probability 2^-256
  std::array<std::byte, 32> one{};
  std::array<std::byte, 32> other{};
  secure_bytes(one);
  secure_bytes(other);
  EXPECT_NE(one, other);
}

TEST(SecureBytes, EveryByteIsFilled) {  // a byte stays zero in all 64 draws with probability 33 * 2^-512
  std::array<std::byte, 33> seen{};
  for (int draw = 0; draw < 64; ++draw) {
    std::array<std::byte, 33> bytes{};
    secure_bytes(bytes);
    for (std::size_t place = 0; place < bytes.size(); ++place) seen[place] |= bytes[place];
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), std::byte{0}), 0);
}

TEST(SecureBytes, NoBytesAreFine) {
  EXPECT_NO_THROW(secure_bytes({}));
}

TEST(SecureBytes, FailingSourceIsFatalAndAskedOnce) {
  int asked = 0;
  std::array<std::byte, 8> bytes;
  bytes.fill(std::byte{7});
  const EntropySource fails = [&asked](std::span<std::byte> out) {
    ++asked;
    out[0] = std::byte{1};
    return false;
  };
  EXPECT_THROW(secure_bytes(bytes, fails), EntropyFailure);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(bytes, (std::array<std::byte, 8>{})) << "half-filled bytes must not be mistaken for random ones";
}

TEST(SecureBytes, CleanseWritesZeros) {
  std::array<unsigned, 5> secret{1, 2, 3, 4, 5};
  cleanse(secret.data(), sizeof secret);
  EXPECT_EQ(secret, (std::array<unsigned, 5>{}));
}

}  // namespace dpreduce::secure_bytes_test
