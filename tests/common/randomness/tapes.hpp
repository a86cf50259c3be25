// Random tapes that a test writes itself.
#pragma once

#include "common/randomness/random_stream.hpp"
#include "tests/testing.hpp"

namespace dpreduce::oracle {

/// AES blocks under the key (seed, 0, 0, ...).
inline AesBlockSource seeded_tape(unsigned char seed) {
  std::array<std::byte, 32> key{};
  key[0] = std::byte{seed};
  return AesBlockSource(key);
}

/// block(row, column) as a function says.
class FunctionTape final : public BlockSource {
 public:
  using Function = std::function<RandomBlock(std::uint64_t row, std::uint64_t column)>;
  explicit FunctionTape(Function function) : function_(std::move(function)) {}
  void read(std::uint64_t row, std::uint64_t first_column, std::span<RandomBlock> out) override {
    for (std::size_t place = 0; place < out.size(); ++place) out[place] = function_(row, first_column + place);
  }

 private:
  Function function_;
};

inline RandomStream stream_of(FunctionTape::Function function) {
  return RandomStream(std::make_unique<FunctionTape>(std::move(function)));
}

inline RandomStream seeded_stream(unsigned char seed) {
  return RandomStream(std::make_unique<AesBlockSource>(seeded_tape(seed)));
}

}  // namespace dpreduce::oracle
