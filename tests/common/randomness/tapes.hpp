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

/// Written blocks where there are any, elsewhere those of seeded_tape(1).
using WrittenBlocks = std::map<std::pair<std::uint64_t, std::uint64_t>, RandomBlock>;

inline FunctionTape::Function written_tape(WrittenBlocks written) {
  auto background = std::make_shared<AesBlockSource>(seeded_tape(1));
  return [written = std::move(written), background](std::uint64_t row, std::uint64_t column) {
    const auto found = written.find({row, column});
    if (found != written.end()) return found->second;
    RandomBlock block;
    background->read(row, column, std::span(&block, 1));
    return block;
  };
}

}  // namespace dpreduce::oracle
