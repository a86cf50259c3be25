#include "common/silos/payload_archive.hpp"

#include "common/base/text.hpp"
#include "common/base/version.hpp"
#include "common/randomness/signing_key.hpp"
#include "common/silos/handshake.hpp"

namespace dpreduce {
namespace {

void write_text(PayloadWriter& writer, std::string_view text) {
  writer.u32(static_cast<std::uint32_t>(text.size())).text(text);
}

std::string_view read_text(PayloadReader& reader) {
  return text_in(reader.bytes(reader.u32()));
}

std::array<std::byte, 32> digest_of(std::string_view kind, std::string_view version, std::span<const std::byte> value) {
  PayloadWriter writer;
  write_text(writer, kind);
  write_text(writer, version);
  return sha256(writer.bytes(value).take());
}

}  // namespace

std::string framed_message(std::string_view kind, std::span<const std::byte> value) {
  PayloadWriter writer;
  write_text(writer, kind);
  write_text(writer, version());
  return std::string(text_in(writer.bytes(digest_of(kind, version(), value)).bytes(value).take()));
}

std::span<const std::byte> value_in(std::string_view message, std::string_view kind) {
  PayloadReader reader(bytes_in(message));
  if (read_text(reader) != kind) throw AggregationAborted("a message is of another kind");
  const std::string_view made_by = read_text(reader);
  const auto digest = reader.array<32>();
  const std::span<const std::byte> value = reader.rest();
  if (digest != digest_of(kind, made_by, value)) throw AggregationAborted("a message is damaged");
  if (made_by == version()) return value;
  throw UsageError("these bytes are a {} of dpreduce {}, but this is dpreduce {}; run the same version everywhere",
                   kind, shown_text(made_by, sizeof(VersionField)), version());
}

void refuse_message(std::string_view kind) {
  throw BadInput("these bytes are not a {}, or are damaged; make it again", kind);
}

}  // namespace dpreduce
