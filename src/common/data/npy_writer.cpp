#include "common/data/npy_writer.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/data/element_conversion.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kPieceElements = 1 << 16;
constexpr std::size_t kAlignment = 64;

std::string header_of(DType dtype, const Shape& shape) {
  const char kind = is_float(dtype) ? 'f' : dtype == DType::kBool ? 'b' : to_string(dtype).front();
  const std::string descr = fmt::format("{}{}{}", size_of(dtype) == 1 ? '|' : '<', kind, size_of(dtype));
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", descr, to_string(shape));
  constexpr std::size_t kBeforeText = 10;
  const std::size_t whole = (kBeforeText + text.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  text.resize(whole - kBeforeText - 1, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01", 7);
  header += '\0';
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

// Writes the bits of a little-endian number.
template <typename Bits>
void store(Bits bits, std::byte* target) {
  for (std::size_t k = 0; k < sizeof(Bits); ++k) target[k] = static_cast<std::byte>(bits >> (8 * k));
}

}  // namespace

NpyWriter::NpyWriter(const std::string& path, DType dtype, const Shape& shape, Existing existing)
    : file_(path, existing), dtype_(dtype) {
  DPREDUCE_ASSERT(shape.size() == 1 || shape.size() == 2);
  const std::uint64_t bytes = byte_size(shape, dtype, path);
  missing_ = bytes / size_of(dtype);
  const std::string header = header_of(dtype, shape);
  file_.reserve(header.size() + bytes);
  file_.write(header);
}

template <typename Stored, typename Element, typename Encode>
void NpyWriter::append_encoded(std::span<const Element> elements, Encode encode) {
  DPREDUCE_ASSERT(elements.size() <= missing_);
  missing_ -= elements.size();
  while (!elements.empty()) {
    const std::size_t piece = std::min(elements.size(), kPieceElements);
    buffer_.resize(piece * sizeof(Stored));
    for (std::size_t k = 0; k < piece; ++k) store<Stored>(encode(elements[k]), buffer_.data() + k * sizeof(Stored));
    file_.write(buffer_);
    elements = elements.subspan(piece);
  }
}

void NpyWriter::append(std::span<const float> elements) {
  DPREDUCE_ASSERT(dtype_ == DType::kFloat16 || dtype_ == DType::kFloat32);
  if (dtype_ == DType::kFloat16) {
    append_encoded<std::uint16_t>(elements, [](float value) { return float_to_half(value); });
  } else {
    append_encoded<std::uint32_t>(elements, [](float value) { return std::bit_cast<std::uint32_t>(value); });
  }
}

void NpyWriter::append(std::span<const std::int64_t> elements) {
  DPREDUCE_ASSERT(dtype_ == DType::kInt64);
  append_encoded<std::uint64_t>(elements, [](std::int64_t value) { return static_cast<std::uint64_t>(value); });
}

void NpyWriter::append(std::span<const std::int32_t> elements) {
  DPREDUCE_ASSERT(dtype_ == DType::kInt64);
  append_encoded<std::uint64_t>(
      elements, [](std::int32_t value) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(value)); });
}

void NpyWriter::append_stored(std::span<const std::byte> elements) {
  const std::size_t element = size_of(dtype_);
  DPREDUCE_ASSERT(elements.size() % element == 0 && elements.size() / element <= missing_);
  missing_ -= elements.size() / element;
  file_.write(elements);
}

void NpyWriter::commit() {
  DPREDUCE_ASSERT(missing_ == 0);
  file_.commit();
}

}  // namespace dpreduce
