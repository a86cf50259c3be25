#include "common/randomness/keyed_hash.hpp"

#include "tests/testing.hpp"

namespace dpreduce::keyed_hash_test {

std::vector<std::byte> from_hex(const std::string& hex) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

RandomBlock block_of(const std::string& hex) {
  RandomBlock block;
  std::memcpy(&block, from_hex(hex).data(), sizeof block);
  return block;
}

BlockMac nist_mac() {
  const auto key = from_hex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4");
  return BlockMac(std::span<const std::byte, 32>(key));
}

// NIST SP 800-38A, F.2.5: AES-256 in CBC mode, whose initial vector is the first state.
TEST(BlockMac, AgreesWithTheStandardsExample) {
  std::vector<RandomBlock> states{block_of("000102030405060708090a0b0c0d0e0f")};
  const BlockMac mac = nist_mac();
  const std::array<std::pair<const char*, const char*>, 3> steps{
      std::pair{"6bc1bee22e409f96e93d7e117393172a", "f58c4c04d6e5f1ba779eabfb5f7bfbd6"},
      std::pair{"ae2d8a571e03ac9c9eb76fac45af8e51", "9cfc4e967edb808d679f777bc6702c7d"},
      std::pair{"30c81c46a35ce411e5fbc1191a0a52ef", "39f23369a9d9bacfa530e26304231461"}};
  for (const auto& [text, cipher] : steps) {
    mac.chain(states, std::vector<RandomBlock>{block_of(text)});
    EXPECT_EQ(states[0], block_of(cipher));
  }
}

TEST(BlockMac, MessagesDoNotDependOnEachOther) {
  const BlockMac mac = nist_mac();
  std::vector<RandomBlock> together(5);
  std::vector<RandomBlock> blocks;
  for (std::uint64_t m = 0; m < 5; ++m) blocks.push_back({m, ~m});
  mac.chain(together, blocks);
  for (std::size_t m = 0; m < 5; ++m) {
    std::vector<RandomBlock> alone(1);
    mac.chain(alone, std::span(blocks).subspan(m, 1));
    EXPECT_EQ(alone[0], together[m]);
  }
}

TEST(BlockMac, NeedsABlockForEveryMessage) {
  std::vector<RandomBlock> states(2);
  EXPECT_THROW(nist_mac().chain(states, std::vector<RandomBlock>(1)), std::logic_error);
}

}  // namespace dpreduce::keyed_hash_test
