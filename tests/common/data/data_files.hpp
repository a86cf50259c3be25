// Files that the tests of this folder make: a folder of their own, and .npy bytes put together by hand.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <stdlib.h>

#include "common/base/error.hpp"
#include "common/data/dtype.hpp"

namespace dpreduce {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "dpreduce-data-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }
  /// Names in the folder, sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) found.push_back(entry.path().filename());
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  std::filesystem::path path_;
};

/// "x3.npy" for ("x", 3).
inline std::string numbered_npy(std::string stem, std::size_t number) {
  return stem.append(std::to_string(number)).append(".npy");
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string read_bytes(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(bytes).str();
}

/// The file's bytes before the elements, for any text; unpadded, as the format allows.
inline std::string npy_header_bytes(const std::string& text, int major = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(major);
  bytes += '\0';
  for (int digit = 0; digit < (major == 1 ? 2 : 4); ++digit) bytes += static_cast<char>(text.size() >> (8 * digit));
  return bytes + text;
}

inline std::string npy_text(const std::string& descr, const std::string& shape, bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape +
         ", }\n";
}

/// The elements' bytes in either order.
template <typename Element>
std::string element_bytes(const std::vector<Element>& elements, ByteOrder order = ByteOrder::kLittle) {
  std::string bytes;
  for (const Element element : elements) {
    char one[sizeof(Element)];
    std::memcpy(one, &element, sizeof(Element));
    const bool native_is_little = std::endian::native == std::endian::little;
    if (native_is_little != (order == ByteOrder::kLittle)) std::reverse(std::begin(one), std::end(one));
    bytes.append(one, sizeof(Element));
  }
  return bytes;
}

/// An n x d float32 file, entries first, first + 1, ...
inline void write_features(const std::string& path, std::size_t rows, std::size_t dim, float first) {
  std::vector<float> entries(rows * dim);
  for (std::size_t k = 0; k < entries.size(); ++k) entries[k] = first + static_cast<float>(k);
  write_bytes(path, npy_header_bytes(npy_text("<f4", "(" + std::to_string(rows) + ", " + std::to_string(dim) + ")")) +
                        element_bytes(entries));
}

inline void write_labels(const std::string& path, const std::vector<std::int64_t>& labels) {
  write_bytes(path,
              npy_header_bytes(npy_text("<i8", "(" + std::to_string(labels.size()) + ",)")) + element_bytes(labels));
}

inline std::span<const std::byte> as_bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// Expects BadInput whose message holds every one of `parts`.
template <typename Action>
void expect_bad_input(Action action, const std::vector<std::string>& parts) {
  try {
    action();
  } catch (const BadInput& error) {
    for (const std::string& part : parts)
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    return;
  }
  ADD_FAILURE() << "no BadInput";
}

}  // namespace dpreduce
