#include "common/data/npy_writer.hpp"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kPieceElements = 1 << 16;
constexpr std::size_t kGatheredBytes = 1 << 15;  // rows that are written together
constexpr std::size_t kAlignment = 64;

std::string header_of(DType dtype, const Shape& shape) {
  const std::string descr = fmt::format("{}{}", size_of(dtype) == 1 ? '|' : '<', number_type(dtype).code);
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

}  // namespace

NpyWriter::NpyWriter(const std::string& path, DType dtype, const Shape& shape, Existing existing)
    : file_(path, existing), dtype_(dtype) {
  DPREDUCE_ASSERT(shape.size() == 1 || shape.size() == 2);
  const std::uint64_t bytes = byte_size(shape, dtype, size_of(dtype), path);
  missing_ = bytes / size_of(dtype);
  const std::string header = header_of(dtype, shape);
  file_.reserve(header.size() + bytes);
  file_.write(header);
}

template <typename Stored, typename Element, typename Encode>
void NpyWriter::append_encoded(std::span<const Element> elements, Encode encode) {
  for (std::size_t first = 0; first < elements.size(); first += kPieceElements) {
    const auto piece = elements.subspan(first, std::min(elements.size() - first, kPieceElements));
    std::vector<Stored> stored(piece.size());
    std::transform(piece.begin(), piece.end(), stored.begin(), encode);
    append_stored(std::as_bytes(std::span(stored)));
  }
}

void NpyWriter::append(std::span<const float> elements) {
  DPREDUCE_ASSERT(dtype_ == DType::kFloat16 || dtype_ == DType::kFloat32);
  if (dtype_ == DType::kFloat32) return append_stored(std::as_bytes(elements));
  append_encoded<std::uint16_t>(elements, float_to_half);
}

void NpyWriter::append(std::span<const double> elements) {
  DPREDUCE_ASSERT(is_float(dtype_));
  if (dtype_ == DType::kFloat64) return append_stored(std::as_bytes(elements));
  append(std::span<const float>(std::vector<float>(elements.begin(), elements.end())));
}

void NpyWriter::append(std::span<const std::int64_t> elements) {
  DPREDUCE_ASSERT(dtype_ == DType::kInt64);
  append_stored(std::as_bytes(elements));
}

void NpyWriter::append(std::span<const std::int32_t> elements) {
  DPREDUCE_ASSERT(dtype_ == DType::kInt64);
  append_encoded<std::int64_t>(elements, std::identity());
}

void NpyWriter::append_stored(std::span<const std::byte> elements) {
  const std::size_t element = size_of(dtype_);
  DPREDUCE_ASSERT(elements.size() % element == 0 && elements.size() / element <= missing_);
  missing_ -= elements.size() / element;
  if (missing_ > 0 && gathered_.size() + elements.size() < kGatheredBytes) {
    gathered_.insert(gathered_.end(), elements.begin(), elements.end());
    return;
  }
  file_.write(gathered_);
  gathered_.clear();
  file_.write(elements);
}

void NpyWriter::commit() {
  DPREDUCE_ASSERT(missing_ == 0);
  file_.commit();
}

}  // namespace dpreduce
