#include "common/silos/transcript.hpp"

#include <string_view>
#include <vector>

#include "common/silos/payload.hpp"

namespace dpreduce {

void Transcript::add(FrameKind kind, std::uint64_t round, std::span<const std::byte> bytes) {
  constexpr std::string_view kDomain = "dpreduce told v1";
  PayloadWriter writer;
  writer.text(kDomain).bytes(digest_).u64(round).u32(static_cast<std::uint32_t>(kind));
  digest_ = sha256(writer.u64(bytes.size()).bytes(bytes).take());
}

}  // namespace dpreduce
