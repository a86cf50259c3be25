// Named tensors in one file, in the safetensors format.
//
//     8 bytes      N, the header's length, unsigned little-endian
//     N bytes      JSON: {"__metadata__": {string: string}, name: {"dtype", "shape", "data_offsets": [begin, end]},
//     ...} the rest     the tensors' bytes, row-major little-endian; offsets count from here
//
// Written files are read by every safetensors reader, and the same content gives the same bytes: keys sorted, no spaces
// but those that pad the header to a multiple of 8, data contiguous and ordered by falling element size, then name, so
// that every tensor is aligned. Parsing trusts nothing: each size is bounded by the file's before memory is taken.
// Source: the safetensors format description (Hugging Face). Departures, all stricter: keys of an entry other than the
// three are refused, so are duplicate keys, and dtypes that kNumberTypes does not name.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.hpp"
#include "common/data/element_conversion.hpp"

namespace dpreduce {

static_assert(std::endian::native == std::endian::little, "tensor bytes are written as they lie in memory");

/// Its type is one that has a name in these files (NumberType::tensor).
struct Tensor {
  DType type = DType::kFloat64;
  std::vector<std::uint64_t> shape;  ///< empty for a scalar
  std::vector<std::byte> data;       ///< product(shape) * size_of(type) bytes, row-major

  bool operator==(const Tensor&) const = default;
};

/// Entry of the header: the place of a tensor's bytes.
struct TensorEntry {
  DType type = DType::kFloat64;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0;  ///< in the data, which follows the header
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::map<std::string, TensorEntry> entries;
  std::uint64_t data_offset = 0;  ///< of the data in the file
};

struct SafetensorsFile {
  std::map<std::string, std::string> metadata;
  std::map<std::string, Tensor> tensors;

  bool operator==(const SafetensorsFile&) const = default;
};

/// The tensor of these bytes. Asserts that they are as many as type and shape say.
Tensor tensor_of(DType type, std::span<const std::byte> data, std::vector<std::uint64_t> shape);

/// The tensor of `values`, numbers one behind the other, with this shape. Asserts product(shape) == their number.
template <std::ranges::contiguous_range Values>
Tensor make_tensor(const Values& values, std::vector<std::uint64_t> shape) {
  constexpr DType kType = dtype_of<std::ranges::range_value_t<Values>>();
  return tensor_of(kType, std::as_bytes(std::span(values)), std::move(shape));
}

/// The entries of a tensor. Asserts that it is of their type.
template <typename Number>
std::vector<Number> entries_of(const Tensor& tensor) {
  DPREDUCE_ASSERT(tensor.type == dtype_of<Number>());
  std::vector<Number> values(tensor.data.size() / sizeof(Number));
  std::ranges::copy(tensor.data, std::as_writable_bytes(std::span(values)).begin());
  return values;
}

/// The file's bytes; a function of `file` alone. Asserts that each tensor has as many bytes as its shape says, that no
/// tensor is named "__metadata__", and that all strings are UTF-8.
std::vector<std::byte> serialize(const SafetensorsFile& file);

/// Dimensions of one tensor; far above need, and a bound on what a hostile header makes us keep.
inline constexpr std::size_t kMaxTensorRank = 32;

/// The header of a file of these bytes, whose entries tile its data. Throws BadInput as parse_safetensors does.
SafetensorsHeader safetensors_header(std::span<const std::byte> bytes, std::string_view source);

/// The content of `bytes`; parse_safetensors(serialize(f)) == f. Throws BadInput, naming `source` and the reason,
/// where anything departs from the format: lengths, JSON, duplicate or unknown keys, types, shapes that overflow,
/// more than kMaxTensorRank dimensions,
/// offsets outside of the data, overlaps, holes, or bytes that belong to no tensor.
SafetensorsFile parse_safetensors(std::span<const std::byte> bytes, std::string_view source);

}  // namespace dpreduce
