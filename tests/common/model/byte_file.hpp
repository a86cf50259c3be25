// Files written byte by byte, to be read by the code under test.
#pragma once

#include "tests/testing.hpp"

namespace dpreduce {

inline std::vector<std::byte> as_bytes(std::string_view text) {
  std::vector<std::byte> bytes;
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
  return bytes;
}

/// The header's length as eight bytes, least significant first; the header; `data_size` bytes 0, 1, 2, ...
inline std::vector<std::byte> safetensors_bytes(std::string_view header, std::size_t data_size) {
  std::vector<std::byte> bytes;
  for (int shift = 0; shift < 64; shift += 8) {
    bytes.push_back(static_cast<std::byte>(static_cast<std::uint64_t>(header.size()) >> shift & 0xFF));
  }
  for (const char c : header) bytes.push_back(static_cast<std::byte>(c));
  for (std::size_t index = 0; index < data_size; ++index) bytes.push_back(static_cast<std::byte>(index & 0xFF));
  return bytes;
}

}  // namespace dpreduce
