#include "common/silos/payload_archive.hpp"

#include <fmt/format.h>

#include "common/base/version.hpp"
#include "common/randomness/signing_key.hpp"

namespace dpreduce {
namespace {

std::span<const std::byte> bytes_in(std::string_view text) {
  return std::as_bytes(std::span(text));
}

void write_text(PayloadWriter& writer, std::string_view text) {
  writer.u32(static_cast<std::uint32_t>(text.size())).bytes(bytes_in(text));
}

std::string_view read_text(PayloadReader& reader) {
  const std::span<const std::byte> text = reader.bytes(reader.u32());
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

std::array<std::byte, 32> digest_of(std::string_view kind, std::string_view version, std::span<const std::byte> value) {
  PayloadWriter writer;
  write_text(writer, kind);
  write_text(writer, version);
  const std::vector<std::byte> all = writer.bytes(value).take();
  return sha256({reinterpret_cast<const char*>(all.data()), all.size()});
}

}  // namespace

void PayloadArchiveReader::refuse(const char* what) {
  throw AggregationAborted(what);
}

std::string framed_message(std::string_view kind, std::span<const std::byte> value) {
  PayloadWriter writer;
  write_text(writer, kind);
  write_text(writer, version());
  const std::vector<std::byte> all = writer.bytes(digest_of(kind, version(), value)).bytes(value).take();
  return {reinterpret_cast<const char*>(all.data()), all.size()};
}

std::span<const std::byte> value_in(std::string_view message, std::string_view kind) {
  PayloadReader reader(bytes_in(message));
  if (read_text(reader) != kind) throw AggregationAborted("a message is of another kind");
  const std::string_view made_by = read_text(reader);
  const auto digest = reader.array<32>();
  const std::span<const std::byte> value = reader.rest();
  if (digest != digest_of(kind, made_by, value)) throw AggregationAborted("a message is damaged");
  if (made_by == version()) return value;
  throw UsageError(
      fmt::format("these bytes are of a {} that dpreduce {} has made, and this is dpreduce {}; run the same "
                  "version everywhere",
                  kind, made_by, version()));
}

void refuse_message(std::string_view kind) {
  throw BadInput(fmt::format("these bytes are no {}, or a damaged one; make it again", kind));
}

}  // namespace dpreduce
