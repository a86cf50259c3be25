// The JSON header of a safetensors file, read event by event against the one shape it may have: nesting, duplicates and
// types are refused where they stand, and no document tree is built.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/model/safetensors.hpp"

namespace dpreduce {

/// One entry of the header: where a tensor's bytes lie, [begin, end) from the start of the data.
struct TensorEntry {
  TensorType type = TensorType::kF64;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::map<std::string, TensorEntry> entries;
};

/// Dimensions of one tensor; far above need, and a bound on what a hostile header makes us keep.
inline constexpr std::size_t kMaxTensorRank = 32;

/// The header in `json`. Offsets are not yet compared with shapes or the file. Throws BadInput naming `source`.
SafetensorsHeader parse_safetensors_header(std::string_view json, std::string_view source);

/// `name` as a JSON string in ASCII, shortened: text of an untrusted file, made safe for one line of a terminal.
std::string printable_name(std::string_view name);

}  // namespace dpreduce
