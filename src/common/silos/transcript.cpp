#include "common/silos/transcript.hpp"

#include <string_view>
#include <vector>

#include "common/silos/payload.hpp"

namespace dpreduce {

void Transcript::add(FrameKind kind, std::uint64_t round, std::span<const std::byte> bytes) {
  constexpr std::string_view kDomain = "dpreduce told v1";
  PayloadWriter writer;
  writer.bytes(std::as_bytes(std::span(kDomain))).bytes(digest_).u64(round).u32(static_cast<std::uint32_t>(kind));
  const std::vector<std::byte> text = writer.u64(bytes.size()).bytes(bytes).take();
  digest_ = sha256({reinterpret_cast<const char*>(text.data()), text.size()});
}

}  // namespace dpreduce
