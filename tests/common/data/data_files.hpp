// .npy files put together by hand.
#pragma once

#include "common/base/error.hpp"
#include "common/data/element_conversion.hpp"
#include "tests/temporary_folder.hpp"

namespace dpreduce {

/// "x3.npy" for ("x", 3).
inline std::string numbered_npy(std::string stem, std::size_t number) {
  return stem.append(std::to_string(number)).append(".npy");
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

/// A file of rows of so many elements; of 0: of one dimension.
template <typename Element>
void write_npy(const std::string& path, const std::vector<Element>& elements, std::size_t columns = 0) {
  constexpr char kKind = std::is_floating_point_v<Element> ? 'f' : std::is_signed_v<Element> ? 'i' : 'u';
  const std::string shape = columns == 0 ? fmt::format("({},)", elements.size())
                                         : fmt::format("({}, {})", elements.size() / columns, columns);
  write_bytes(
      path, npy_header_bytes(npy_text(fmt::format("<{}{}", kKind, sizeof(Element)), shape)) + element_bytes(elements));
}

/// first, first + 1, ...
inline std::vector<float> counted(std::size_t count, float first = 0.0F) {
  std::vector<float> entries(count);
  std::iota(entries.begin(), entries.end(), first);
  return entries;
}

/// An n x d float32 file, entries first, first + 1, ...
inline void write_features(const std::string& path, std::size_t rows, std::size_t dim, float first) {
  write_npy(path, counted(rows * dim, first), dim);
}

inline void write_labels(const std::string& path, const std::vector<std::int64_t>& labels) {
  write_npy(path, labels);
}

inline std::span<const std::byte> as_bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// Expects BadInput whose message holds every one of `parts`.
inline void expect_bad_input(const std::function<void()>& action, const std::vector<std::string>& parts) {
  expect_refusal<BadInput>(action, parts);
}

}  // namespace dpreduce
